// SPDX-License-Identifier: GPL-2.0-only
//! Looking at tasks while they live: afterwards nobody can tell what they owned.

use dyntick_observe::facts::{Owners, Thread, threads};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The first look after the begin; each next one is this many times later. Programs set their timers
/// up early, and looking costs time on the other CPUs.
const FIRST: Duration = Duration::from_millis(100);
const GROWTH: u32 = 4;

/// What was seen of the machine's tasks.
pub(crate) struct Watch {
    pub threads: BTreeMap<i32, Thread>,
    pub owners: Owners,
    begin: Instant,
    next: Duration,
}

impl Watch {
    pub fn new() -> Self {
        Self { threads: BTreeMap::new(), owners: Owners::default(), begin: Instant::now(), next: FIRST }
    }

    /// Looks again, if it is time to.
    pub fn look_if_due(&mut self) {
        if self.begin.elapsed() >= self.next {
            self.next *= GROWTH;
            self.look();
        }
    }

    /// Looks at all tasks. A task that is there is taken as it is now.
    pub fn look(&mut self) {
        let now = threads();
        let processes: BTreeSet<i32> =
            now.values().filter(|thread| !thread.kernel).map(|thread| thread.process).collect();
        self.owners.look(processes);
        self.threads.extend(now);
    }
}
