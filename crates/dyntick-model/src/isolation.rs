// SPDX-License-Identifier: GPL-2.0-only
//! The isolation that a command line asks for: a replay of the parsers of `nohz_full=` and `isolcpus=`
//! (`kernel/sched/isolation.c: housekeeping_setup`, read in 4.15, 5.4, 5.10, 5.15, 6.1, 6.12, 6.19, 7.0, 7.2, 7.3 and
//! in RHEL 8 and 9; before 4.15 `kernel/sched/core.c: isolated_cpu_setup` and `kernel/time/tick-sched.c`).

use crate::{CommandLine, CpuList, CpuListError, Dialect, Flag, Masks, UnknownFlag, cpus_of};
use std::collections::BTreeMap;

/// A kind of disturbance that a CPU is kept free of. `nohz_full=` has more types in the kernel; they go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Type {
    Tick,
    Noise,
    Domain,
    ManagedIrq,
}

/// The fate of a parameter that does not simply do as it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The parameter is ignored: not a list.
    NoList(CpuListError),
    /// The parameter is ignored: these CPUs are beyond the last that can exist.
    Beyond(CpuList),
    /// The parameter is ignored: an earlier one names other CPUs.
    Mismatch,
    /// The parameter is ignored: a word among its flags holds what no flag may.
    IllegalFlag(String),
    /// The parameter is ignored: this kernel does not know the flag, and skips none (before 5.7).
    UnknownFlag(String),
    /// A flag that this kernel does not know is skipped, and the rest counts.
    SkippedFlag(String),
    /// The parameter is ignored: it asks for adaptive ticks, and the kernel has none (`CONFIG_NO_HZ_FULL`).
    NoFull,
    /// It names every CPU that is there; the boot CPU is taken out again.
    AllCpus,
    /// It names every CPU that is started at boot (`maxcpus=`); the boot CPU is taken out again.
    AllStarted,
    /// It names the boot CPU, which is taken out again: no other one is present when arm64 reads the list.
    BootCpu,
    /// The complete parameter is ignored: with an earlier one no CPU is left that has both a tick and load
    /// balancing. From 6.19 on.
    NoneLeft,
    /// It has no list, and does nothing.
    Empty,
    /// No CPU of its list can be isolated, and it does nothing.
    NoCpu,
}

impl Outcome {
    /// Returns true if the complete parameter has no effect.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NoList(_) | Self::Beyond(_) | Self::IllegalFlag(_) | Self::UnknownFlag(_) => true,
            Self::Mismatch | Self::NoFull | Self::NoneLeft | Self::Empty | Self::NoCpu => true,
            Self::SkippedFlag(_) | Self::AllCpus | Self::AllStarted | Self::BootCpu => false,
        }
    }
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
    /// Each parameter as written that is not as it says.
    pub outcomes: Vec<(String, Outcome)>,
}

/// A machine that reads a command line.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// One more than the highest CPU number that can exist (`nr_cpu_ids`).
    pub possible: u32,
    /// The CPUs that are there.
    pub present: &'a CpuList,
    /// Its kernel.
    pub dialect: Dialect,
}

impl Reader<'_> {
    /// A CPU list as this kernel reads it (`lib/bitmap.c: bitmap_parselist`).
    ///
    /// # Errors
    /// The outcome for a parameter with such a list: one that reaches beyond the last CPU is refused entirely.
    pub fn list(self, list: &str) -> Result<CpuList, Outcome> {
        let dialect = self.dialect;
        let is_newer = (list.contains('N') && !dialect.has_last())
            || (list.contains("all") && !dialect.has_all())
            || (list.contains(':') && !dialect.has_groups());
        if is_newer {
            return Err(Outcome::NoList(CpuListError::Syntax(list.to_owned())));
        }
        let cpus = cpus_of(list, self.possible).map_err(Outcome::NoList)?;
        let beyond = cpus.difference(&CpuList::first(self.possible));
        if beyond.is_empty() { Ok(cpus) } else { Err(Outcome::Beyond(beyond)) }
    }
}

/// The flags of a value of `isolcpus=`, and its list (`housekeeping_isolcpus_setup`): words that begin with a letter
/// are flags, each ending in a comma.
pub fn flags_and_list(value: &str) -> (Vec<&str>, &str) {
    let mut flags = Vec::new();
    let mut rest = value;
    while rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let (word, after) = rest.split_once(',').unwrap_or((rest, ""));
        flags.push(word);
        rest = after;
    }
    (flags, rest)
}

impl Isolation {
    /// Replays the parameters of a line in their order, as the reader's kernel does.
    pub fn replay(line: &CommandLine, reader: Reader<'_>) -> Self {
        let mut replay =
            Replay { reader, started: started(line), types: BTreeMap::new(), outcomes: Vec::new() };
        for parameter in line.iter() {
            let Some((name, value)) = parameter.split_once('=') else { continue };
            let value = value.trim_matches('"');
            match name.replace('-', "_").as_str() {
                "nohz_full" => replay.set(parameter, value, &[Type::Tick, Type::Noise]),
                "isolcpus" => replay.isolcpus(parameter, value),
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

    /// Every CPU that is isolated in any way.
    pub fn all(&self) -> CpuList {
        self.tick.union(&self.domain).union(&self.managed_irq)
    }
}

/// The number of CPUs that are started at boot at most: `kernel/smp.c: maxcpus, nosmp`.
fn started(line: &CommandLine) -> u32 {
    if line.iter().any(|word| word == "nosmp") {
        return 0;
    }
    line.get("maxcpus").and_then(|number| number.parse().ok()).unwrap_or(u32::MAX)
}

struct Replay<'a> {
    reader: Reader<'a>,
    /// CPUs from this number on are not started at boot.
    started: u32,
    types: BTreeMap<Type, CpuList>,
    outcomes: Vec<(String, Outcome)>,
}

impl Replay<'_> {
    fn note(&mut self, parameter: &str, outcome: Outcome) {
        self.outcomes.push((parameter.to_owned(), outcome));
    }

    /// `housekeeping_isolcpus_setup`.
    fn isolcpus(&mut self, parameter: &str, value: &str) {
        let dialect = self.reader.dialect;
        let (flags, list) = flags_and_list(value);
        let mut types = Vec::new();
        for word in flags {
            match Flag::of(word).filter(|flag| dialect.knows(*flag)) {
                // Two types of many until 6.13, one and the same since (1174b9344bc7).
                Some(Flag::Nohz) if dialect.flag_nohz_is_full() => types.extend([Type::Tick, Type::Noise]),
                Some(Flag::Nohz) => types.push(Type::Tick),
                Some(Flag::Domain) => types.push(Type::Domain),
                Some(Flag::ManagedIrq) => types.push(Type::ManagedIrq),
                None if dialect.unknown_flag() == UnknownFlag::Refused => {
                    return self.note(parameter, Outcome::UnknownFlag(word.to_owned()));
                }
                None if word.chars().all(|c| c.is_ascii_alphabetic() || c == '_') => {
                    self.note(parameter, Outcome::SkippedFlag(word.to_owned()));
                }
                None => return self.note(parameter, Outcome::IllegalFlag(word.to_owned())),
            }
        }
        if types.is_empty() {
            types.push(Type::Domain);
        }
        self.set(parameter, list, &types);
    }

    /// `housekeeping_setup`.
    fn set(&mut self, parameter: &str, list: &str, types: &[Type]) {
        let dialect = self.reader.dialect;
        if types.contains(&Type::Tick) && dialect.has_full == Some(false) {
            return self.note(parameter, Outcome::NoFull);
        }
        if list.is_empty() {
            // It is set all the same: with one mask a list that follows differs from it, and before 4.15 the last one
            // of its name counts.
            if dialect.masks() != Masks::Split {
                self.types.extend(types.iter().map(|kind| (*kind, CpuList::default())));
            }
            return self.note(parameter, Outcome::Empty);
        }
        let mut cpus = match self.reader.list(list) {
            Ok(cpus) => cpus,
            // The CPUs before the bad one stay (4.9: `kernel/sched/core.c: isolated_cpu_setup`).
            Err(Outcome::Beyond(beyond)) if dialect.masks() == Masks::Apart && types == [Type::Domain] => {
                cpus_of(list, self.reader.possible).unwrap_or_default().difference(&beyond)
            }
            Err(outcome) => return self.note(parameter, outcome),
        };
        let boot_cpu = CpuList::first(1);
        let present = if dialect.reads_lists_early() { &boot_cpu } else { self.reader.present };
        let left = present.difference(&cpus);
        if !cpus.is_empty() && !self.any_started(&left) {
            cpus = cpus.difference(&boot_cpu);
            let outcome = match (self.reader.present.is_subset(&cpus.union(&boot_cpu)), left.is_empty()) {
                (false, true) => Outcome::BootCpu,
                (_, true) => Outcome::AllCpus,
                (_, false) => Outcome::AllStarted,
            };
            self.note(parameter, outcome);
        }
        if cpus.is_empty() {
            return self.note(parameter, Outcome::NoCpu);
        }
        if self.contradicts(&cpus, types) {
            return self.note(parameter, Outcome::Mismatch);
        }
        if dialect.leaves_one() && !self.leaves_one(&cpus, types) {
            return self.note(parameter, Outcome::NoneLeft);
        }
        self.types.extend(types.iter().map(|kind| (*kind, cpus.clone())));
    }

    fn contradicts(&self, cpus: &CpuList, types: &[Type]) -> bool {
        match self.reader.dialect.masks() {
            Masks::One => self.types.values().any(|earlier| earlier != cpus),
            Masks::Split => {
                types.iter().filter_map(|kind| self.types.get(kind)).any(|earlier| earlier != cpus)
            }
            Masks::Apart => false,
        }
    }

    fn any_started(&self, cpus: &CpuList) -> bool {
        cpus.iter().next().is_some_and(|first| first < self.started)
    }

    /// Says if a CPU is in neither set, of those without a tick and those without load balancing: the
    /// hierarchy of timers needs one (185bccc79797).
    fn leaves_one(&self, cpus: &CpuList, types: &[Type]) -> bool {
        let matters = |kind: &&Type| matches!(kind, Type::Domain | Type::Noise);
        let earlier = self.types.get(&Type::Domain).or_else(|| self.types.get(&Type::Noise));
        let Some(earlier) = earlier.filter(|_| types.iter().any(|kind| matters(&kind))) else { return true };
        // The boot CPU was put back into its own set only where no other was left.
        self.any_started(&self.reader.present.difference(cpus).difference(earlier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn replay(line: &str) -> Isolation {
        replay_on(line, Dialect::upstream(6, 12))
    }

    fn replay_on(line: &str, dialect: Dialect) -> Isolation {
        let reader = Reader { possible: 4, present: &CpuList::first(4), dialect };
        Isolation::replay(&CommandLine::parse(line), reader)
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

    #[test]
    fn the_flag_nohz_is_nohz_full_from_6_14_on() {
        assert_eq!(cpus(&replay_on("isolcpus=nohz,2-3", Dialect::upstream(6, 13))), ["2-3", "", "", ""]);
        assert_eq!(cpus(&replay_on("isolcpus=nohz,2-3", Dialect::upstream(6, 14))), ["2-3", "2-3", "", ""]);
    }

    #[test]
    fn from_6_19_on_one_cpu_is_in_neither_set() {
        let line = "nohz_full=1-3 isolcpus=domain,0";
        assert_eq!(cpus(&replay_on(line, Dialect::upstream(6, 18))), ["1-3", "1-3", "0", ""]);
        let refused = replay_on(line, Dialect::upstream(6, 19));
        assert_eq!(cpus(&refused), ["1-3", "1-3", "", ""]);
        assert_eq!(refused.outcomes[0].1, Outcome::NoneLeft);
        // Managed interrupts do not count.
        assert_eq!(replay_on("nohz_full=1-3 isolcpus=managed_irq,0", Dialect::upstream(6, 19)).outcomes, []);
    }

    #[test]
    fn a_cpu_that_is_not_started_does_no_housekeeping() {
        let few = replay("nohz_full=0-1 maxcpus=2");
        assert_eq!((cpus(&few)[0].as_str(), &few.outcomes[0].1), ("1", &Outcome::AllStarted));
        assert_eq!(replay("nohz_full=1 maxcpus=2").outcomes, []);
    }

    #[test]
    fn before_5_18_the_lists_are_one() {
        let (before, since) = (Dialect::upstream(5, 17), Dialect::upstream(5, 18));
        let line = "nohz_full=1-3 isolcpus=2-3";
        let refused = replay_on(line, before);
        assert_eq!(cpus(&refused), ["1-3", "1-3", "", ""]);
        assert_eq!(refused.outcomes, [("isolcpus=2-3".to_owned(), Outcome::Mismatch)]);
        assert_eq!(cpus(&replay_on(line, since)), ["1-3", "1-3", "2-3", ""]);
        assert_eq!(cpus(&replay_on("isolcpus=managed_irq,2 nohz_full=3", before)), ["", "", "", "2"]);
    }

    #[test]
    fn before_5_7_an_unknown_flag_is_the_end_of_its_parameter() {
        let line = "isolcpus=domain,managed_irq,1";
        let outcome = |dialect| replay_on(line, dialect).outcomes.first().map(|(_, outcome)| outcome.clone());
        let unknown = || Some(Outcome::UnknownFlag("managed_irq".into()));
        assert_eq!(outcome(Dialect::upstream(5, 4)), unknown());
        assert_eq!(outcome(Dialect::upstream(5, 6)), None);
        assert_eq!(cpus(&replay_on(line, Dialect::upstream(5, 6)))[2], "1");
        assert_eq!(cpus(&replay_on("isolcpus=1", Dialect::upstream(3, 10)))[2], "1");
    }

    #[test]
    fn before_4_15_the_last_list_counts() {
        let old = Dialect::upstream(4, 9);
        assert_eq!(cpus(&replay_on("isolcpus=1-2 isolcpus=", old))[2], "");
        assert_eq!(cpus(&replay_on("isolcpus=1 isolcpus=2-3", old))[2], "2-3");
        assert_eq!(cpus(&replay_on("isolcpus=1-2,9", old))[2], "1-2");
    }

    #[test]
    fn arm64_keeps_the_boot_cpu() {
        let arm = Dialect { architecture: Some(crate::Architecture::Arm64), ..Dialect::upstream(6, 12) };
        let kept = replay_on("isolcpus=domain,0-2", arm);
        assert_eq!((cpus(&kept)[2].as_str(), &kept.outcomes[0].1), ("1-2", &Outcome::BootCpu));
        assert_eq!(replay_on("isolcpus=domain,1-3", arm).outcomes, []);
    }

    #[test]
    fn adaptive_ticks_take_an_option() {
        let without = Dialect { has_full: Some(false), ..Dialect::upstream(6, 12) };
        let none = replay_on("nohz_full=1-3 isolcpus=nohz,domain,2", without);
        assert_eq!(cpus(&none), ["", "", "", ""]);
        assert!(none.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::NoFull));
        assert_eq!(cpus(&replay_on("isolcpus=domain,2", without))[2], "2");
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
