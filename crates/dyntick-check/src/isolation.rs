// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel makes of `nohz_full=` and `isolcpus=`: a replay of `kernel/sched/isolation.c:
//! housekeeping_setup` (read in 6.1.192 and 6.12.117, which are alike in this).

use dyntick_model::{CommandLine, CpuList, CpuListError};
use std::collections::BTreeMap;

/// What a CPU can be kept free of. `nohz_full=` has more types in the kernel; they go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Type {
    Tick,
    Noise,
    Domain,
    ManagedIrq,
}

/// What became of one parameter, where that is not simply what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The whole parameter is ignored: not a list.
    NoList(CpuListError),
    /// The whole parameter is ignored: these CPUs are beyond the last that can exist.
    Beyond(CpuList),
    /// The whole parameter is ignored: an earlier one has already said otherwise.
    Mismatch,
    /// The whole parameter is ignored: a word among its flags holds what no flag may.
    IllegalFlag(String),
    /// A flag that this kernel does not know is skipped, and the rest counts.
    SkippedFlag(String),
    /// It names every CPU that is there; the boot CPU is taken out again.
    AllCpus,
    /// It names no CPU and does nothing.
    Empty,
}

/// The CPUs that the kernel's command line isolates, and what it ignores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Adaptive ticks: `nohz_full=`, `isolcpus=nohz,`.
    pub tick: CpuList,
    /// Timers, unbound work and RCU work kept away: `nohz_full=`.
    pub noise: CpuList,
    /// Outside the scheduler's load balancing: `isolcpus=`, `isolcpus=domain,`.
    pub domain: CpuList,
    /// Avoided by managed interrupts: `isolcpus=managed_irq,`.
    pub managed_irq: CpuList,
    /// By parameter as written: what is not as it says.
    pub outcomes: Vec<(String, Outcome)>,
}

/// The CPUs that a machine can have.
pub struct Bounds<'a> {
    /// One more than the highest CPU number that can exist (`nr_cpu_ids`).
    pub possible: u32,
    /// The CPUs that are there.
    pub present: &'a CpuList,
}

impl Isolation {
    /// Replays the parameters in their order.
    pub fn replay(line: &CommandLine, bounds: &Bounds<'_>) -> Self {
        let mut replay = Replay { bounds, types: BTreeMap::new(), outcomes: Vec::new() };
        for parameter in line.iter() {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = value.trim_matches('"');
            match name.replace('-', "_").as_str() {
                "nohz_full" if parameter.contains('=') => {
                    replay.set(parameter, value, &[Type::Tick, Type::Noise]);
                }
                "isolcpus" if parameter.contains('=') => replay.isolcpus(parameter, value),
                _ => {}
            }
        }
        let of = |kind: Type| replay.types.get(&kind).cloned().unwrap_or_default();
        Self {
            tick: of(Type::Tick),
            noise: of(Type::Noise),
            domain: of(Type::Domain),
            managed_irq: of(Type::ManagedIrq),
            outcomes: replay.outcomes,
        }
    }
}

struct Replay<'a> {
    bounds: &'a Bounds<'a>,
    types: BTreeMap<Type, CpuList>,
    outcomes: Vec<(String, Outcome)>,
}

impl Replay<'_> {
    fn note(&mut self, parameter: &str, outcome: Outcome) {
        self.outcomes.push((parameter.to_owned(), outcome));
    }

    /// `housekeeping_isolcpus_setup`: words that begin with a letter are flags, each ending in a comma.
    fn isolcpus(&mut self, parameter: &str, value: &str) {
        let mut types = Vec::new();
        let mut rest = value;
        while rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let (word, after) = rest.split_once(',').unwrap_or((rest, ""));
            match word {
                "nohz" => types.push(Type::Tick),
                "domain" => types.push(Type::Domain),
                "managed_irq" => types.push(Type::ManagedIrq),
                _ if word.chars().all(|c| c.is_ascii_alphabetic() || c == '_') => {
                    self.note(parameter, Outcome::SkippedFlag(word.to_owned()));
                }
                _ => return self.note(parameter, Outcome::IllegalFlag(word.to_owned())),
            }
            rest = after;
        }
        if types.is_empty() {
            types.push(Type::Domain);
        }
        self.set(parameter, rest, &types);
    }

    /// `housekeeping_setup`.
    fn set(&mut self, parameter: &str, list: &str, types: &[Type]) {
        let mut cpus = match parse(list, self.bounds.possible) {
            Ok(cpus) => cpus,
            Err(outcome) => return self.note(parameter, outcome),
        };
        if !cpus.is_empty() && self.bounds.present.difference(&cpus).is_empty() {
            cpus = cpus.difference(&CpuList::first(1));
            self.note(parameter, Outcome::AllCpus);
        }
        if cpus.is_empty() {
            return self.note(parameter, Outcome::Empty);
        }
        if types.iter().filter_map(|kind| self.types.get(kind)).any(|earlier| *earlier != cpus) {
            return self.note(parameter, Outcome::Mismatch);
        }
        self.types.extend(types.iter().map(|kind| (*kind, cpus.clone())));
    }
}

/// `lib/bitmap.c: bitmap_parselist`: a list that reaches beyond the last CPU is refused as a whole.
pub(crate) fn parse(list: &str, possible: u32) -> Result<CpuList, Outcome> {
    let last = possible.saturating_sub(1);
    let numbers = list.replace("all", "0-N").replace('N', &last.to_string());
    let cpus: CpuList = numbers.parse().map_err(Outcome::NoList)?;
    let beyond = cpus.difference(&CpuList::first(possible));
    if beyond.is_empty() { Ok(cpus) } else { Err(Outcome::Beyond(beyond)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn replay(line: &str) -> Isolation {
        Isolation::replay(&CommandLine::parse(line), &Bounds { possible: 4, present: &CpuList::first(4) })
    }

    fn cpus(isolation: &Isolation) -> [String; 4] {
        [&isolation.tick, &isolation.noise, &isolation.domain, &isolation.managed_irq]
            .map(ToString::to_string)
    }

    #[test]
    fn what_each_parameter_sets() {
        assert_eq!(cpus(&replay("nohz_full=1-3")), ["1-3", "1-3", "", ""]);
        assert_eq!(cpus(&replay("isolcpus=2")), ["", "", "2", ""]);
        assert_eq!(cpus(&replay("isolcpus=nohz,managed_irq,2-N")), ["2-3", "", "", "2-3"]);
        assert_eq!(cpus(&replay("isolcpus=2 nohz_full=3")), ["3", "3", "2", ""]);
    }

    #[test]
    fn what_is_ignored_and_why() {
        let only = |line: &str| {
            let isolation = replay(line);
            assert_eq!(isolation.outcomes.len(), 1, "{line}: {isolation:?}");
            (cpus(&isolation), isolation.outcomes[0].1.clone())
        };
        let none = || ["", "", "", ""].map(String::from);
        assert_eq!(only("nohz_full=1-5"), (none(), Outcome::Beyond("4-5".parse().unwrap())));
        assert_eq!(only("nohz_full=").1, Outcome::Empty);
        assert_eq!(only("isolcpus=nohz2,1"), (none(), Outcome::IllegalFlag("nohz2".into())));
        assert!(matches!(only("nohz_full=1-x").1, Outcome::NoList(_)));
        let (masks, outcome) = only("isolcpus=domian,1");
        assert_eq!((masks[2].as_str(), outcome), ("1", Outcome::SkippedFlag("domian".into())));
        let (masks, outcome) = only("nohz_full=all");
        assert_eq!((masks[0].as_str(), outcome), ("1-3", Outcome::AllCpus));
        let (masks, outcome) = only("isolcpus=nohz,domain,1-2 nohz_full=1-3");
        assert_eq!(masks, ["1-2", "", "1-2", ""].map(String::from));
        assert_eq!(outcome, Outcome::Mismatch);
    }

    proptest! {
        /// Whatever is written: nothing is isolated that does not exist, and never every CPU.
        #[test]
        fn a_housekeeping_cpu_remains(words in prop::collection::vec("(nohz_full|isolcpus)=((domain|nohz|managed_irq|x1),){0,2}(all|[0-5](-[0-5N])?)", 0..4)) {
            let isolation = replay(&words.join(" "));
            for cpus in [&isolation.tick, &isolation.domain, &isolation.managed_irq] {
                prop_assert!(!CpuList::first(4).difference(cpus).is_empty());
                prop_assert!(cpus.difference(&CpuList::first(4)).is_empty());
            }
        }
    }
}
