// SPDX-License-Identifier: GPL-2.0-only
//! Reads a running Linux, the same on a host and in a guest: eBPF, tracefs and `/proc`.
//!
//! Recording and decoding are apart: a recording is bytes, and may be decoded on another machine.

pub mod arch;
pub mod counters;
pub mod cpuidle;
pub mod facts;
pub mod interrupts;
pub mod latency_limit;
pub mod live;
pub mod thread;
pub mod trace;
