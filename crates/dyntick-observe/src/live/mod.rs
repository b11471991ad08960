// SPDX-License-Identifier: GPL-2.0-only
//! What interrupts the CPUs of this machine, counted in the kernel while it happens.
//!
//! [`Counters`] loads eBPF programs (crate `dyntick-bpf`) that count by cause, with durations, and
//! whose counts are read without a system call. [`Meters`] reads what the machine counts by itself; it needs
//! no privileges.

mod counters;
mod energy;
mod keys;
mod kinds;
mod meters;
mod names;
mod place;
mod snapshot;

pub use counters::{Counters, LiveError, Wanted};
pub use energy::{Energy, Power};
pub use keys::{Key, VectorKey};
pub use kinds::Kind;
pub use meters::{CpuMeters, CpuTimes, IdleState, Meters, Missing};
pub use place::{Place, keep_off};
pub use snapshot::{Count, Lost, Snapshot, bucket_end_ns};
