// SPDX-License-Identifier: GPL-2.0-only
//! The interruptions of this machine's CPUs, counted in the kernel while they happen.
//!
//! [`Counters`] loads eBPF programs (crate `dyntick-bpf`) that count by cause, with durations, and
//! whose counts are read without a system call. [`Traced`] makes the same counts of trace events, where eBPF
//! cannot be used; [`Source`] is the one or the other. [`Meters`] reads what the machine counts by itself; it needs
//! no privileges. [`Calls`] times the calls of functions that are named. [`Waits`] accounts for the time of threads.

mod calls;
mod counters;
mod details;
mod energy;
mod followed;
mod keys;
mod kinds;
mod lineage;
mod loaded;
mod locked;
mod meters;
mod names;
mod pace;
mod place;
mod rows;
mod running;
mod snapshot;
mod source;
mod tally;
mod traced;
mod waited;
mod waits;

pub use calls::{CallCount, Calls, CallsError, Cost, Function, FunctionCalls, Pair, ProbeCost};
pub use counters::{Counters, RunTime, Wanted};
pub use details::{Details, Occurrence};
pub use energy::{EnergyMeter, Power};
pub use keys::{Key, Whose};
pub use kinds::Kind;
pub use loaded::LiveError;
pub use meters::{CpuMeters, CpuTimes, IdleState, Meters, Missing};
pub use names::TICKS;
pub use place::{Place, keep_off};
pub use snapshot::{Count, Lost, Snapshot, bucket_end_ns};
pub use source::{Choice, Source, Unavailable};
pub use traced::Traced;
pub use waited::{Rival, WaitKind, WaitSum, Waited};
pub use waits::Waits;
