// SPDX-License-Identifier: GPL-2.0-only
//! The counts of events and interruptions, which become summaries.

use crate::{CauseCount, CauseId, Chain, Context, Interruption, Kind, Summary, TickStopCount, names, rules};
use dyntick_model::{Event, EventKind, Interrupt, Map, Symbol, TickDependency};
use std::collections::BTreeMap;

/// Returns a summary of each CPU of the context, in order.
pub(crate) fn summarise(events: &[Event], context: &Context, interruptions: &[Interruption]) -> Vec<Summary> {
    let mut tallies = Tallies::new(context);
    events.iter().for_each(|event| tallies.event(event));
    interruptions.iter().for_each(|interruption| tallies.interruption(interruption));
    tallies.finish(context)
}

/// The counts of the CPUs of a context.
pub(crate) struct Tallies {
    by_cpu: BTreeMap<u32, Tally>,
    window: (u64, u64),
}

impl Tallies {
    pub fn new(context: &Context) -> Self {
        let by_cpu = context.cpus.iter().map(|cpu| (cpu, Tally::default())).collect();
        Self { by_cpu, window: context.window }
    }

    /// Counts an event, if it is in the window.
    pub fn event(&mut self, event: &Event) {
        if (self.window.0..self.window.1).contains(&event.ts) {
            if let Some(tally) = self.by_cpu.get_mut(&event.cpu) {
                tally.count_event(&event.kind);
            }
        }
    }

    /// Counts an interruption of the window.
    pub fn interruption(&mut self, interruption: &Interruption) {
        if let Some(tally) = self.by_cpu.get_mut(&interruption.cpu) {
            tally.count_interruption(interruption);
        }
    }

    pub fn finish(self, context: &Context) -> Vec<Summary> {
        self.by_cpu.into_iter().map(|(cpu, tally)| tally.finish(cpu, context)).collect()
    }
}

#[derive(Default)]
struct Tally {
    summary: Summary,
    /// The counts by the index of the kind.
    by_kind: [u64; Kind::NAMES.len()],
    causes: Map<CauseId, CauseTally>,
    tick_stops: BTreeMap<(bool, TickDependency), u64>,
    unattributed_ns: u64,
}

#[derive(Default)]
struct CauseTally {
    count: u64,
    interruptions: u64,
    ticks: u64,
    total_ns: u64,
    longest_ns: u64,
    functions: Map<Symbol, u64>,
    /// The counts by chain, separately for ticks.
    chains: Map<(bool, Chain), u64>,
}

fn count(map: &mut BTreeMap<Symbol, u64>, symbol: &Symbol) {
    *map.entry(names::function(symbol)).or_default() += 1;
}

impl Tally {
    fn count_event(&mut self, kind: &EventKind) {
        let summary = &mut self.summary;
        match kind {
            EventKind::HrtimerEntry { function, .. } => count(&mut summary.hrtimers, function),
            EventKind::TimerEntry { function, .. } => count(&mut summary.timers, function),
            EventKind::WorkStart { function, .. } => count(&mut summary.works, function),
            EventKind::CsdEntry { function } => count(&mut summary.called_functions, function),
            EventKind::IrqEntry { name, .. } => *summary.devices.entry(name.clone()).or_default() += 1,
            EventKind::SoftirqEntry { softirq } => *summary.softirqs.entry(*softirq).or_default() += 1,
            EventKind::InterruptEntry { source: vector } => *summary.vectors.entry(*vector).or_default() += 1,
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
        let ns = interruption.duration_ns;
        match interruption.kind {
            Kind::PageFault { .. } => summary.page_faults += 1,
            Kind::OtherTask => {
                summary.other_tasks += 1;
                summary.other_tasks_ns = summary.other_tasks_ns.saturating_add(ns);
            }
            Kind::CommandTask => {
                summary.command_tasks += 1;
                summary.command_tasks_ns = summary.command_tasks_ns.saturating_add(ns);
            }
            _ => {
                summary.interruptions += 1;
                summary.interrupted_ns = summary.interrupted_ns.saturating_add(ns);
            }
        }
        let is_interruption = interruption.kind.is_interruption();
        summary.ticks += is_tick;
        summary.local_timer += u64::from(interruption.kind.is_local_timer());
        self.by_kind[interruption.kind.place()] += 1;
        if is_interruption && !rules::get(&interruption.cause).names_origin {
            summary.unattributed += 1;
            self.unattributed_ns = self.unattributed_ns.saturating_add(ns);
        }
        let cause = self.causes.entry(interruption.cause.clone()).or_default();
        cause.count += 1;
        cause.interruptions += u64::from(is_interruption);
        cause.ticks += is_tick;
        cause.total_ns = cause.total_ns.saturating_add(ns);
        cause.longest_ns = cause.longest_ns.max(ns);
        for function in &*interruption.functions {
            *cause.functions.entry(function.clone()).or_default() += 1;
        }
        cause.count_chain((is_tick == 1, interruption.chain.clone()));
    }

    fn finish(self, cpu: u32, context: &Context) -> Summary {
        let mut summary = self.summary;
        summary.cpu = cpu;
        summary.seconds = context.seconds();
        // Interrupts are counted at their entry, even if the window begins within one.
        summary.local_timer = summary.vectors.get(&Interrupt::Timer).copied().unwrap_or(summary.local_timer);
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
        let by_kind = Kind::NAMES.into_iter().zip(self.by_kind).filter(|(_, count)| *count > 0);
        summary.by_kind = by_kind.map(|(kind, count)| (kind.to_owned(), count)).collect();
        summary.by_cause = self.causes.into_iter().map(|(cause, tally)| tally.finish(cause)).collect();
        summary.by_cause.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.cause.cmp(&b.cause)));
        summary
    }
}

/// The maximum number of different chains of a cause; beyond it the rarest are dropped.
const MOST_CHAINS: usize = 1 << 13;

impl CauseTally {
    fn count_chain(&mut self, chain: (bool, Chain)) {
        if let Some(count) = self.chains.get_mut(&chain) {
            *count += 1;
            return;
        }
        if self.chains.len() == MOST_CHAINS {
            let mut counts: Vec<u64> = self.chains.values().copied().collect();
            let median = *counts.select_nth_unstable(MOST_CHAINS / 2).1;
            self.chains.retain(|_, count| *count > median);
        }
        self.chains.insert(chain, 1);
    }

    fn finish(self, cause: CauseId) -> CauseCount {
        let Self { count, interruptions, ticks, total_ns, longest_ns, functions, chains } = self;
        let most = chains.iter().map(|((of_tick, _), count)| (*of_tick, *count)).max();
        let foremost = chains.into_iter().filter(|((of_tick, _), count)| most == Some((*of_tick, *count)));
        // Of several it is the last in the order of their texts, which is an order that users can see.
        let functions = functions.into_iter().collect();
        let chain = foremost.map(|((_, chain), _)| chain).max_by_key(Chain::texts).unwrap_or_default();
        CauseCount { cause, count, interruptions, ticks, total_ns, longest_ns, functions, chain }
    }
}

/// The quotient, or 0 if the divisor is 0.
fn ratio(part: f64, total: f64) -> f64 {
    if total > 0.0 { part / total } else { 0.0 }
}
