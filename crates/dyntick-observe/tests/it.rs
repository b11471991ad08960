// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate from outside, in one executable: reading a running Linux.

mod against_text;
mod live_calls;
mod live_counters;
