// SPDX-License-Identifier: GPL-2.0-only
//! Rows that are written as the programs write them.

use super::*;
use dyntick_bpf::layout::fixed::IDLE;
use dyntick_bpf::layout::{BUCKETS, NAME, family};
use memmap2::MmapOptions;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The number of places for the programs' slots in these tests: few, so that they are given on often.
const PLACES: usize = 3;

fn rows() -> Rows {
    // The kernel's memory is all zero too.
    Rows::new(MmapOptions::new().len(size_of::<Row>()).map_anon().unwrap().into(), 1)
}

fn key(program: u64) -> u64 {
    u64::from(family::TASK) << 56 | program
}

fn name(program: u64) -> [u8; NAME] {
    let mut name = [0; NAME];
    name[..8].copy_from_slice(&(program << 8 | 0x61).to_le_bytes());
    name
}

/// The eBPF programs: `search_program` and `give` of `program.h`, `begin_at` and `end_at` of `account.h`.
struct Programs<'a> {
    rows: &'a Rows,
    open: Option<usize>,
}

impl Programs<'_> {
    fn change(&self, place: usize, change: impl FnOnce(&mut Slot)) {
        let mut slot = self.rows.copy(0, place);
        change(&mut slot);
        // SAFETY: within the mapping, and nothing else accesses it.
        unsafe { self.rows.slot(0, place).write(slot) };
    }

    /// None where no slot can be had.
    fn place_of(&self, program: u64) -> Option<usize> {
        let mut chosen = None;
        for number in 0..PLACES {
            let place = FIXED + FOUND + number;
            let slot = self.rows.copy(0, place);
            // SAFETY: within the mapping.
            let settled = unsafe { (*self.rows.row(0)).settled[number] };
            if slot.key == key(program) && slot.name == name(program) {
                return Some(place);
            }
            if slot.key == 0 || (settled > 0 && settled == slot.count) {
                chosen = chosen.or(Some(place));
            }
        }
        let place = chosen?;
        self.change(place, |slot| (slot.key, slot.name, slot.longest) = (key(program), name(program), 0));
        Some(place)
    }

    /// A turn begins; false where the program has no slot.
    fn begins(&mut self, program: u64) -> bool {
        assert_eq!(self.open, None);
        self.open = self.place_of(program);
        self.open.into_iter().for_each(|place| self.change(place, |slot| slot.count += 1));
        self.open.is_some()
    }

    fn ends(&mut self, ns: u64) {
        if let Some(place) = self.open.take() {
            self.change(place, |slot| {
                slot.ns += ns;
                slot.longest = slot.longest.max(ns);
                slot.histogram[0] += 1;
            });
        }
    }
}

/// Count, time and longest by program.
type Turns = BTreeMap<[u8; NAME], (u64, u64, u64)>;

fn read(rows: &mut Rows, sums: &mut Turns) {
    for (_, _, slot) in rows.grown(0) {
        let sum = sums.entry(slot.name).or_default();
        *sum = (sum.0 + slot.count, sum.1 + slot.ns, sum.2.max(slot.longest));
    }
}

proptest! {
    /// However often slots are given to other programs, and whenever the rows are read: what is read by name is
    /// what happened by name.
    #[test]
    fn slots_are_given_on_and_nothing_is_lost(
        turns in prop::collection::vec((0u64..8, 1u64..1000, 0u8..4), 0..200),
    ) {
        let mut rows = rows();
        let (mut happened, mut seen) = (Turns::new(), Turns::new());
        let mut open = None;
        for (program, ns, reads) in turns {
            let mut programs = Programs { rows: &rows, open };
            let has_slot = programs.begins(program);
            open = programs.open;
            if reads & 1 > 0 {
                read(&mut rows, &mut seen);
            }
            let mut programs = Programs { rows: &rows, open };
            programs.ends(ns);
            open = None;
            if has_slot {
                let sum = happened.entry(name(program)).or_default();
                *sum = (sum.0 + 1, sum.1 + ns, sum.2.max(ns));
            }
            if reads & 2 > 0 {
                read(&mut rows, &mut seen);
            }
        }
        read(&mut rows, &mut seen);
        prop_assert_eq!(seen, happened);
    }
}

#[test]
fn a_slot_is_free_again_only_when_all_of_it_was_read() {
    let mut rows = rows();
    let mut seen = Turns::new();
    let turn = |rows: &Rows, program| {
        let mut programs = Programs { rows, open: None };
        let has_slot = programs.begins(program);
        programs.ends(10);
        has_slot
    };
    assert!((0..PLACES as u64).all(|program| turn(&rows, program)));
    assert!(!turn(&rows, 100), "no slot is free before the first reading");
    read(&mut rows, &mut seen);
    assert!(turn(&rows, 0), "what is settled goes on");
    assert!(turn(&rows, 100) && turn(&rows, 101), "and what ran no more since gives its slot up");
    assert!(!turn(&rows, 102) && !turn(&rows, 1), "each once");
    // Something is written to a slot after it was read, and before that is known: too late, and harmless.
    rows.settle(0, FIXED + FOUND, 1);
    assert!(!turn(&rows, 102));
}

fn idle(count: u64, ns: u64, longest: u64) -> Slot {
    let mut histogram = [0; BUCKETS];
    histogram[3] = count;
    Slot { key: 0, count, ns, longest, name: [0; NAME], histogram }
}

#[test]
fn what_came_between() {
    let grown = grown(&idle(5, 700, 300), Some(&idle(2, 100, 50)));
    assert_eq!((grown.count, grown.ns, grown.longest, grown.histogram[3]), (3, 600, 300, 3));
}

#[test]
fn an_older_longest_is_not_told_again() {
    assert_eq!(grown(&idle(5, 700, 300), Some(&idle(2, 100, 300))).longest, 0);
    assert_eq!(grown(&idle(5, 700, 300), None), idle(5, 700, 300));
    let mut rows = rows();
    let put = |rows: &Rows, slot| unsafe { rows.slot(0, IDLE).write(slot) };
    put(&rows, idle(2, 100, 300));
    assert_eq!(rows.grown(0).len(), 1);
    assert_eq!(rows.grown(0), [], "what did not happen is left out");
    rows.forget_longest();
    put(&rows, idle(3, 120, 20));
    assert_eq!(rows.grown(0), [(0, IDLE, Slot { histogram: idle(1, 0, 0).histogram, ..idle(1, 20, 20) })]);
}

/// A turn of a program as well: what it took of each window, with the count where it began.
#[test]
fn a_turn_that_goes_on_is_in_each_window() {
    let mut rows = rows();
    let place = FIXED + FOUND + 1;
    let slot = Slot { key: key(5), name: name(5), histogram: [0; BUCKETS], ..idle(1, 0, 0) };
    // SAFETY: within the mapping.
    unsafe {
        rows.slot(0, place).write(slot);
        (*rows.row(0)).task.start = 1000;
        (*rows.row(0)).task.slot = place as u32;
        (*rows.row(0)).stolen = 30;
    }
    let read = |rows: &mut Rows, now| {
        let grown = rows.grown(now);
        grown.iter().map(|(_, at, slot)| (*at, slot.count, slot.ns)).collect::<Vec<_>>()
    };
    assert_eq!(read(&mut rows, 1400), [(place, 1, 370)], "without the interrupts within");
    assert_eq!(read(&mut rows, 1500), [(place, 0, 100)]);
    // SAFETY: within the mapping.
    unsafe {
        rows.slot(0, place).write(Slot { ns: 480, longest: 480, histogram: idle(1, 0, 0).histogram, ..slot });
        (*rows.row(0)).task.start = 0;
    }
    assert_eq!(read(&mut rows, 1600), [(place, 0, 10)]);
    assert_eq!(read(&mut rows, 1700), []);
}

#[test]
fn a_work_item_that_goes_on_is_in_each_window() {
    let mut rows = rows();
    let place = FIXED + 7;
    // SAFETY: within the mapping.
    unsafe {
        let begun = Slot { key: u64::from(family::WORK) << 56 | 5, histogram: [0; BUCKETS], ..idle(1, 0, 0) };
        rows.slot(0, place).write(begun);
        (*rows.row(0)).work.start = 1000;
        (*rows.row(0)).work.slot = place as u32;
    }
    let ns = |rows: &mut Rows, now| rows.grown(now).iter().map(|(_, _, slot)| slot.ns).sum::<u64>();
    assert_eq!((ns(&mut rows, 1400), ns(&mut rows, 1500)), (400, 100));
}

#[test]
fn until_a_switch_is_seen_the_programs_are_told_from_when_on() {
    let mut rows = rows();
    let told = |rows: &Rows| unsafe { ((*rows.row(0)).since, (*rows.row(0)).stolen_since) };
    // SAFETY: within the mapping.
    unsafe { (*rows.row(0)).stolen = 40 };
    rows.window_ends(1000);
    rows.grown(1100);
    assert_eq!(told(&rows), (1000, 40));
    // SAFETY: within the mapping.
    unsafe { (*rows.row(0)).task.start = 1200 };
    rows.window_ends(2000);
    assert_eq!(told(&rows), (1000, 40));
}

/// The part of each window, until the programs have begun its turn at the end of the window before.
#[test]
fn what_ran_before_the_first_switch_is_in_each_window() {
    let mut rows = rows();
    rows.busy(0, true);
    let unseen = |rows: &mut Rows, now| rows.window_ends(now)[0];
    assert_eq!(unseen(&mut rows, 1000), 0, "from now on it is known");
    // SAFETY: within the mapping.
    unsafe { (*rows.row(0)).stolen = 40 };
    assert_eq!((unseen(&mut rows, 1500), unseen(&mut rows, 1600)), (460, 100));
    // SAFETY: within the mapping.
    unsafe { (*rows.row(0)).task.start = 1600 };
    assert_eq!(unseen(&mut rows, 2000), 0);
    assert!(!rows.is_unseen(0));
}

#[test]
fn of_a_cpu_that_was_idle_nobody_has_run() {
    let mut rows = rows();
    rows.busy(0, false);
    assert_eq!([rows.window_ends(1000), rows.window_ends(2000)], [[0], [0]]);
}

#[test]
fn an_idle_turn_counts_before_it_ends() {
    let mut rows = rows();
    let (start, began) = (1000, idle(1, 0, 0));
    // SAFETY: within the mapping.
    unsafe {
        rows.slot(0, IDLE).write(Slot { histogram: [0; BUCKETS], ..began });
        (*rows.row(0)).task.start = start;
        (*rows.row(0)).task.slot = IDLE as u32;
    }
    let ns = |rows: &mut Rows, now| rows.grown(now).iter().map(|(_, _, slot)| slot.ns).sum::<u64>();
    assert_eq!((ns(&mut rows, 1400), ns(&mut rows, 1500)), (400, 100));
    // SAFETY: within the mapping.
    unsafe {
        rows.slot(0, IDLE).write(idle(1, 520, 520));
        (*rows.row(0)).task.start = 0;
    }
    assert_eq!((ns(&mut rows, 1600), ns(&mut rows, 1700)), (20, 0));
}
