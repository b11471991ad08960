// SPDX-License-Identifier: GPL-2.0-only
//! A record with late wake-ups, read and explained.

use super::WakeUp;
use crate::ledger::limit;
use crate::{Record, fixes};
use dyntick_explain::fixes::{Named, PrintedFix};
use dyntick_explain::late::{Other, Question, Story};
use dyntick_explain::{Interruption, throttles_threads};
use dyntick_model::{CpuList, Event, EventKind};
use dyntick_observe::cpuidle;
use dyntick_observe::facts::{Policy, Thread};
use std::collections::BTreeMap;

/// The priority of SCHED_DEADLINE, which preempts every real-time priority.
const BEFORE_REAL_TIME: u32 = 100;

/// The events of a record with their interruptions.
pub(super) struct Scene<'a> {
    record: &'a Record,
    events: Vec<Event>,
    interruptions: Vec<Interruption>,
    threads: BTreeMap<i32, Other>,
}

impl<'a> Scene<'a> {
    /// Reads a record; `None` if that fails.
    pub fn of(record: &'a Record) -> Option<Self> {
        let decoded = record.trace.decode().ok()?;
        let interruptions = record.interruptions(&decoded);
        let threads = threads(&record.about.threads, &decoded.events);
        Some(Self { record, events: decoded.events, interruptions, threads })
    }

    /// Explains a late wake-up, with the fixes of its first cause; `None` if the events of that time were overwritten.
    pub fn explain(&self, wake_up: &WakeUp) -> Option<(Story, Vec<PrintedFix>)> {
        let cpu = wake_up.cpu?;
        let about = &self.record.about;
        // Measuring threads have ended; they are of the process that records.
        let process = about.threads.get(&wake_up.tid).map(|thread| thread.process).or(about.recorder);
        let quotas = process.and_then(|process| about.owners.limits.get(&process)).into_iter().flatten();
        let limits: Vec<u64> = quotas.map(|quota| quota.number).collect();
        let story = Story::of(&Question {
            cpu,
            tid: wake_up.tid,
            priority: wake_up.priority,
            due_ns: wake_up.due_ns,
            woke_ns: wake_up.woke_ns,
            events: &self.events,
            interruptions: &self.interruptions,
            idle_states: &idle_states(cpu),
            threads: &self.threads,
            limits: &limits,
            no_real_time_limit: about.machine.settings.no_real_time_limit,
            throttles_threads: throttles_threads(&about.machine.kernel),
        })?;
        let quota = process.and_then(|process| about.owners.quota(process)).map(limit);
        let named = Named { quota, ..Named::default() };
        let fixes = story.top().map(|top| fixes(about, cpu, &top.cause, &named));
        Some((story, fixes.unwrap_or_default()))
    }
}

/// The idle states of a CPU: name and exit latency, us.
fn idle_states(cpu: u32) -> Vec<(String, u64)> {
    let states = cpuidle::read(&CpuList::from_iter([cpu])).remove(&cpu).unwrap_or_default();
    states.into_iter().map(|state| (state.name, state.latency_us)).collect()
}

/// The known facts of threads; those that have ended are known by events only.
fn threads(seen: &BTreeMap<i32, Thread>, events: &[Event]) -> BTreeMap<i32, Other> {
    let mut threads: BTreeMap<i32, Other> =
        seen.iter().map(|(number, thread)| (*number, other(thread))).collect();
    for event in events {
        if let EventKind::SchedSwitch { next, next_comm, .. } = &event.kind {
            threads.entry(*next).or_insert_with(|| Other { comm: next_comm.clone(), priority: 0 });
        }
    }
    threads
}

fn other(thread: &Thread) -> Other {
    let priority = match thread.policy {
        Policy::Deadline => BEFORE_REAL_TIME,
        Policy::Fifo | Policy::RoundRobin => thread.priority,
        _ => 0,
    };
    Other { comm: thread.comm.as_str().into(), priority }
}
