// SPDX-License-Identifier: GPL-2.0-only
//! What is to be measured, and how.

use dyntick_model::CpuList;
use std::time::Duration;

/// A measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The measuring threads.
    pub threads: Vec<ThreadPlan>,
    /// The clock by which they sleep.
    pub clock: Clock,
    /// How they sleep.
    pub sleep: Sleep,
    /// How they are scheduled.
    pub policy: Policy,
    /// Wake-ups of a thread; without end where this is none.
    pub loops: Option<u64>,
    /// The time after which all end; never where this is none.
    pub duration: Option<Duration>,
    /// Whether the threads begin together.
    pub align: Option<Align>,
    /// The width of a histogram's bin and the unit of its limit, ns.
    pub unit_ns: u64,
    /// How many bins there are; 0 for no histogram.
    pub bins: usize,
    /// Keep the last latencies one by one, so that [`crate::Counts::values`] has them.
    pub values: bool,
    /// Count system management interrupts.
    pub smi: bool,
    /// Locking the memory is not only tried but demanded.
    pub lock: bool,
    /// All threads end at the first latency above this, in units of `unit_ns`.
    pub break_above: Option<u64>,
    /// That latency is also marked in the machine's own trace, which is stopped.
    pub mark: bool,
    /// Latencies above this, in units of `unit_ns`, are late wake-ups, which are kept with their times: the latest …
    pub late_above: Option<u64>,
    /// … and this many of the first.
    pub late_limit: usize,
    /// The CPUs for this program's other threads; empty for those that they have.
    pub home: CpuList,
}

/// One measuring thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPlan {
    /// Its CPU; none for any.
    pub cpu: Option<u32>,
    /// Its priority, 1 to 99, under a real-time policy; otherwise 0.
    pub priority: u32,
    /// How often it wakes up, ns.
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

/// How threads sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sleep {
    /// clock_nanosleep until a time.
    #[default]
    Absolute,
    /// clock_nanosleep for a time, from when the thread read the clock.
    Relative,
    /// nanosleep, the same by the system call that has no clock.
    Nanosleep,
    /// A POSIX timer of the thread's own, waited for by its signal.
    Timer {
        /// Set for a time, or else for a distance.
        absolute: bool,
    },
}

/// How threads are scheduled.
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
    /// Whether threads have a priority under it.
    pub fn is_real_time(self) -> bool {
        matches!(self, Policy::Fifo | Policy::RoundRobin)
    }

    /// As cyclictest names it.
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

/// How threads begin together. The clock is read once, for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the same time, each thread this much after the one before, ns.
    Spread(u64),
    /// This much after a full second, ns.
    Second(u64),
}

impl Plan {
    /// These threads under SCHED_FIFO, and nothing special.
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

    /// The CPUs that are measured.
    pub fn measured(&self) -> CpuList {
        self.threads.iter().filter_map(|thread| thread.cpu).collect()
    }
}
