// SPDX-License-Identifier: GPL-2.0-only
//! What code those processes have mapped whose stacks are recorded, read while they exist.

use dyntick_observe::facts::{Mapping, mappings};
use dyntick_observe::trace::UserStacks;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// So many processes are looked at.
const MOST: usize = 1 << 12;

/// The second look at a process is so long after the first, and each next one after twice that time: programs map more
/// code while they run, and have addresses that are of no file.
const AGAIN: Duration = Duration::from_millis(10);

/// The processes whose stacks are recorded.
pub(crate) struct Processes {
    stacks: UserStacks,
    seen: BTreeMap<i32, Process>,
}

struct Process {
    mappings: Vec<Mapping>,
    next: Instant,
    pause: Duration,
}

impl Processes {
    pub fn new(stacks: UserStacks) -> Self {
        Self { stacks, seen: BTreeMap::new() }
    }

    /// Looks at the processes that have stacks in these pages.
    pub fn look(&mut self, pages: &[u8]) {
        let Self { stacks, seen } = self;
        let now = Instant::now();
        stacks.each(pages, rustix::param::page_size(), |process, address| {
            if seen.len() >= MOST && !seen.contains_key(&process) {
                return;
            }
            let first = || Process { mappings: Vec::new(), next: now, pause: AGAIN };
            let own = seen.entry(process).or_insert_with(first);
            if own.next <= now && mapping_of(&own.mappings, address).is_none() {
                (own.next, own.pause) = (now + own.pause, own.pause * 2);
                let mapped = mappings(process);
                // One that has ended has none any more.
                if !mapped.is_empty() {
                    own.mappings = mapped;
                }
            }
        });
    }

    /// The code of each.
    pub fn mappings(&self) -> BTreeMap<i32, Vec<Mapping>> {
        let known = self.seen.iter().filter(|(_, process)| !process.mappings.is_empty());
        known.map(|(number, process)| (*number, process.mappings.clone())).collect()
    }
}

/// That in which an address is, of some in the order of addresses.
pub(crate) fn mapping_of(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let behind = mappings.partition_point(|mapping| mapping.begin <= address);
    mappings[..behind].last().filter(|mapping| address < mapping.end)
}
