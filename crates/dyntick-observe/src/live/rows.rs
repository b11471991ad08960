// SPDX-License-Identifier: GPL-2.0-only
//! The rows that the programs write, mapped into memory, and what was added to them since they were read before.

use super::keys::is_program_slot;
use dyntick_bpf::layout::{FIXED, FOUND, PROGRAMS};
use dyntick_bpf::{Open, Row, Slot};
use memmap2::MmapRaw;
use std::collections::HashMap;
use std::sync::atomic::{Ordering, fence};

/// The number of slots of a row.
const SLOTS: usize = FIXED + FOUND + PROGRAMS;

/// The number of attempts to read two equal copies of a slot.
const TRIES: usize = 8;

/// The rows of some CPUs.
pub(super) struct Rows {
    map: MmapRaw,
    /// The slots of each row as they were read before, by their places.
    before: Vec<HashMap<usize, Slot>>,
    /// True for each row whose CPU is offline. Nothing lasts there, and no event says so: tracepoints are silent from
    /// the moment when a CPU is taken out of the map of those that are online.
    offline: Vec<bool>,
}

/// A slot that was read.
struct Read {
    slot: Slot,
    /// True if the programs are done with all that it counts, so that it may be given to another program.
    settled: bool,
}

impl Rows {
    /// The rows of `cpus` CPUs, all of them in this mapping.
    pub(super) fn new(map: MmapRaw, cpus: usize) -> Self {
        assert!(map.len() >= cpus * size_of::<Row>());
        Self { map, before: vec![HashMap::new(); cpus], offline: vec![false; cpus] }
    }

    /// A window ends and another one begins, to be called before what was added to the slots in it is read for the last
    /// time. Within a window it would lose the time that a CPU was idle until the first switch on it. Returns of each
    /// row how long a task has run on a CPU that no switch was seen on, ns, in the window: its turn is in no slot.
    pub(super) fn window_ends(&mut self, now: u64) -> Vec<u64> {
        (0..self.before.len()).map(|row| self.unseen(row, now)).collect()
    }

    /// Notes the rows of CPUs that are offline, before [`Rows::grown`].
    pub(super) fn offline(&mut self, is_offline: impl Fn(usize) -> bool) {
        (0..self.offline.len()).for_each(|row| self.offline[row] = is_offline(row));
    }

    /// The growth of each slot since the previous call, with its row and place. Costs the CPUs that are counted no
    /// system call; while they run on, the numbers of one slot may be one event apart. A time slice that still lasts
    /// has lasted up to `now`, ns: each window has the part of it that lies within.
    pub(super) fn grown(&mut self, now: u64) -> Vec<(usize, usize, Slot)> {
        let mut all = Vec::new();
        for row in 0..self.before.len() {
            // What a work item takes is a part of the turn of its kworker, in each window.
            let lasting = [Lasting::Turn, Lasting::Work].map(|which| self.lasting(row, which, now));
            for place in 0..SLOTS {
                let lasting = lasting.iter().flatten().find(|(at, _)| *at == place).map(|(_, ns)| *ns);
                if let Some(slot) = self.slot_grown(row, place, lasting) {
                    all.push((row, place, slot));
                }
            }
        }
        all
    }

    /// Forgets the longest of each slot.
    pub(super) fn forget_longest(&mut self) {
        for row in 0..self.before.len() {
            for place in 0..SLOTS {
                // SAFETY: within the mapping. A program that runs meanwhile may bring back what is older, which is
                // then one of the first after this.
                unsafe { (&raw mut (*self.slot(row, place)).longest).write_volatile(0) };
            }
            self.before[row].values_mut().for_each(|slot| slot.longest = 0);
        }
    }

    /// Lets the programs look whether a thread is followed.
    pub(super) fn follow(&mut self) {
        for row in 0..self.before.len() {
            // SAFETY: within the mapping. Only this writes there.
            unsafe { (&raw mut (*self.row(row)).follows).write_volatile(1) };
        }
    }

    /// The contents of a slot.
    pub(super) fn copy(&self, row: usize, place: usize) -> Slot {
        // SAFETY: within the mapping; only copied.
        unsafe { self.slot(row, place).read_volatile() }
    }

    /// Returns the number of details that found no room in the ring buffer, of all rows.
    pub(super) fn details_lost(&self) -> u64 {
        // SAFETY: within the mapping; only copied.
        let of = |row| unsafe { (&raw const (*self.row(row)).details_lost).read_volatile() };
        (0..self.before.len()).map(of).sum()
    }

    /// `lasting_ns`: its time with the turn that lasts, where that is one of its turns.
    fn slot_grown(&mut self, row: usize, place: usize, lasting_ns: Option<u64>) -> Option<Slot> {
        let before = self.before[row].get(&place);
        // SAFETY: within the mapping; only copied.
        let count = unsafe { (&raw const (*self.slot(row, place)).count).read_volatile() };
        let done = |slot: &Slot| slot.count == count && ended(slot) == count;
        if count == 0 || (lasting_ns.is_none() && before.is_some_and(done)) {
            return None;
        }
        let Read { mut slot, settled } = self.read(row, place)?;
        slot.ns = slot.ns.max(lasting_ns.unwrap_or(0)).max(before.map_or(0, |before| before.ns));
        let grown = grown(&slot, before);
        self.before[row].insert(place, slot);
        if settled {
            self.settle(row, place, slot.count);
        }
        Some(grown)
    }

    /// Reads a slot; none if it changes all the time, and is to be read the next time.
    fn read(&self, row: usize, place: usize) -> Option<Read> {
        let mut slot = self.copy(row, place);
        for _ in 0..TRIES {
            let again = self.copy(row, place);
            // What is read twice alike is of one moment.
            if again == slot {
                return Some(Read { slot, settled: is_program_slot(place) && ended(&slot) == slot.count });
            }
            slot = again;
        }
        (!is_program_slot(place)).then_some(Read { slot, settled: false })
    }

    /// Lets the programs give this slot to another program, unless something is added to it. They compare this with
    /// the slot's count, which never falls: what is written here too late is never equal again.
    fn settle(&self, row: usize, place: usize, count: u64) {
        let number = place - FIXED - FOUND;
        // SAFETY: within the mapping. Only this writes there.
        unsafe { (&raw mut (*self.row(row)).settled[number]).write_volatile(count) };
    }

    /// Reports to the programs of a row whether a task, and not the idle task, ran on its CPU when counting began.
    pub(super) fn busy(&mut self, row: usize, busy: bool) {
        // SAFETY: within the mapping. Only this writes there.
        unsafe { (&raw mut (*self.row(row)).busy).write_volatile(busy.into()) };
    }

    /// Returns true if no task switch was seen yet on a CPU.
    pub(super) fn is_unseen(&self, row: usize) -> bool {
        // SAFETY: within the mapping; only copied.
        unsafe { (&raw const (*self.row(row)).task.start).read_volatile() == 0 }
    }

    /// As long as no task switch was seen on a CPU: what ran there from now on the first one will say. Returns for how
    /// long some task has run, ns, since this was called before.
    fn unseen(&self, row: usize, now: u64) -> u64 {
        if !self.is_unseen(row) {
            return 0;
        }
        let states = self.row(row);
        // SAFETY: within the mapping. Only this writes there.
        let (since, stolen_since, stolen, busy) = unsafe {
            let before = (
                (&raw const (*states).since).read_volatile(),
                (&raw const (*states).stolen_since).read_volatile(),
            );
            let stolen = (&raw const (*states).stolen).read_volatile();
            (&raw mut (*states).stolen_since).write_volatile(stolen);
            (&raw mut (*states).since).write_volatile(now);
            (before.0, before.1, stolen, (&raw const (*states).busy).read_volatile() > 0)
        };
        // A switch that came meanwhile has begun the turn at the time that was written before.
        fence(Ordering::SeqCst);
        if !busy || since == 0 || !self.is_unseen(row) {
            return 0;
        }
        now.saturating_sub(since).saturating_sub(stolen.saturating_sub(stolen_since))
    }

    /// The place in which that is counted of a row which lasts, and the time there with what it has lasted, ns.
    fn lasting(&self, row: usize, which: Lasting, now: u64) -> Option<(usize, u64)> {
        if self.offline[row] {
            return None;
        }
        // The kernel writes meanwhile: what is read twice alike is of one moment.
        let alike = |_| {
            let (first, again) = (self.read_open(row, which), self.read_open(row, which));
            (first == again).then_some(first)
        };
        let open = (0..TRIES).find_map(alike)??;
        let lasts =
            now.saturating_sub(open.start).saturating_sub(open.stolen.saturating_sub(open.stolen_then));
        Some((open.place, open.ns + lasts))
    }

    fn read_open(&self, row: usize, which: Lasting) -> Option<Begun> {
        let row = self.row(row);
        // SAFETY: within the mapping; only copied.
        unsafe {
            let open = match which {
                Lasting::Turn => &raw const (*row).task,
                Lasting::Work => &raw const (*row).work,
            };
            let Open { start, stolen, slot, .. } = open.read_volatile();
            let place = slot as usize;
            (start > 0 && place < SLOTS).then(|| Begun {
                start,
                place,
                stolen_then: stolen,
                stolen: (&raw const (*row).stolen).read_volatile(),
                ns: (&raw const (*row).slots[place].ns).read_volatile(),
            })
        }
    }

    fn row(&self, row: usize) -> *mut Row {
        assert!(row < self.before.len());
        let rows: *mut Row = self.map.as_mut_ptr().cast();
        // SAFETY: the mapping holds a complete row for each CPU and lives as long as `self`.
        unsafe { rows.add(row) }
    }

    /// A slot, which the kernel writes to at any time.
    fn slot(&self, row: usize, place: usize) -> *mut Slot {
        assert!(place < SLOTS);
        // SAFETY: within the row.
        unsafe { (&raw mut (*self.row(row)).slots).cast::<Slot>().add(place) }
    }
}

/// A kind of interval whose time is added in each window, as long as it lasts.
#[derive(Clone, Copy)]
enum Lasting {
    /// The time slice of a task.
    Turn,
    /// A work item.
    Work,
}

/// An interval that lasts on a CPU, and the time in its place without it.
#[derive(PartialEq, Eq)]
struct Begun {
    start: u64,
    place: usize,
    stolen_then: u64,
    stolen: u64,
    ns: u64,
}

/// The number of ends that a slot has counted.
fn ended(slot: &Slot) -> u64 {
    slot.histogram.iter().sum()
}

/// The growth of a slot, under its present name. A slot that was given to another program since has no growth
/// for the one before.
fn grown(now: &Slot, before: Option<&Slot>) -> Slot {
    let Some(before) = before else { return *now };
    let same = (now.key, now.name) == (before.key, before.name);
    let mut grown = *now;
    grown.count = now.count.saturating_sub(before.count);
    grown.ns = now.ns.saturating_sub(before.ns);
    if same && now.longest <= before.longest {
        grown.longest = 0;
    }
    for (now, before) in grown.histogram.iter_mut().zip(before.histogram) {
        *now = now.saturating_sub(before);
    }
    grown
}

#[cfg(test)]
mod tests;
