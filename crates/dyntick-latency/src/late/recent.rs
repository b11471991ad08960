// SPDX-License-Identifier: GPL-2.0-only
//! The latest late wake-ups, for a reader that follows them as they happen.

use super::Late;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};

/// The number of wake-ups in the ring: enough for the time in which a reader takes a trace out of its buffers.
const HELD: usize = 1024;

/// A ring in which new wake-ups replace old ones. Any thread may add at any time without a lock; one reader follows.
#[derive(Debug)]
pub struct Recent {
    count: AtomicU64,
    slots: Box<[Slot]>,
}

#[derive(Debug, Default)]
struct Slot {
    /// True while a thread writes to it.
    busy: AtomicBool,
    /// The number of its late wake-up, from 1; 0 while it is written.
    number: AtomicU64,
    thread: AtomicU64,
    cycle: AtomicU64,
    due: AtomicU64,
    woke: AtomicU64,
}

impl Recent {
    pub(crate) fn new() -> Self {
        Self { count: AtomicU64::new(0), slots: (0..HELD).map(|_| Slot::default()).collect() }
    }

    pub(crate) fn add(&self, late: Late) {
        let before = self.count.fetch_add(1, Relaxed);
        let slot = &self.slots[before as usize % HELD];
        // A thread was preempted while it wrote here one round of the ring ago, so this wake-up is dropped. The reader
        // waits for it for one more round.
        if slot.busy.swap(true, Acquire) {
            return;
        }
        slot.number.store(0, Relaxed);
        fence(Release);
        slot.thread.store(late.thread as u64, Relaxed);
        slot.cycle.store(late.cycle, Relaxed);
        slot.due.store(late.due_ns, Relaxed);
        slot.woke.store(late.woke_ns, Relaxed);
        slot.number.store(before + 1, Release);
        slot.busy.store(false, Release);
    }

    /// The number of all late wake-ups.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// The wake-ups from number `from` on, from 0, that are still in the ring; `from` becomes the number of the next.
    /// A wake-up that is being written is left for the next call.
    pub fn since(&self, from: &mut u64) -> Vec<Late> {
        let to = self.count();
        let first = (*from).max(to.saturating_sub(HELD as u64));
        let mut found = Vec::new();
        *from = first;
        for number in first..to {
            match self.read(number) {
                Read::Here(late) => found.push(late),
                Read::Gone => {}
                Read::Unfinished => break,
            }
            *from = number + 1;
        }
        found
    }

    fn read(&self, number: u64) -> Read {
        let slot = &self.slots[number as usize % HELD];
        let before = slot.number.load(Acquire);
        let late = Late {
            thread: slot.thread.load(Relaxed) as usize,
            cycle: slot.cycle.load(Relaxed),
            due_ns: slot.due.load(Relaxed),
            woke_ns: slot.woke.load(Relaxed),
        };
        fence(Acquire);
        match (before, slot.number.load(Relaxed)) {
            (before, after) if before == number + 1 && after == before => Read::Here(late),
            (before, _) if before > number => Read::Gone,
            _ => Read::Unfinished,
        }
    }
}

/// The state of one wake-up.
enum Read {
    Here(Late),
    /// A later wake-up has replaced it.
    Gone,
    Unfinished,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicUsize;

    fn late(thread: usize, cycle: u64) -> Late {
        Late { thread, cycle, due_ns: cycle * 1000, woke_ns: cycle * 1000 + thread as u64 }
    }

    #[test]
    fn each_wakeup_is_read_once_and_the_oldest_are_replaced() {
        let recent = Recent::new();
        let mut from = 0;
        recent.add(late(1, 7));
        assert_eq!(recent.since(&mut from), [late(1, 7)]);
        assert!(recent.since(&mut from).is_empty());
        (0..HELD as u64 + 3).for_each(|cycle| recent.add(late(2, cycle)));
        let read = recent.since(&mut from);
        assert_eq!((read.len(), read[0], recent.count()), (HELD, late(2, 3), HELD as u64 + 4));
    }

    #[test]
    fn reader_gets_what_threads_add_meanwhile() {
        const THREADS: usize = 4;
        const EACH: u64 = 20_000;
        let (recent, done) = (Recent::new(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (recent, done) = (&recent, &done);
                scope.spawn(move || {
                    (0..EACH).for_each(|cycle| recent.add(late(thread, cycle)));
                    done.fetch_add(1, Release);
                });
            }
            let (mut from, mut seen) = (0, BTreeSet::new());
            loop {
                let ended = done.load(Acquire) == THREADS;
                for read in recent.since(&mut from) {
                    assert_eq!(read, late(read.thread, read.cycle), "not mixed of two");
                    assert!(seen.insert((read.thread, read.cycle)), "not twice");
                }
                if ended {
                    break;
                }
            }
            assert!(!seen.is_empty());
        });
        assert_eq!(recent.count(), THREADS as u64 * EACH);
    }
}
