// SPDX-License-Identifier: GPL-2.0-only
//! Looking at tasks while they live: afterwards nobody can tell what they owned.

use dyntick_observe::facts::{Owners, Thread, threads};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The first look after the begin; each next one is this many times later. Programs set their timers
/// up early, and looking costs time on the other CPUs.
const FIRST: Duration = Duration::from_millis(100);
const GROWTH: u32 = 4;
/// Where that goes on for as long as it is recorded, looks are no less apart in the end.
const SELDOM: Duration = Duration::from_secs(5);

/// What was seen of the machine's tasks.
pub(crate) struct Watch {
    pub threads: BTreeMap<i32, Thread>,
    pub owners: Owners,
    begin: Instant,
    next: Duration,
    /// Those of the last look alone, where what was before that and the look before it is forgotten.
    last: Option<BTreeMap<i32, Thread>>,
    /// Looks are at most so far apart.
    longest: Duration,
}

impl Watch {
    pub fn new() -> Self {
        let (threads, owners, longest) = (BTreeMap::new(), Owners::default(), Duration::MAX);
        Self { threads, owners, begin: Instant::now(), next: FIRST, last: None, longest }
    }

    /// One that forgets what ended longer ago than `seconds`.
    pub fn of_the_last(seconds: Duration) -> Self {
        Self { last: Some(BTreeMap::new()), longest: seconds.max(SELDOM), ..Self::new() }
    }

    /// Looks again, if it is time to.
    pub fn look_if_due(&mut self) {
        if self.begin.elapsed() >= self.next {
            self.next += (self.next * (GROWTH - 1)).min(self.longest);
            self.look();
        }
    }

    /// Looks at all tasks. A task that is there is taken as it is now.
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
