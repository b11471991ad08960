// SPDX-License-Identifier: GPL-2.0-only
//! The explanation of events one after another. It keeps only open interruptions in memory, and passes each one on as
//! soon as its cause is known. The causes are the same as those of [`crate::explain`].

use crate::attribute::{Attribution, Pending, Ticking};
use crate::case::{awaited_worker, kind_of};
use crate::facts::{Boxed, Facts};
use crate::log::Log;
use crate::observer::{Observer, is_tick_start};
use crate::tally::Tallies;
use crate::{Context, Explanation, Interruption, Kind};
use dyntick_model::{CpuList, Event, EventKind, Map};
use std::collections::VecDeque;

/// The maximum number of interruptions that wait for the work item of a worker. Beyond it, e.g. if workers are starved,
/// they are explained without it.
const MOST_WAITING: usize = 1 << 14;

/// The facts from all events that are needed before the first interruption is explained.
#[derive(Clone, Debug, Default)]
pub struct Foreknown {
    starts_recorded: bool,
    timekeeper: Option<u32>,
    itimers: Map<i32, u32>,
}

impl Foreknown {
    /// Returns true if an event shows that the starts of tick timers are recorded. The first such event decides.
    pub fn tells_starts(event: &Event) -> bool {
        is_tick_start(event)
    }
}

/// A pass over all events before they are explained, which is only necessary if [`Survey::is_needed`].
pub struct Survey<'a> {
    context: &'a Context,
    observer: Observer,
    starts_recorded: bool,
    ticking: Ticking,
    done: Vec<Boxed>,
}

impl<'a> Survey<'a> {
    /// Returns true if the result of a [`Survey`] has any effect: it is about nohz_full CPUs.
    pub fn is_needed(context: &Context) -> bool {
        !context.nohz_full.is_empty()
    }

    /// The facts that are known without it.
    pub fn unneeded(context: &Context, starts_recorded: bool) -> Foreknown {
        Foreknown { starts_recorded, timekeeper: context.timekeeper, itimers: Map::default() }
    }

    /// Creates a survey of events of these CPUs. `starts_recorded` is true if any of them
    /// shows it ([`Foreknown::tells_starts`]).
    pub fn new(context: &'a Context, cpus: &CpuList, starts_recorded: bool) -> Self {
        let log = Log::forgetful(context, Map::default());
        let observer = Observer::new(cpus.iter(), starts_recorded, log, context);
        Self { context, observer, starts_recorded, ticking: Ticking::default(), done: Vec::new() }
    }

    /// Applies the next event.
    pub fn event(&mut self, event: &Event) {
        self.observer.step(event, &mut self.done);
        self.settle();
    }

    /// Returns the facts, at the end of the events.
    pub fn finish(mut self) -> Foreknown {
        self.observer.finish(&mut self.done);
        self.settle();
        Foreknown {
            starts_recorded: self.starts_recorded,
            timekeeper: self.ticking.timekeeper(self.context),
            itimers: self.observer.log.into_itimers(),
        }
    }

    fn settle(&mut self) {
        for facts in self.done.drain(..) {
            self.ticking.note(&facts, &kind_of(&facts, &self.observer.log));
        }
    }
}

/// An explanation of events as they come.
pub struct Stream<'a> {
    context: &'a Context,
    observer: Observer,
    attribution: Attribution<'a>,
    tallies: Tallies,
    done: Vec<Boxed>,
    waiting: Waiting,
    /// The interruptions whose stacks may follow, with the time until which they may.
    late: VecDeque<(u64, Pending)>,
}

/// The longest time from an event to its stack, ns, in which the kernel unwinds it.
const STACK_FOLLOWS_NS: u64 = 1_000_000;

impl<'a> Stream<'a> {
    /// Creates an explanation of events of these CPUs.
    pub fn new(context: &'a Context, cpus: &CpuList, foreknown: Foreknown) -> Self {
        let Foreknown { starts_recorded, timekeeper, itimers } = foreknown;
        let log = Log::forgetful(context, itimers);
        Self {
            context,
            observer: Observer::new(cpus.iter(), starts_recorded, log, context),
            attribution: Attribution::new(context, timekeeper),
            tallies: Tallies::new(context),
            done: Vec::new(),
            waiting: Waiting::default(),
            late: VecDeque::new(),
        }
    }

    /// Applies the next event, and passes on the interruptions whose causes it makes known, in no order of time.
    pub fn event(&mut self, event: &Event, each: &mut dyn FnMut(&Interruption)) {
        self.tallies.event(event);
        self.observer.step(event, &mut self.done);
        if let EventKind::WorkStart { .. } = event.kind {
            self.waiting.take(event.pid, &mut self.done);
        }
        while self.late.front().is_some_and(|(until, pending)| *until < event.ts || pending.is_complete()) {
            self.late.pop_front().into_iter().for_each(|(_, mut pending)| each(pending.now()));
        }
        let mut done = std::mem::take(&mut self.done);
        for facts in done.drain(..) {
            let kind = kind_of(&facts, &self.observer.log);
            match awaited_worker(&facts, &kind, &self.observer.log) {
                Some(worker) => self.waiting.add(worker, facts),
                None => self.explain(&facts, &kind, each),
            }
        }
        self.done = done; // its memory is used again
        if self.waiting.count > MOST_WAITING {
            self.explain_waiting(each);
        }
    }

    /// Passes on the other interruptions, at the end of the events. Returns the sums, without interruptions.
    pub fn finish(mut self, each: &mut dyn FnMut(&Interruption)) -> Explanation {
        self.observer.finish(&mut self.done);
        for facts in std::mem::take(&mut self.done) {
            self.explain(&facts, &kind_of(&facts, &self.observer.log), each);
        }
        self.explain_waiting(each);
        self.late.drain(..).for_each(|(_, mut pending)| each(pending.now()));
        Explanation {
            interruptions: Vec::new(),
            per_cpu: self.tallies.finish(self.context),
            evidence: self.attribution.into_evidence(),
        }
    }

    fn explain_waiting(&mut self, each: &mut dyn FnMut(&Interruption)) {
        for facts in std::mem::take(&mut self.waiting).all() {
            self.explain(&facts, &kind_of(&facts, &self.observer.log), each);
        }
    }

    fn explain(&mut self, facts: &Facts, kind: &Kind, each: &mut dyn FnMut(&Interruption)) {
        let Some(mut pending) = self.attribution.interruption(facts, kind, &self.observer.log) else {
            return;
        };
        self.tallies.interruption(&pending.interruption);
        if pending.is_complete() {
            each(pending.now())
        } else {
            self.late.push_back((
                facts.start_ns.saturating_add(facts.duration_ns).saturating_add(STACK_FOLLOWS_NS),
                pending,
            ))
        }
    }
}

/// The interruptions that wait for a worker's work item, by worker.
#[derive(Default)]
struct Waiting {
    by_worker: Map<i32, Vec<Boxed>>,
    count: usize,
}

impl Waiting {
    fn add(&mut self, worker: i32, facts: Boxed) {
        self.by_worker.entry(worker).or_default().push(facts);
        self.count += 1;
    }

    fn take(&mut self, worker: i32, to: &mut Vec<Boxed>) {
        let own = self.by_worker.remove(&worker).unwrap_or_default();
        self.count -= own.len();
        to.extend(own);
    }

    fn all(self) -> impl Iterator<Item = Boxed> {
        self.by_worker.into_values().flatten()
    }
}
