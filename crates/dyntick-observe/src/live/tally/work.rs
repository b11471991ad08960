// SPDX-License-Identifier: GPL-2.0-only
//! The time of work items: while their kworkers ran, so that it is a part of the kworkers' (`work.h` of `dyntick-bpf`).

use super::{Cpu, Open, What};
use crate::live::Key;
use dyntick_model::{Event, Symbol};

/// A work item that runs, or whose kworker was switched out.
#[derive(Clone, Copy)]
pub(super) struct Work {
    /// Since its kworker was switched to, or what of it was read since.
    open: Open,
    worker: u32,
    /// The time that it ran before that, ns.
    ran_ns: u64,
}

impl Cpu {
    /// Begins a work item. It is counted without its time if the time slice of its kworker is not known: that time
    /// would be more than the kworker's.
    pub(super) fn work_begins(&mut self, event: &Event, work: u64, function: &Symbol, with_switches: bool) {
        let worker = event.pid as u32;
        let key = Key::Work { function: function.clone() };
        let open = self.begin(event.ts, What::Key(key), work);
        let is_in_a_turn = self.task.as_ref().map_or(self.busy, |turn| turn.thread == worker);
        let open = open.filter(|_| is_in_a_turn || !with_switches);
        self.work = open.map(|open| Work { open, worker, ran_ns: 0 });
    }

    pub(super) fn work_ends(&mut self, ts: u64, work: u64) {
        let Some(ended) = self.work.take_if(|open| open.open.what == work) else { return };
        let ns = ended.ran_ns + self.passed(ts, ended.open.since);
        let count = &mut self.table.places[ended.open.place].count;
        count.took(ns);
        count.ns -= ended.ran_ns;
    }

    /// Has what it ran up to now in the time that is read.
    pub(super) fn work_lasts(&mut self, now: u64) {
        let Some(mut work) = self.work.take() else { return };
        let ns = self.passed(now, work.open.since);
        self.table.places[work.open.place].count.ns += ns;
        work.ran_ns += ns;
        work.open.since = self.now(now);
        self.work = Some(work);
    }

    pub(super) fn pause_work(&mut self, ts: u64, worker: u32, comm: &Symbol) {
        let Some(mut work) = self.work.take_if(|work| work.worker == worker) else { return };
        let ns = self.passed(ts, work.open.since);
        self.table.places[work.open.place].count.ns += ns;
        work.ran_ns += ns;
        // One of an unbound workqueue may end the work item on another CPU, which is not known here.
        if is_bound(comm) {
            self.paused.insert(worker, work);
        }
    }

    pub(super) fn resume_work(&mut self, ts: u64, worker: u32) {
        let Some(mut work) = self.paused.remove(&worker) else { return };
        work.open.since = self.now(ts);
        self.work = Some(work);
    }
}

/// Returns true if a kworker has one CPU only, by its name (`create_worker` in `kernel/workqueue.c`:
/// `kworker/CPU:ID`, or `kworker/uPOOL:ID`).
fn is_bound(comm: &str) -> bool {
    comm.strip_prefix("kworker/").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}
