// SPDX-License-Identifier: GPL-2.0-only
//! Late wake-ups and why they were: a ring of events beside the measurement, read after each of them.

use super::arguments::Arguments;
use dyntick_latency::{Counts, Late, Other, Plan, Question, Shared, Story};
use dyntick_model::CpuList;
use dyntick_model::text::clean_line;
use dyntick_observe::cpuidle;
use dyntick_observe::facts::Policy;
use dyntick_record::{Flight, FlightRecorder, Named, Options, PrintedFix, Record, RecordError, fixes};
use serde::Serialize;
use std::collections::BTreeMap;

/// How much each CPU remembers, KiB: some thousands of events.
const BUFFER_KIB: u32 = 512;

/// Looks for late wake-ups and keeps what the ring has of them.
pub struct Why {
    recorder: Option<FlightRecorder>,
    flights: Vec<Flight>,
    /// For each late wake-up in its order, in which flight it is.
    within: Vec<usize>,
    broke_within: Option<usize>,
    /// Why there is no story, where there is none.
    refused: Option<String>,
}

/// A late wake-up that was explained.
#[derive(Serialize)]
pub struct Told {
    pub thread: usize,
    pub cpu: Option<u32>,
    pub cycle: u64,
    pub due_ns: u64,
    pub woke_ns: u64,
    pub latency_ns: u64,
    /// What the CPU did from the due time on; none where the trace does not have it.
    pub story: Option<Story>,
    /// What fixes the first cause.
    pub fixes: Vec<PrintedFix>,
}

impl Why {
    /// Starts recording, if causes are asked for. Where that is refused it is said, and the rest goes on.
    pub fn start(arguments: &Arguments, plan: &Plan) -> Option<Self> {
        let breaks = plan.break_above.is_some() && !arguments.tracemark;
        if arguments.why.is_none() && !breaks {
            return None;
        }
        let options = Options { buffer_kib: BUFFER_KIB, ..Options::new(plan.measured()) };
        let (recorder, refused) = match FlightRecorder::start(options) {
            Ok(recorder) => (Some(recorder), None),
            Err(error) => (None, Some(needs(&error))),
        };
        let (flights, within) = (Vec::new(), Vec::new());
        Some(Self { recorder, flights, within, broke_within: None, refused })
    }

    /// Why nothing can be told of late wake-ups.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Reads the ring if a wake-up was late since the last time.
    pub fn look(&mut self, shared: &Shared) {
        let late = shared.lates.kept().len();
        let broke = !shared.broke.kept().is_empty() && self.broke_within.is_none();
        let (true, Some(recorder)) = (late > self.within.len() || broke, &mut self.recorder) else { return };
        match recorder.take() {
            Ok(flight) => {
                self.within.resize(late, self.flights.len());
                self.broke_within = self.broke_within.or(broke.then_some(self.flights.len()));
                self.flights.push(flight);
            }
            Err(error) => (self.refused, self.recorder) = (Some(error.to_string()), None),
        }
    }

    /// All late wake-ups that are kept, with their stories.
    pub fn tell(mut self, plan: &Plan, shared: &Shared) -> (Vec<Told>, Option<String>) {
        self.look(shared);
        let flights = std::mem::take(&mut self.flights);
        let records = match self.recorder.take().map(|recorder| recorder.finish(flights)) {
            Some(Ok(records)) => records,
            Some(Err(error)) => {
                self.refused = Some(error.to_string());
                Vec::new()
            }
            None => Vec::new(),
        };
        let rooms: Vec<Option<Room>> = records.iter().map(Room::of).collect();
        let room = |within: Option<&usize>| rooms.get(*within?)?.as_ref();
        let mut told: Vec<Told> = Vec::new();
        let lates = shared.lates.kept().into_iter().enumerate().map(|(n, late)| (late, self.within.get(n)));
        let broke = shared.broke.kept().into_iter().map(|late| (late, self.broke_within.as_ref()));
        for (late, within) in lates.chain(broke) {
            if told.iter().all(|one| (one.thread, one.cycle) != (late.thread, late.cycle)) {
                told.push(tell(plan, &shared.threads[late.thread], late, room(within)));
            }
        }
        (told, self.refused)
    }
}

fn needs(error: &RecordError) -> String {
    format!("{error} (without root: CAP_SYS_ADMIN, or rights to /sys/kernel/tracing)")
}

/// A record, read and explained.
struct Room<'a> {
    record: &'a Record,
    events: Vec<dyntick_model::Event>,
    interruptions: Vec<dyntick_explain::Interruption>,
    threads: BTreeMap<i32, Other>,
}

impl<'a> Room<'a> {
    fn of(record: &'a Record) -> Option<Self> {
        let events = record.recording.decode().ok()?.events;
        let interruptions = record.explain().ok()?.explanation.interruptions;
        let other = |thread: &dyntick_observe::facts::Thread| {
            let real_time = matches!(thread.policy, Policy::Fifo | Policy::RoundRobin);
            // SCHED_DEADLINE goes before every real-time priority.
            let priority = match thread.policy {
                Policy::Deadline => 100,
                _ if real_time => thread.priority,
                _ => 0,
            };
            Other { comm: thread.comm.as_str().into(), priority }
        };
        let mut threads: BTreeMap<i32, Other> =
            record.about.threads.iter().map(|(number, thread)| (*number, other(thread))).collect();
        // Threads that have ended are known to events only.
        for event in &events {
            if let dyntick_model::EventKind::SchedSwitch { next, next_comm, .. } = &event.kind {
                threads.entry(*next).or_insert_with(|| Other { comm: next_comm.clone(), priority: 0 });
            }
        }
        Some(Self { record, events, interruptions, threads })
    }
}

fn tell(plan: &Plan, counts: &Counts, late: Late, room: Option<&Room<'_>>) -> Told {
    let own = plan.threads[late.thread];
    let cpu = own.cpu;
    let story = cpu.zip(room).and_then(|(cpu, room)| {
        let states = cpuidle::read(&CpuList::from_iter([cpu])).remove(&cpu).unwrap_or_default();
        let states: Vec<(String, u64)> =
            states.into_iter().map(|state| (state.name, state.latency_us)).collect();
        Story::tell(&Question {
            cpu,
            tid: counts.tid(),
            priority: own.priority,
            due_ns: late.due_ns,
            woke_ns: late.woke_ns,
            events: &room.events,
            interruptions: &room.interruptions,
            idle_states: &states,
            threads: &room.threads,
        })
    });
    let top = story.as_ref().and_then(Story::top).zip(cpu.zip(room));
    let fixes =
        top.map_or_else(Vec::new, |(top, (cpu, room))| fixes(room.record, cpu, &top.cause, Named::default()));
    Told {
        thread: late.thread,
        cpu,
        cycle: late.cycle,
        due_ns: late.due_ns,
        woke_ns: late.woke_ns,
        latency_ns: late.latency_ns(),
        story,
        fixes,
    }
}

/// The stories as lines that every reader of cyclictest's output takes for comments.
pub fn text(told: &[Told], count: usize) -> String {
    let mut lines = Vec::new();
    for one in told {
        one_text(one, &mut lines);
    }
    if count > told.len() {
        lines.push(format!("{} more wake-ups were late (--why-max)", count - told.len()));
    }
    lines.iter().map(|line| clean_line(&format!("# {line}")).trim_end().to_owned() + "\n").collect()
}

fn one_text(told: &Told, lines: &mut Vec<String>) {
    let at = told.due_ns;
    lines.push(String::new());
    lines.push(format!(
        "Late: thread {} on CPU {} by {} µs, due at {}.{:06} s, wake-up {}",
        told.thread,
        told.cpu.map_or("?".to_owned(), |cpu| cpu.to_string()),
        us(told.latency_ns),
        at / 1_000_000_000,
        at % 1_000_000_000 / 1000,
        told.cycle
    ));
    let Some(story) = &told.story else {
        return lines.push("  not in the trace: it was overwritten before it was read".to_owned());
    };
    lines.push("        due +      took µs".to_owned());
    for step in &story.steps {
        lines.push(format!("  {:>9} {:>12}  {}", us(step.at_ns), us(step.ns), step.text));
    }
    let share = |share: &dyntick_latency::Share| {
        format!("{:>9} µs  {}", us(share.ns), dyntick_explain::rules::title(&share.cause))
    };
    lines.push("  By cause:".to_owned());
    lines.extend(story.causes.iter().map(|one| format!("  {}", share(one))));
    if let Some(top) = story.top() {
        lines.extend(top.chain.iter().map(|link| format!("  Why: {link}")));
        lines.extend(told.fixes.first().map(|fix| format!("  Fix: {} — {}", fix.setting, fix.effect)));
    }
    lines.push(format!("  Unattributed: {} µs of {} µs", us(story.unattributed_ns()), us(told.latency_ns)));
}

fn us(ns: u64) -> String {
    format!("{}.{}", ns / 1000, ns % 1000 / 100)
}
