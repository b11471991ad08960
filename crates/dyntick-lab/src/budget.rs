// SPDX-License-Identifier: GPL-2.0-only
//! The memory limits for runs that one verb holds at once: a hundred links to one large run are a small archive, and so
//! is a study of a thousand cases.

use crate::names::RAW;
use dyntick_guest::MAILBOX_BYTES;
use dyntick_trace::room_for_events;
use std::cell::Cell;
use std::path::Path;

/// The events that all runs of a report may have together, in multiples of the limit for one run. It bounds the time. A
/// run takes memory only for the parts that are held, and a study of a hundred cases has some ten million events.
const RUNS: u64 = 64;

/// The share of the machine's memory that other files of runs may have; JSON takes nine times what its text has.
const SHARE: u64 = 64;

/// The share of the machine's memory that may be held of runs: sleeps, timer interrupts, causes, profiles and
/// the numbers of files; of the last two figures are made, which take as much again.
const SHARE_OF_HELD: u64 = 6;

/// The number of times that reading a run reads the bytes of a file, at most: each file fits into the guest's mailbox
/// with all others.
const READINGS: u64 = 3;

/// The memory that is left for further runs.
#[derive(Debug)]
pub struct Budget {
    left: Cell<Amounts>,
}

/// The resources that runs take, or that are left for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Events of their traces.
    events: u64,
    /// Bytes of their other files.
    bytes: u64,
    /// Memory of what is held of them, bytes.
    held: u64,
}

impl Amounts {
    /// The resources that were taken of these, if this much is left.
    pub(crate) fn without(self, left: Self) -> Self {
        let Self { events, bytes, held } = self;
        Self { events: events - left.events, bytes: bytes - left.bytes, held: held - left.held }
    }
}

/// The resource that exceeds the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Spent {
    /// Events of the traces.
    #[error("its trace has {events} events, and the memory left holds {left}")]
    Events {
        /// The number of its events.
        events: u64,
        /// The number that was left.
        left: u64,
    },
    /// Bytes of other files.
    #[error("one of its files has {bytes} bytes, and the memory left holds {left}")]
    Bytes {
        /// The number of its bytes.
        bytes: u64,
        /// The number that was left.
        left: u64,
    },
    /// The run was not read.
    #[error("it was not read: {failed} runs before it are damaged or did not fit into memory")]
    Before {
        /// The number of those runs.
        failed: usize,
    },
    /// Memory of what is held of it.
    #[error(
        "its sleeps, timer interrupts, causes, profile and the numbers in its files take {bytes} bytes of memory, and {left} are left"
    )]
    Held {
        /// The number of bytes that it takes.
        bytes: u64,
        /// The number that was left.
        left: u64,
    },
}

impl Budget {
    /// The limit for a run that is held alone.
    pub fn of_one() -> Self {
        Self::new(
            room_for_events(dyntick_system::memory()),
            READINGS * MAILBOX_BYTES,
            dyntick_system::memory() / SHARE_OF_HELD,
        )
    }

    /// The limit for all runs of a report.
    pub fn of_many() -> Self {
        Self::of_many_in(dyntick_system::memory(), room_for_events(dyntick_system::memory()))
    }

    /// The limit for all runs on a machine with this much memory, which has room for this number of events of one run.
    fn of_many_in(memory: u64, events: u64) -> Self {
        Self::new(events.saturating_mul(RUNS), memory / SHARE, memory / SHARE_OF_HELD)
    }

    /// A limit for this number of events, of bytes of other files, and of bytes of memory held.
    pub(crate) fn new(events: u64, bytes: u64, held: u64) -> Self {
        Self { left: Cell::new(Amounts { events, bytes, held }) }
    }

    /// The resources that are left.
    pub(crate) fn left(&self) -> Amounts {
        self.left.get()
    }

    /// Takes what a run takes that was read by another budget.
    pub(crate) fn take(&self, run: Amounts) -> Result<(), Spent> {
        self.spend(|budget| {
            budget.take_events(run.events)?;
            budget.take_bytes(run.bytes)?;
            budget.take_held(run.held)
        })
    }

    /// The number of events that the next run may have.
    pub(crate) fn events(&self) -> u64 {
        self.left.get().events
    }

    pub(crate) fn take_events(&self, events: u64) -> Result<(), Spent> {
        let left = self.left.get();
        let rest = left.events.checked_sub(events).ok_or(Spent::Events { events, left: left.events })?;
        self.left.set(Amounts { events: rest, ..left });
        Ok(())
    }

    pub(crate) fn take_bytes(&self, bytes: u64) -> Result<(), Spent> {
        let left = self.left.get();
        let rest = left.bytes.checked_sub(bytes).ok_or(Spent::Bytes { bytes, left: left.bytes })?;
        self.left.set(Amounts { bytes: rest, ..left });
        Ok(())
    }

    /// The memory that the next profile may take.
    pub(crate) fn held(&self) -> u64 {
        self.left.get().held
    }

    pub(crate) fn take_held(&self, bytes: u64) -> Result<(), Spent> {
        let left = self.left.get();
        let rest = left.held.checked_sub(bytes).ok_or(Spent::Held { bytes, left: left.held })?;
        self.left.set(Amounts { held: rest, ..left });
        Ok(())
    }

    /// Does something that holds nothing where it fails; it has then taken nothing.
    pub(crate) fn spend<T, E>(&self, act: impl FnOnce(&Self) -> Result<T, E>) -> Result<T, E> {
        let before = self.left.get();
        act(self).inspect_err(|_| self.left.set(before))
    }
}

/// The memory that reading the run in this folder takes, bytes: dense traces were measured to take twenty
/// times what they have.
pub(crate) fn to_read(folder: &Path) -> u64 {
    const TIMES: u64 = 32;
    let files = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let all = files(folder).chain(files(&folder.join(RAW)));
    let bytes: u64 = all.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum();
    bytes.saturating_mul(TIMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_has_taken_nothing() {
        let budget = Budget::new(10, 10, 10);
        budget.spend(|budget| budget.take_events(4).and_then(|()| budget.take_bytes(3))).unwrap();
        let failed = budget.spend(|budget| budget.take_events(5).and_then(|()| budget.take_bytes(8)));
        assert_eq!(failed, Err(Spent::Bytes { bytes: 8, left: 7 }));
        assert_eq!(budget.take_events(7), Err(Spent::Events { events: 7, left: 6 }));
        budget.take_events(6).unwrap();
        budget.take_bytes(7).unwrap();
    }

    /// studies/menu-stopped-tick.toml: each of two CPUs sleeps and is woken some 20 000 times a second.
    #[test]
    fn a_study_of_a_hundred_cases_fits_into_a_small_machine() {
        let budget = Budget::of_many_in(8 << 30, 2 << 20);
        let held = 40_000 * (size_of::<dyntick_idle::Sleep>() + size_of::<dyntick_idle::Wakeup>()) as u64;
        let run = Amounts { events: 500_000, bytes: 100 << 10, held };
        (0..112).for_each(|_| budget.take(run).unwrap());
    }

    #[test]
    fn a_run_that_was_read_by_another_budget() {
        let (all, one) = (Budget::new(10, 10, 10), Budget::new(8, 8, 8));
        let before = one.left();
        one.take_events(6).and_then(|()| one.take_held(1)).unwrap();
        let run = before.without(one.left());
        assert_eq!(run, Amounts { events: 6, bytes: 0, held: 1 });
        all.take(run).unwrap();
        assert_eq!(all.take(run), Err(Spent::Events { events: 6, left: 4 }));
        assert_eq!(all.left(), Amounts { events: 4, bytes: 10, held: 9 });
    }
}
