// SPDX-License-Identifier: GPL-2.0-only
//! Counts events and interruptions into summaries.

use crate::{CauseCount, CauseId, Context, Interruption, Kind, Summary, TickStopCount, names, rules};
use dyntick_model::{Event, EventKind, Symbol, TickDependency, Vector};
use std::collections::BTreeMap;

/// One summary for each CPU of the context, in order.
pub(crate) fn summarise(events: &[Event], context: &Context, interruptions: &[Interruption]) -> Vec<Summary> {
    let mut tallies: BTreeMap<u32, Tally> = context.cpus.iter().map(|cpu| (cpu, Tally::default())).collect();
    let (from, to) = context.window;
    for event in events.iter().filter(|event| (from..to).contains(&event.ts)) {
        if let Some(tally) = tallies.get_mut(&event.cpu) {
            tally.count_event(&event.kind);
        }
    }
    for interruption in interruptions {
        if let Some(tally) = tallies.get_mut(&interruption.cpu) {
            tally.count_interruption(interruption);
        }
    }
    tallies.into_iter().map(|(cpu, tally)| tally.finish(cpu, context)).collect()
}

#[derive(Default)]
struct Tally {
    summary: Summary,
    causes: BTreeMap<CauseId, CauseTally>,
    tick_stops: BTreeMap<(bool, TickDependency), u64>,
    unattributed_ns: u64,
}

#[derive(Default)]
struct CauseTally {
    count: u64,
    ticks: u64,
    total_ns: u64,
    longest_ns: u64,
    functions: BTreeMap<Symbol, u64>,
    /// By whether it is that of a tick, and the chain.
    chains: BTreeMap<(bool, Vec<String>), u64>,
}

impl Tally {
    fn count_event(&mut self, kind: &EventKind) {
        let summary = &mut self.summary;
        let count = |map: &mut BTreeMap<Symbol, u64>, symbol: &Symbol| {
            *map.entry(names::function(symbol)).or_default() += 1;
        };
        match kind {
            EventKind::HrtimerEntry { function, .. } => count(&mut summary.hrtimers, function),
            EventKind::TimerEntry { function, .. } => count(&mut summary.timers, function),
            EventKind::WorkStart { function, .. } => count(&mut summary.works, function),
            EventKind::CsdEntry { function } => count(&mut summary.called_functions, function),
            EventKind::IrqEntry { name, .. } => *summary.devices.entry(name.clone()).or_default() += 1,
            EventKind::SoftirqEntry { softirq } => *summary.softirqs.entry(*softirq).or_default() += 1,
            EventKind::VectorEntry { vector } => *summary.vectors.entry(*vector).or_default() += 1,
            EventKind::SchedSwitch { .. } => summary.context_switches += 1,
            EventKind::TickStop { success, dependency } => {
                *self.tick_stops.entry((*success, *dependency)).or_default() += 1;
            }
            _ => {}
        }
    }

    fn count_interruption(&mut self, interruption: &Interruption) {
        let summary = &mut self.summary;
        let is_tick = u64::from(interruption.kind == Kind::Tick);
        summary.interruptions += 1;
        summary.interrupted_ns = summary.interrupted_ns.saturating_add(interruption.duration_ns);
        summary.ticks += is_tick;
        summary.local_timer += u64::from(interruption.kind.is_local_timer());
        *summary.by_kind.entry(interruption.kind.name().to_owned()).or_default() += 1;
        if !rules::get(&interruption.cause).names_origin {
            summary.unattributed += 1;
            self.unattributed_ns = self.unattributed_ns.saturating_add(interruption.duration_ns);
        }
        let cause = self.causes.entry(interruption.cause.clone()).or_default();
        cause.count += 1;
        cause.ticks += is_tick;
        cause.total_ns = cause.total_ns.saturating_add(interruption.duration_ns);
        cause.longest_ns = cause.longest_ns.max(interruption.duration_ns);
        for function in &interruption.functions {
            *cause.functions.entry(function.clone()).or_default() += 1;
        }
        *cause.chains.entry((is_tick == 1, interruption.chain.clone())).or_default() += 1;
    }

    fn finish(self, cpu: u32, context: &Context) -> Summary {
        let mut summary = self.summary;
        summary.cpu = cpu;
        summary.seconds = context.seconds();
        // Interrupts are counted where they enter, even if the begin of the window cut one in two.
        summary.local_timer =
            summary.vectors.get(&Vector::LocalTimer).copied().unwrap_or(summary.local_timer);
        summary.ticks_per_second = ratio(summary.ticks as f64, summary.seconds);
        summary.share_of_hz = ratio(summary.ticks_per_second, f64::from(context.hz));
        summary.local_timer_per_second = ratio(summary.local_timer as f64, summary.seconds);
        summary.unattributed_share = ratio(summary.unattributed as f64, summary.interruptions as f64);
        summary.unattributed_time_share = ratio(self.unattributed_ns as f64, summary.interrupted_ns as f64);
        summary.tick_stops = self
            .tick_stops
            .into_iter()
            .map(|((success, dependency), count)| TickStopCount { success, dependency, count })
            .collect();
        summary.by_cause = self.causes.into_iter().map(|(cause, tally)| tally.finish(cause)).collect();
        summary.by_cause.sort_by_key(|cause| std::cmp::Reverse(cause.count));
        summary
    }
}

impl CauseTally {
    fn finish(self, cause: CauseId) -> CauseCount {
        let Self { count, ticks, total_ns, longest_ns, functions, chains } = self;
        let chain = chains.into_iter().max_by_key(|((of_tick, _), count)| (*of_tick, *count));
        let chain = chain.map(|((_, chain), _)| chain).unwrap_or_default();
        CauseCount { cause, count, ticks, total_ns, longest_ns, functions, chain }
    }
}

/// A quotient that is 0 where there is nothing to divide by.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
