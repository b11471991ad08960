// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel makes of `nohz_full=` and `isolcpus=`: a replay of `kernel/sched/isolation.c:
//! housekeeping_setup` (read in 6.1.192 and 6.12.117, which are alike in this, and in 7.3).

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
    /// It names every CPU that is started at boot (`maxcpus=`); the boot CPU is taken out again.
    AllStarted,
    /// The whole parameter is ignored: with an earlier one no CPU is left that has both a tick and load
    /// balancing. From 6.19 on.
    NoneLeft,
    /// It names no CPU and does nothing.
    Empty,
}

/// The CPUs that the kernel's command line isolates, and what it ignores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Adaptive ticks: `nohz_full=`, `isolcpus=nohz,`.
    pub tick: CpuList,
    /// Timers, unbound work, kernel threads and watchdogs kept away: `nohz_full=`, and from 6.14 on
    /// `isolcpus=nohz,`.
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
    /// Replays the parameters in their order, as 6.1 to 6.13 do.
    pub fn replay(line: &CommandLine, bounds: &Bounds<'_>) -> Self {
        Self::replay_on(line, bounds, (6, 13))
    }

    /// Replays the parameters in their order, as a kernel (major, minor) does.
    pub fn replay_on(line: &CommandLine, bounds: &Bounds<'_>, kernel: (u32, u32)) -> Self {
        let started = started(line);
        let mut replay = Replay { bounds, kernel, started, types: BTreeMap::new(), outcomes: Vec::new() };
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

/// How many CPUs are started at boot at most: `kernel/smp.c: maxcpus, nosmp`.
fn started(line: &CommandLine) -> u32 {
    if line.iter().any(|word| word == "nosmp") {
        return 0;
    }
    line.get("maxcpus").and_then(|number| number.parse().ok()).unwrap_or(u32::MAX)
}

struct Replay<'a> {
    bounds: &'a Bounds<'a>,
    kernel: (u32, u32),
    /// CPUs from this number on are not started at boot.
    started: u32,
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
                // Two types of many until 6.13, one and the same since (1174b9344bc7).
                "nohz" if self.kernel >= (6, 14) => types.extend([Type::Tick, Type::Noise]),
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
        let left = self.bounds.present.difference(&cpus);
        if !cpus.is_empty() && !self.any_started(&left) {
            cpus = cpus.difference(&CpuList::first(1));
            let outcome = if left.is_empty() { Outcome::AllCpus } else { Outcome::AllStarted };
            self.note(parameter, outcome);
        }
        if cpus.is_empty() {
            return self.note(parameter, Outcome::Empty);
        }
        if types.iter().filter_map(|kind| self.types.get(kind)).any(|earlier| *earlier != cpus) {
            return self.note(parameter, Outcome::Mismatch);
        }
        if self.kernel >= (6, 19) && !self.leaves_one(&cpus, types) {
            return self.note(parameter, Outcome::NoneLeft);
        }
        self.types.extend(types.iter().map(|kind| (*kind, cpus.clone())));
    }
}

impl Replay<'_> {
    fn any_started(&self, cpus: &CpuList) -> bool {
        cpus.iter().next().is_some_and(|first| first < self.started)
    }

    /// Whether a CPU is in neither set, of those without a tick and those without load balancing: the
    /// hierarchy of timers needs one (185bccc79797).
    fn leaves_one(&self, cpus: &CpuList, types: &[Type]) -> bool {
        let matters = |kind: &&Type| matches!(kind, Type::Domain | Type::Noise);
        let earlier = self.types.get(&Type::Domain).or_else(|| self.types.get(&Type::Noise));
        let Some(earlier) = earlier.filter(|_| types.iter().any(|kind| matters(&kind))) else { return true };
        // The boot CPU was put back into its own set only where no other was left.
        self.any_started(&self.bounds.present.difference(cpus).difference(earlier))
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

    fn replay_on(line: &str, kernel: (u32, u32)) -> Isolation {
        let bounds = Bounds { possible: 4, present: &CpuList::first(4) };
        Isolation::replay_on(&CommandLine::parse(line), &bounds, kernel)
    }

    #[test]
    fn the_flag_nohz_is_nohz_full_from_6_14_on() {
        assert_eq!(cpus(&replay_on("isolcpus=nohz,2-3", (6, 13))), ["2-3", "", "", ""]);
        assert_eq!(cpus(&replay_on("isolcpus=nohz,2-3", (6, 14))), ["2-3", "2-3", "", ""]);
    }

    #[test]
    fn from_6_19_on_one_cpu_is_in_neither_set() {
        let line = "nohz_full=1-3 isolcpus=domain,0";
        assert_eq!(cpus(&replay_on(line, (6, 18))), ["1-3", "1-3", "0", ""]);
        let refused = replay_on(line, (6, 19));
        assert_eq!(cpus(&refused), ["1-3", "1-3", "", ""]);
        assert_eq!(refused.outcomes[0].1, Outcome::NoneLeft);
        // Managed interrupts do not count.
        assert_eq!(replay_on("nohz_full=1-3 isolcpus=managed_irq,0", (6, 19)).outcomes, []);
    }

    #[test]
    fn a_cpu_that_is_not_started_does_no_housekeeping() {
        let few = replay("nohz_full=0-1 maxcpus=2");
        assert_eq!((cpus(&few)[0].as_str(), &few.outcomes[0].1), ("1", &Outcome::AllStarted));
        assert_eq!(replay("nohz_full=1 maxcpus=2").outcomes, []);
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
