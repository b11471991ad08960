// SPDX-License-Identifier: GPL-2.0-only
//! Late wake-ups with their times, in memory that is allocated beforehand.

mod recent;

pub use recent::Recent;

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// A late wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// The number of the thread.
    pub thread: usize,
    /// The number of its wake-up, from 0.
    pub cycle: u64,
    /// The time at which it was due, ns of CLOCK_MONOTONIC.
    pub due_ns: u64,
    /// The time at which it ran, ns of CLOCK_MONOTONIC.
    pub woke_ns: u64,
}

impl Late {
    /// Its latency, ns.
    pub fn latency_ns(&self) -> u64 {
        self.woke_ns.saturating_sub(self.due_ns)
    }
}

/// The late wake-ups of all threads: the first are kept, all are counted. Any thread may add at any time without a
/// lock.
#[derive(Debug)]
pub struct Lates {
    count: AtomicUsize,
    slots: Box<[Slot]>,
}

#[derive(Debug, Default)]
struct Slot {
    /// The thread's number plus one; 0 while the slot is incomplete.
    thread: AtomicUsize,
    cycle: AtomicU64,
    due: AtomicU64,
    woke: AtomicU64,
}

impl Lates {
    /// Creates one with room for `limit` wake-ups.
    pub(crate) fn new(limit: usize) -> Self {
        Self { count: AtomicUsize::new(0), slots: (0..limit).map(|_| Slot::default()).collect() }
    }

    pub(crate) fn add(&self, late: Late) {
        let Some(slot) = self.slots.get(self.count.fetch_add(1, Relaxed)) else { return };
        slot.cycle.store(late.cycle, Relaxed);
        slot.due.store(late.due_ns, Relaxed);
        slot.woke.store(late.woke_ns, Relaxed);
        slot.thread.store(late.thread + 1, Release);
    }

    /// The number of all late wake-ups.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// The late wake-ups that were kept.
    pub fn kept(&self) -> Vec<Late> {
        self.slots.iter().filter_map(Slot::read).collect()
    }
}

impl Slot {
    /// The late wake-up in it; `None` while it is incomplete.
    fn read(&self) -> Option<Late> {
        let thread = self.thread.load(Acquire).checked_sub(1)?;
        let (cycle, due_ns) = (self.cycle.load(Relaxed), self.due.load(Relaxed));
        Some(Late { thread, cycle, due_ns, woke_ns: self.woke.load(Relaxed) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_are_kept_and_all_are_counted() {
        let lates = Lates::new(3);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let lates = &lates;
                scope.spawn(move || lates.add(Late { thread, cycle: 7, due_ns: 10, woke_ns: 15 }));
            }
        });
        assert_eq!((lates.count(), lates.kept().len()), (4, 3));
        assert!(lates.kept().iter().all(|late| late.latency_ns() == 5 && late.cycle == 7));
    }
}
