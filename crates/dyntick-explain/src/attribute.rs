// SPDX-License-Identifier: GPL-2.0-only
//! From facts to causes: the first rule that covers a case names its cause.

use crate::case::{Case, Finding, kind_of};
use crate::facts::{Boxed, Facts};
use crate::observer::Observed;
use crate::{CauseId, Context, Interruption, Kind, evidence, rules};
use dyntick_model::{Event, Symbol};
use std::collections::BTreeSet;

/// The interruptions of the window with their causes, in order of time.
pub(crate) fn attribute(events: &[Event], context: &Context, observed: Observed) -> Vec<Interruption> {
    let Observed { facts, log } = observed;
    let kinds: Vec<Kind> = facts.iter().map(|facts| kind_of(facts, &log)).collect();
    let timekeeper = context.timekeeper.or_else(|| infer_timekeeper(context, &facts, &kinds));
    let within = |facts: &Facts| (context.window.0..context.window.1).contains(&facts.start_ns);
    let mut interruptions = Vec::with_capacity(facts.iter().filter(|facts| within(facts)).count());
    // Each gives way to what is told of it: both of all of them would take twice the memory.
    for (facts, kind) in facts.into_iter().zip(&kinds).filter(|(facts, _)| within(facts)) {
        let case = Case { context, log: &log, facts: &facts, kind, timekeeper };
        interruptions.push(interruption(&case, events));
    }
    interruptions
}

fn interruption(case: &Case<'_>, events: &[Event]) -> Interruption {
    let unknown = || Finding { cause: CauseId::class("unknown"), chain: Vec::new() };
    let finding = rules::all().iter().find_map(|rule| (rule.detect?)(case)).unwrap_or_else(unknown);
    Interruption {
        cpu: case.facts.cpu,
        start_ns: case.facts.start_ns,
        duration_ns: case.facts.duration_ns,
        kind: case.kind.clone(),
        cause: finding.cause,
        chain: finding.chain,
        functions: functions(case.facts),
        victim: case.facts.victim.clone(),
        other: case.other().cloned(),
        evidence: case.facts.events.iter().map(|&index| evidence::describe(&events[index])).collect(),
    }
}

fn functions(facts: &Facts) -> Vec<Symbol> {
    let timers = facts.timers.iter().map(|timer| &timer.function);
    let hrtimers = facts.hrtimers.iter().map(|timer| &timer.function);
    let called = facts.called.iter().map(|call| &call.function);
    let all = hrtimers.chain(timers).chain(called).chain(facts.works.iter().map(|work| &work.function));
    all.cloned().collect()
}

/// With `nohz_full` one CPU keeps the time for all and never stops its tick in idle
/// (`can_stop_idle_tick`): the lowest housekeeping CPU that ticked in idle and never stopped.
fn infer_timekeeper(context: &Context, facts: &[Boxed], kinds: &[Kind]) -> Option<u32> {
    if context.nohz_full.is_empty() {
        return None;
    }
    let (mut ticked_in_idle, mut stopped) = (BTreeSet::new(), BTreeSet::new());
    for (facts, kind) in facts.iter().zip(kinds) {
        if *kind == Kind::Tick && facts.victim.pid == 0 {
            ticked_in_idle.insert(facts.cpu);
        }
        if *kind == Kind::TimerWheel || facts.decision.is_some() {
            stopped.insert(facts.cpu);
        }
    }
    let candidate = |cpu: &u32| ticked_in_idle.contains(cpu) && !stopped.contains(cpu);
    context.cpus.difference(&context.nohz_full).iter().find(candidate)
}
