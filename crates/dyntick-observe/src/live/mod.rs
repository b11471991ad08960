// SPDX-License-Identifier: GPL-2.0-only
//! What interrupts the CPUs of this machine, counted in the kernel while it happens.
//!
//! [`Counters`] loads eBPF programs (crate `dyntick-bpf`) that count by cause, with durations, and
//! whose counts are read without a system call.

mod counters;
mod keys;
mod kinds;
mod names;
mod snapshot;

pub use counters::{Counters, LiveError, Wanted};
pub use keys::{Key, VectorKey};
pub use kinds::Kind;
pub use snapshot::{Count, Lost, Snapshot, bucket_end_ns};
