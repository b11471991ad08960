// SPDX-License-Identifier: GPL-2.0-only
//! The plan of a measurement.

use dyntick_model::CpuList;
use std::time::Duration;

/// A measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The measuring threads.
    pub threads: Vec<ThreadPlan>,
    /// The clock by which they sleep.
    pub clock: Clock,
    /// The way in which they sleep.
    pub sleep: Sleep,
    /// Their scheduling policy.
    pub policy: Policy,
    /// The number of wake-ups of a thread; `None` for no limit.
    pub loops: Option<u64>,
    /// The time after which all end; `None` for no limit.
    pub duration: Option<Duration>,
    /// The way in which the threads begin together, if they do.
    pub align: Option<Align>,
    /// The width of a histogram's bin and the unit of its limit, ns.
    pub unit_ns: u64,
    /// The number of bins; 0 for no histogram.
    pub bins: usize,
    /// True if the last latencies are kept individually, for [`crate::Counts::values`].
    pub values: bool,
    /// True if system management interrupts are counted.
    pub smi: bool,
    /// True if a failure to lock the memory is an error.
    pub lock: bool,
    /// The latency above which all threads end, in units of `unit_ns`.
    pub break_above: Option<u64>,
    /// True if that latency is also marked in the machine's own trace, which is then stopped.
    pub mark: bool,
    /// The latency above which a wake-up is late, in units of `unit_ns`. The latest late wake-ups are kept with their
    /// times.
    pub late_above: Option<u64>,
    /// The number of the first late wake-ups that are kept, too.
    pub late_limit: usize,
    /// The CPUs for this program's other threads; empty to leave them where they are.
    pub home: CpuList,
}

/// One measuring thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPlan {
    /// Its CPU; `None` for any.
    pub cpu: Option<u32>,
    /// Its priority, 1 to 99, under a real-time policy; otherwise 0.
    pub priority: u32,
    /// The interval between its wake-ups, ns.
    pub interval_ns: u64,
}

/// The clock by which threads sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// CLOCK_MONOTONIC
    #[default]
    Monotonic,
    /// CLOCK_REALTIME
    Realtime,
}

/// The way in which threads sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sleep {
    /// An absolute clock_nanosleep.
    #[default]
    Absolute,
    /// A relative clock_nanosleep, from the time at which the thread read the clock.
    Relative,
    /// A nanosleep: the same by the system call without a clock.
    Nanosleep,
    /// The thread's own POSIX timer, whose signal it waits for.
    Timer {
        /// True for an absolute time, false for a relative one.
        absolute: bool,
    },
}

/// The scheduling policy of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_OTHER, with its 50 us of timer slack.
    #[default]
    Other,
    /// SCHED_BATCH
    Batch,
    /// SCHED_IDLE
    Idle,
    /// SCHED_FIFO
    Fifo,
    /// SCHED_RR
    RoundRobin,
}

impl Policy {
    /// Returns true if threads have a priority under it.
    pub fn is_real_time(self) -> bool {
        matches!(self, Policy::Fifo | Policy::RoundRobin)
    }

    /// The name that cyclictest uses.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Other => "other",
            Policy::Batch => "batch",
            Policy::Idle => "idle",
            Policy::Fifo => "fifo",
            Policy::RoundRobin => "rr",
        }
    }
}

/// The way in which threads begin together. The clock is read once for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// All at one time, each thread this much after the previous one, ns.
    Spread(u64),
    /// All this much after a full second, ns.
    Second(u64),
}

impl Plan {
    /// A plan with these threads under SCHED_FIFO, and defaults for the rest.
    pub fn of(threads: Vec<ThreadPlan>) -> Self {
        Self {
            threads,
            clock: Clock::default(),
            sleep: Sleep::default(),
            policy: Policy::Fifo,
            loops: None,
            duration: None,
            align: None,
            unit_ns: 1,
            bins: 0,
            values: false,
            smi: false,
            lock: false,
            break_above: None,
            mark: false,
            late_above: None,
            late_limit: 0,
            home: CpuList::default(),
        }
    }

    /// The measured CPUs.
    pub fn measured(&self) -> CpuList {
        self.threads.iter().filter_map(|thread| thread.cpu).collect()
    }
}
