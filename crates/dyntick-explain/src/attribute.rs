// SPDX-License-Identifier: GPL-2.0-only
//! From facts to causes: the first rule that covers a case names its cause.

use crate::case::{Case, Finding, kind_of};
use crate::evidence::{Evidence, Longest};
use crate::facts::Facts;
use crate::intern::Interned;
use crate::interruption::Sent;
use crate::log::Log;
use crate::observer::Observed;
use crate::stack::Slot;
use crate::{CauseId, Chain, Context, Interruption, Kind, Step, rules};
use dyntick_model::{Set, Symbol};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The result for all facts.
pub(crate) struct Attributed {
    /// The interruptions of the window with their causes, in order of time.
    pub interruptions: Vec<Interruption>,
    /// The longest of each CPU without a named origin.
    pub evidence: BTreeMap<u32, Vec<Evidence>>,
}

/// Finds the causes of the interruptions of the window.
pub(crate) fn attribute(context: &Context, observed: Observed) -> Attributed {
    let Observed { facts, log } = observed;
    let mut ticking = Ticking::default();
    facts.iter().for_each(|facts| ticking.note(facts, &kind_of(facts, &log)));
    let mut attribution = Attribution::new(context, ticking.timekeeper(context));
    let mut interruptions =
        Vec::with_capacity(facts.iter().filter(|facts| attribution.is_within(facts)).count());
    // Each is dropped after its interruption is made: all of both would take twice the memory.
    for facts in facts {
        let pending = attribution.interruption(&facts, &kind_of(&facts, &log), &log);
        interruptions.extend(pending.map(Pending::into_interruption));
    }
    Attributed { interruptions, evidence: attribution.into_evidence() }
}

/// A finder of causes, one interruption after another.
pub(crate) struct Attribution<'a> {
    context: &'a Context,
    timekeeper: Option<u32>,
    shared: Shared,
    longest: Longest,
}

impl<'a> Attribution<'a> {
    pub fn new(context: &'a Context, timekeeper: Option<u32>) -> Self {
        Self { context, timekeeper, shared: Shared::default(), longest: Longest::default() }
    }

    fn is_within(&self, facts: &Facts) -> bool {
        (self.context.window.0..self.context.window.1).contains(&facts.start_ns)
    }

    /// Makes an interruption from facts; `None` if they are not in the window.
    pub fn interruption(&mut self, facts: &Facts, kind: &Kind, log: &Log) -> Option<Pending> {
        if !self.is_within(facts) {
            return None;
        }
        let case = Case::new(self.context, log, facts, kind, self.timekeeper);
        let interruption = self.shared.interruption(&case);
        if !rules::get(&interruption.cause).names_origin {
            self.longest.offer(facts, kind);
        }
        Some(Pending { interruption, stack: case.origin().and_then(|origin| origin.stack.clone()) })
    }

    /// Returns the longest interruptions of each CPU without a named origin.
    pub fn into_evidence(self) -> BTreeMap<u32, Vec<Evidence>> {
        self.longest.into_inner()
    }
}

/// An interruption whose stack may still follow. A stack is recorded after the event of its action, and the
/// interruption may already be over by then.
pub(crate) struct Pending {
    pub interruption: Interruption,
    pub stack: Option<Slot>,
}

impl Pending {
    /// Returns true if nothing more can follow.
    pub fn is_complete(&self) -> bool {
        self.stack.as_ref().is_none_or(|stack| stack.get().is_some())
    }

    /// Returns the interruption with the stack, if it has come.
    pub fn now(&mut self) -> &Interruption {
        self.interruption.stack = self.stack.as_ref().and_then(|stack| stack.get().cloned());
        &self.interruption
    }

    /// The interruption.
    pub fn into_interruption(mut self) -> Interruption {
        self.now();
        self.interruption
    }
}

/// The maximum number of causes. A machine has some tens of them; an untrusted trace may name any number, and those
/// beyond the limit are reported as unknown.
const MOST_CAUSES: usize = 1 << 16;

/// The values that many interruptions share.
#[derive(Default)]
struct Shared {
    causes: Set<CauseId>,
    chains: Interned<[Step]>,
    functions: Interned<[Symbol]>,
}

impl Shared {
    fn interruption(&mut self, case: &Case<'_>) -> Interruption {
        let unknown = || Finding { cause: CauseId::of(rules::named::UNKNOWN), chain: Vec::new() };
        let mut finding = rules::detect(case).unwrap_or_else(unknown);
        match self.causes.get(&finding.cause) {
            Some(cause) => finding.cause = cause.clone(), // they share their member's name
            None if self.causes.len() < MOST_CAUSES => _ = self.causes.insert(finding.cause.clone()),
            None => finding = unknown(),
        }
        let (steps, hash) = self.chains.keep(from_the_end(case, finding.chain));
        let functions = functions(case.facts);
        let functions = if functions.is_empty() { Arc::default() } else { self.functions.keep(functions).0 };
        Interruption {
            cpu: case.facts.cpu,
            start_ns: case.facts.start_ns,
            duration_ns: case.facts.duration_ns,
            nested_ns: case.facts.nested_ns,
            kind: case.kind.clone(),
            cause: finding.cause,
            chain: Chain::new(steps, hash),
            functions,
            victim: case.facts.victim.clone(),
            other: case.other().cloned(),
            stack: None,
            sent: case.origin().map(|origin| Sent { cpu: origin.cpu, at_ns: origin.at_ns }),
        }
    }
}

/// A chain that begins at a user's task or a device, if a worker or a thread acted for it.
fn from_the_end(case: &Case<'_>, chain: Vec<Step>) -> Vec<Step> {
    let go_between =
        case.origin().filter(|origin| chain.first().and_then(Step::by) == Some(&(*origin).into()));
    let before = go_between
        .and_then(|origin| origin.behind.as_ref()?.steps(origin, &|task| case.log.is_kernel_thread(task)));
    match before {
        Some(before) => before.into_iter().chain(chain).collect(),
        None => chain,
    }
}

/// The functions that ran, in order. Most interruptions have none and take no time here.
fn functions(facts: &Facts) -> Vec<Symbol> {
    let mut all = Vec::new();
    all.extend(facts.hrtimers.iter().map(|timer| timer.function.clone()));
    all.extend(facts.timers.iter().map(|timer| timer.function.clone()));
    all.extend(facts.called.iter().map(|call| call.function.clone()));
    all.extend(facts.works.iter().map(|work| work.function.clone()));
    all
}

/// The CPUs that tick in idle, and those that stop their tick.
#[derive(Default)]
pub(crate) struct Ticking {
    in_idle: BTreeSet<u32>,
    stopped: BTreeSet<u32>,
}

impl Ticking {
    pub fn note(&mut self, facts: &Facts, kind: &Kind) {
        if *kind == Kind::Tick && facts.victim.pid == 0 {
            self.in_idle.insert(facts.cpu);
        }
        if *kind == Kind::TimerWheel || facts.decision.is_some() {
            self.stopped.insert(facts.cpu);
        }
    }

    /// The timekeeper. With `nohz_full` one CPU keeps the time for all and never stops its tick in idle
    /// (`can_stop_idle_tick`): the lowest housekeeping CPU that ticked in idle and never stopped.
    pub fn timekeeper(&self, context: &Context) -> Option<u32> {
        if context.timekeeper.is_some() || context.nohz_full.is_empty() {
            return context.timekeeper;
        }
        let candidate = |cpu: &u32| self.in_idle.contains(cpu) && !self.stopped.contains(cpu);
        context.cpus.difference(&context.nohz_full).iter().find(candidate)
    }
}
