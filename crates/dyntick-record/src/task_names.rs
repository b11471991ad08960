// SPDX-License-Identifier: GPL-2.0-only
//! The names and possessions of tasks, read while the tasks live: afterwards they are gone.

use dyntick_observe::facts::{Owners, Thread, threads};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The time of the first reading after the begin, and the factor to each next one. Programs set up their timers early,
/// and reading costs time on the other CPUs.
const FIRST: Duration = Duration::from_millis(100);
const GROWTH: u32 = 4;
/// The longest pause between readings in a recording without an end.
const SELDOM: Duration = Duration::from_secs(5);

/// The tasks that were seen on the machine.
pub(crate) struct Watch {
    pub threads: BTreeMap<i32, Thread>,
    pub owners: Owners,
    begin: Instant,
    next: Duration,
    /// The tasks of the last reading alone, if those before the last two readings are forgotten.
    last: Option<BTreeMap<i32, Thread>>,
    /// The longest time between two readings.
    longest: Duration,
}

impl Watch {
    pub fn new() -> Self {
        let (threads, owners, longest) = (BTreeMap::new(), Owners::default(), Duration::MAX);
        Self { threads, owners, begin: Instant::now(), next: FIRST, last: None, longest }
    }

    /// Creates one that forgets tasks that ended longer ago than `seconds`.
    pub fn of_the_last(seconds: Duration) -> Self {
        Self { last: Some(BTreeMap::new()), longest: seconds.max(SELDOM), ..Self::new() }
    }

    /// Reads the tasks again, if it is time to.
    pub fn look_if_due(&mut self) {
        if self.begin.elapsed() >= self.next {
            self.next += (self.next * (GROWTH - 1)).min(self.longest);
            self.look();
        }
    }

    /// Reads all tasks. The present state of a task replaces its earlier one.
    pub fn look(&mut self) {
        let now = threads();
        let processes: BTreeSet<i32> =
            now.values().filter(|thread| !thread.kernel).map(|thread| thread.process).collect();
        if let Some(last) = &mut self.last {
            self.threads = std::mem::replace(last, now.clone());
            self.owners = Owners::default();
        }
        self.owners.look(processes);
        self.threads.values_mut().for_each(|thread| thread.ended = true);
        self.threads.extend(now);
    }
}
