// SPDX-License-Identifier: GPL-2.0-only
//! The sums of interruptions, added up one after another. Memory grows with the number of causes and chains, not with
//! that of interruptions.

use dyntick_explain::fixes::NamedCounts;
use dyntick_explain::{CauseId, Chain, Interruption, Kind, Stack, rules};
use dyntick_model::{Map, Symbol};
use dyntick_stats::Histogram;
use std::collections::BTreeMap;
use std::hash::Hash;

/// The sums of each recorded CPU.
#[derive(Debug, Default)]
pub(crate) struct Sums(BTreeMap<u32, CpuSums>);

/// The sums of one CPU.
#[derive(Debug, Default)]
pub(crate) struct CpuSums {
    pub causes: Map<CauseId, CauseSums>,
    /// The time of interruptions without a named origin, ns.
    pub unnamed_ns: u64,
}

/// The sums of one cause.
#[derive(Debug, Default)]
pub(crate) struct CauseSums {
    pub count: u64,
    pub interruptions: u64,
    pub page_faults: u64,
    /// The time slices of the command's own tasks, and their time, ns.
    pub command_tasks: u64,
    pub command_ns: u64,
    pub ticks: u64,
    pub total_ns: u64,
    /// The time of the interruptions among them, ns.
    pub interrupted_ns: u64,
    /// True if some have no duration.
    pub untimed: bool,
    pub durations: Durations,
    pub chains: Counts<Chain>,
    pub stacks: Counts<Stack>,
    pub functions: Map<Symbol, u64>,
    pub named: NamedCounts,
}

impl Sums {
    /// Adds one.
    pub fn add(&mut self, one: &Interruption) {
        self.0.entry(one.cpu).or_default().add(one);
    }

    /// The sums of a CPU.
    pub fn of(&self, cpu: u32) -> Option<&CpuSums> {
        self.0.get(&cpu)
    }
}

impl CpuSums {
    /// Adds one.
    pub fn add(&mut self, one: &Interruption) {
        if one.kind.is_interruption() && !rules::get(&one.cause).names_origin {
            self.unnamed_ns = self.unnamed_ns.saturating_add(one.duration_ns);
        }
        match self.causes.get_mut(&one.cause) {
            Some(sums) => sums.add(one),
            None => self.causes.entry(one.cause.clone()).or_default().add(one),
        }
    }
}

impl CauseSums {
    fn add(&mut self, one: &Interruption) {
        self.count += 1;
        if one.kind.is_interruption() {
            self.interruptions += 1;
            self.interrupted_ns = self.interrupted_ns.saturating_add(one.duration_ns);
        }
        self.page_faults += u64::from(matches!(one.kind, Kind::PageFault { .. }));
        if one.kind == Kind::CommandTask {
            self.command_tasks += 1;
            self.command_ns = self.command_ns.saturating_add(one.duration_ns);
        }
        self.ticks += u64::from(one.kind == Kind::Tick);
        self.total_ns = self.total_ns.saturating_add(one.duration_ns);
        self.untimed |= matches!(one.kind, Kind::PageFault { .. });
        self.durations.add(one.duration_ns);
        self.chains.add(&one.chain);
        one.stack.iter().for_each(|stack| self.stacks.add(stack));
        for function in &*one.functions {
            *self.functions.entry(function.clone()).or_default() += 1;
        }
        self.named.add(one);
    }
}

/// The number of different durations that are kept exactly.
const MOST_EXACT: usize = 1 << 16;
/// The number of bits after the first that longer lists keep: a precision of a thousandth.
const PRECISION_BITS: u32 = 10;

/// The durations of interruptions, ns: exact up to a number of different durations, beyond it to a thousandth. The
/// shortest and the longest are always exact.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    counts: Map<u64, u64>,
    rounded: bool,
    ends: Option<(u64, u64)>,
}

impl Durations {
    fn add(&mut self, ns: u64) {
        let (shortest, longest) = self.ends.unwrap_or((ns, ns));
        self.ends = Some((shortest.min(ns), longest.max(ns)));
        let ns = if self.rounded { rounded(ns) } else { ns };
        *self.counts.entry(ns).or_default() += 1;
        if !self.rounded && self.counts.len() > MOST_EXACT {
            self.rounded = true;
            for (ns, count) in std::mem::take(&mut self.counts) {
                *self.counts.entry(rounded(ns)).or_default() += count;
            }
        }
    }

    /// The shortest and the longest duration.
    pub fn ends(&self) -> Option<(u64, u64)> {
        self.ends
    }

    /// The number of occurrences of each duration.
    pub fn histogram(&self) -> Histogram {
        self.counts.iter().map(|(ns, count)| (*ns, *count)).collect()
    }
}

fn rounded(ns: u64) -> u64 {
    let low = ns.checked_ilog2().unwrap_or(0).saturating_sub(PRECISION_BITS);
    ns >> low << low
}

/// The number of different chains, or stacks, that are kept; beyond it the rarest are dropped.
const MOST: usize = 1 << 13;

/// The number of occurrences of each chain, or stack.
#[derive(Debug)]
pub(crate) struct Counts<T> {
    counts: Map<T, u64>,
    given_up: usize,
}

impl<T> Default for Counts<T> {
    fn default() -> Self {
        Self { counts: Map::default(), given_up: 0 }
    }
}

impl<T: Clone + Eq + Hash> Counts<T> {
    fn add(&mut self, one: &T) {
        if let Some(count) = self.counts.get_mut(one) {
            *count += 1;
            return;
        }
        if self.counts.len() == MOST {
            self.give_up_rarest();
        }
        self.counts.insert(one.clone(), 1);
    }

    /// Drops at least half.
    fn give_up_rarest(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let (_, median, _) = counts.select_nth_unstable(MOST / 2);
        let median = *median;
        self.counts.retain(|_, count| *count > median);
        self.given_up += MOST - self.counts.len();
    }

    /// The counts that were kept.
    pub fn counts(&self) -> &Map<T, u64> {
        &self.counts
    }

    /// The number of those that were dropped; one that reappears counts again.
    pub fn given_up(&self) -> usize {
        self.given_up
    }
}

/// The quotient, or 0 if the divisor is 0.
pub fn share(part: f64, total: f64) -> f64 {
    if total > 0.0 { part / total } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_explain::Step;

    #[test]
    fn many_durations_are_kept_to_a_thousandth() {
        let mut durations = Durations::default();
        (0..1000u64).for_each(|ns| durations.add(ns));
        assert_eq!(durations.histogram(), (0..1000).map(|ns| (ns, 1)).collect());
        (0..200_000u64).for_each(|step| durations.add(1_000_003 + 7 * step));
        let histogram = durations.histogram();
        assert_eq!((histogram.total(), durations.ends()), (201_000, Some((0, 1_000_003 + 7 * 199_999))));
        assert!(durations.counts.len() < 4096, "{}", durations.counts.len());
        let median = histogram.quantile(0.5).unwrap() as f64;
        assert!((median / 1_696_500.0 - 1.0).abs() < 0.002, "{median}");
        (0..500).for_each(|_| durations.add(u64::MAX));
        assert_eq!(durations.ends().unwrap().1, u64::MAX);
    }

    #[test]
    fn frequent_chains_are_kept_of_very_many() {
        let chain = |cpu| Chain::from(vec![Step::Interrupted { cpu }]);
        let mut chains = Counts::default();
        for cpu in 0..100_000u32 {
            chains.add(&chain(cpu));
            chains.add(&chain(7));
        }
        assert!(chains.counts.len() <= MOST);
        assert_eq!(chains.counts[&chain(7)], 100_001);
        assert_eq!(chains.counts.len() + chains.given_up(), 100_000);
    }
}
