// SPDX-License-Identifier: GPL-2.0-only
//! The parameters about isolation, composed together. The kernel refuses a second `nohz_full=` or
//! `isolcpus=` that contradicts the first, and one that replaces the first loses its CPUs or flags
//! (`kernel/sched/isolation.c: housekeeping_setup`); so each of these parameters is given once and in full.

use crate::{CommandLine, CpuList, Flag, Isolation, Masks, Reader};
use std::fmt;

/// The requested isolation of CPUs: present requests, and missing ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The tick while a task runs, and what else `nohz_full=` keeps away.
    pub tick: CpuList,
    /// The load balancer.
    pub domain: CpuList,
    /// Managed interrupts.
    pub managed_irq: CpuList,
    /// RCU callbacks, which `nohz_full=` keeps away from its own CPUs by itself.
    pub callbacks: CpuList,
    /// All other interrupts, as far as `irqaffinity=` says where they are set up; they avoid all CPUs that
    /// are named above, too.
    pub interrupts: CpuList,
}

impl Wanted {
    /// The part of a command line that its kernel follows.
    pub fn of(line: &CommandLine, reader: Reader<'_>) -> Self {
        let Isolation { tick, domain, managed_irq, .. } = Isolation::replay(line, reader);
        Self { tick, domain, managed_irq, ..Self::default() }
    }

    /// This and that.
    pub fn and(&self, other: &Wanted) -> Self {
        Self {
            tick: self.tick.union(&other.tick),
            domain: self.domain.union(&other.domain),
            managed_irq: self.managed_irq.union(&other.managed_irq),
            callbacks: self.callbacks.union(&other.callbacks),
            interrupts: self.interrupts.union(&other.interrupts),
        }
    }

    /// Every CPU that anything is kept away from.
    pub fn all(&self) -> CpuList {
        self.tick.union(&self.domain).union(&self.managed_irq)
    }

    /// The same as far as this kernel can be asked for it: without what it does not know, and with equal lists where it
    /// compares them.
    fn spoken(mut self, reader: Reader<'_>) -> Self {
        let dialect = reader.dialect;
        if !dialect.knows(Flag::ManagedIrq) {
            self.managed_irq = CpuList::default();
        }
        if dialect.has_full == Some(false) {
            self.tick = CpuList::default();
        }
        let is_one = dialect.masks() == Masks::One && !self.tick.is_empty();
        let all = self.all();
        // The boot CPU keeps its tick, so it cannot be part of a list for both.
        let kept = if dialect.reads_lists_early() || (is_one && !self.isolated().is_empty()) {
            CpuList::first(1)
        } else {
            CpuList::default()
        };
        for cpus in [&mut self.tick, &mut self.domain, &mut self.managed_irq] {
            if is_one && !cpus.is_empty() {
                *cpus = all.clone();
            }
            *cpus = cpus.difference(&kept);
        }
        self
    }

    /// The CPUs of `isolcpus=`.
    fn isolated(&self) -> CpuList {
        self.domain.union(&self.managed_irq)
    }
}

/// Parameters, each of which takes the place of all of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composed {
    /// The parameters to boot with.
    pub with: Vec<String>,
    /// The parameters of the line to remove, as written: nothing of them is needed any more.
    pub without: Vec<String>,
}

impl Composed {
    /// Returns the command line with these parameters in place of its own.
    pub fn applied(&self, line: &CommandLine) -> CommandLine {
        let replaced = |word: &&str| self.with.iter().any(|parameter| name_of(parameter) == name_of(word));
        let dropped = |word: &&str| self.without.iter().any(|parameter| parameter == word);
        let kept = line.iter().filter(|word| !replaced(word) && !dropped(word));
        line.with(kept.chain(self.with.iter().map(String::as_str)))
    }
}

impl fmt::Display for Composed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with.join(" "))
    }
}

/// Returns true if [`compose`] speaks for the parameter of this name.
pub fn is_composed(name: &str) -> bool {
    ["nohz_full", "isolcpus", "irqaffinity", "rcu_nocbs"].contains(&name.replace('-', "_").as_str())
}

/// Composes `nohz_full=`, `isolcpus=`, `irqaffinity=` and `rcu_nocbs=` for a machine: no parameter
/// contradicts another, each stands once, and its kernel knows every flag. Where `isolcpus=` has flags for different
/// CPUs, they get them all together. None where no CPU would be left for everything else.
pub fn compose(line: &CommandLine, wanted: &Wanted, reader: Reader<'_>) -> Option<Composed> {
    let wanted = &wanted.clone().spoken(reader);
    if reader.present.is_subset(&wanted.all()) {
        return None;
    }
    let mut with = isolation(line, wanted, reader);
    with.extend(interrupts(line, wanted, reader).map(|list| format!("irqaffinity={list}")));
    with.extend(callbacks(line, wanted, reader).map(|list| format!("rcu_nocbs={list}")));
    let left = |word: &&str| {
        let name = name_of(word);
        // Without a list, or with one that cannot be parsed, it says something by itself.
        let is_list = name != "rcu_nocbs"
            || listed(line, "rcu_nocbs", reader).is_some()
            || (word.contains('=') && !wanted.callbacks.is_empty());
        is_composed(&name) && is_list && !with.iter().any(|parameter| name_of(parameter) == name)
    };
    let without = line.iter().filter(left).map(str::to_owned).collect();
    Some(Composed { with, without })
}

/// The CPUs of a parameter that has a list, as the kernel reads it.
fn listed(line: &CommandLine, name: &str, reader: Reader<'_>) -> Option<CpuList> {
    match (name, line.get(name)?) {
        (_, "") => None,
        // Older than in other lists (`kernel/rcu/tree_nocb.h: rcu_nocb_setup`).
        ("rcu_nocbs", "all") => Some(CpuList::first(reader.possible)),
        (_, value) => reader.list(value).ok(),
    }
}

/// The parameters to boot with where these are advised one by one: those about isolation composed with
/// what the line asks for already and with what goes with them, all others as they are. Where no CPU would be left
/// they stay apart.
pub fn beside(line: &CommandLine, parameters: &[String], reader: Reader<'_>) -> Vec<String> {
    let (ours, others): (Vec<&String>, Vec<&String>) =
        parameters.iter().partition(|parameter| is_composed(&name_of(parameter)) && parameter.contains('='));
    let booted = Wanted::of(line, reader);
    let asked = ours.iter().fold(Wanted::default(), |sum, parameter| sum.and(&asks(parameter, reader)));
    let wanted = booted.and(&asked).and(&what_goes_with(&asked, &booted));
    match compose(line, &wanted, reader).filter(|_| !ours.is_empty()) {
        Some(composed) => composed.with.into_iter().chain(others.into_iter().cloned()).collect(),
        None => parameters.to_vec(),
    }
}

/// Returns true if a machine that was booted with this line has all of these parameters already, however the line
/// writes them.
pub fn is_in_force(line: &CommandLine, parameters: &[String], reader: Reader<'_>) -> bool {
    parameters.iter().all(|parameter| says(line, parameter, reader))
}

fn says(line: &CommandLine, parameter: &str, reader: Reader<'_>) -> bool {
    let alone = CommandLine::parse(parameter);
    let list = |line: &CommandLine, name: &str| listed(line, name, reader);
    let of = |line: &CommandLine| {
        let words = line.iter().filter(|word| name_of(word) == "isolcpus");
        Isolation::replay(&line.with(words), reader)
    };
    let same = match name_of(parameter).as_str() {
        "isolcpus" => {
            let (own, asked) = (of(line), of(&alone));
            !asked.all().is_empty() && own == Isolation { outcomes: own.outcomes.clone(), ..asked }
        }
        name if is_composed(name) => list(&alone, name).is_some_and(|asked| list(line, name) == Some(asked)),
        _ => false,
    };
    same || line.iter().any(|word| word == parameter)
}

/// The settings that a CPU still lacks if it is newly without its tick (it is load balanced) or out of load balancing
/// (managed interrupts come, and it runs its own RCU callbacks). `dyntick check` would find them afterwards.
fn what_goes_with(asked: &Wanted, booted: &Wanted) -> Wanted {
    let tick = asked.tick.difference(&booted.tick);
    let domain = asked.domain.difference(&booted.domain);
    Wanted { managed_irq: tick.union(&domain), callbacks: domain, domain: tick, ..Wanted::default() }
}

/// The isolation that one parameter asks for by itself.
fn asks(parameter: &str, reader: Reader<'_>) -> Wanted {
    let line = CommandLine::parse(parameter);
    let interrupts = listed(&line, "irqaffinity", reader).map(|list| reader.present.difference(&list));
    Wanted {
        callbacks: listed(&line, "rcu_nocbs", reader).unwrap_or_default(),
        interrupts: interrupts.unwrap_or_default(),
        ..Wanted::of(&line, reader)
    }
}

fn isolation(line: &CommandLine, wanted: &Wanted, reader: Reader<'_>) -> Vec<String> {
    let isolated = wanted.isolated();
    // The tick may be asked for here or in nohz_full=; where both do, they must agree.
    let here = line.get("nohz_full").is_none_or(str::is_empty)
        && has_nohz_flag(line)
        && reader.dialect.knows(Flag::Nohz)
        && wanted.tick == isolated;
    let full = (!wanted.tick.is_empty() && !here).then(|| format!("nohz_full={}", wanted.tick));
    let given = |flag: Flag| match flag {
        Flag::Nohz => here,
        Flag::Domain => !wanted.domain.is_empty(),
        Flag::ManagedIrq => !wanted.managed_irq.is_empty(),
    };
    let flags = Flag::ALL.into_iter().filter(|flag| reader.dialect.knows(*flag) && given(*flag));
    let flags: String = flags.map(|flag| format!("{},", flag.word())).collect();
    let isolcpus = (!isolated.is_empty()).then(|| format!("isolcpus={flags}{isolated}"));
    full.into_iter().chain(isolcpus).collect()
}

/// Returns true if the line asks in `isolcpus=` for CPUs without a tick.
pub fn has_nohz_flag(line: &CommandLine) -> bool {
    line.get("isolcpus").is_some_and(|value| value.split(',').any(|word| word == "nohz"))
}

/// The list of the line, without the isolated CPUs; if that is of no use, all others.
fn interrupts(line: &CommandLine, wanted: &Wanted, reader: Reader<'_>) -> Option<CpuList> {
    if wanted.interrupts.is_empty() && line.get("irqaffinity").is_none() {
        return None;
    }
    let isolated = wanted.all().union(&wanted.interrupts);
    let said = listed(line, "irqaffinity", reader).unwrap_or_default();
    let said = said.intersection(reader.present).difference(&isolated);
    let list = if said.is_empty() { reader.present.difference(&isolated) } else { said };
    (!list.is_empty()).then_some(list)
}

/// The CPUs that `nohz_full=` does not cover; none if the line's list needs no change.
fn callbacks(line: &CommandLine, wanted: &Wanted, reader: Reader<'_>) -> Option<CpuList> {
    let said = match line.get("rcu_nocbs") {
        None | Some("") => CpuList::default(),
        Some(_) => match listed(line, "rcu_nocbs", reader) {
            None if wanted.callbacks.is_empty() => return None,
            // A list that cannot be parsed gives way.
            said => said.unwrap_or_default(),
        },
    };
    let all = said.union(&wanted.callbacks);
    (!all.is_subset(&wanted.tick)).then_some(all)
}

fn name_of(parameter: &str) -> String {
    parameter.split('=').next().unwrap_or_default().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Architecture, Dialect, Outcome};
    use proptest::prelude::*;
    use std::sync::LazyLock;

    const POSSIBLE: u32 = 8;

    static PRESENT: LazyLock<CpuList> = LazyLock::new(|| CpuList::first(POSSIBLE));

    fn reader() -> Reader<'static> {
        on(Dialect::upstream(6, 12))
    }

    fn on(dialect: Dialect) -> Reader<'static> {
        Reader { possible: POSSIBLE, present: &PRESENT, dialect }
    }

    fn cpus(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    fn composed(line: &str, missing: Wanted) -> Composed {
        let line = CommandLine::parse(line);
        compose(&line, &Wanted::of(&line, reader()).and(&missing), reader()).unwrap()
    }

    fn with(line: &str, missing: Wanted) -> String {
        composed(line, missing).to_string()
    }

    fn domain(list: &str) -> Wanted {
        Wanted { domain: cpus(list), managed_irq: cpus(list), ..Wanted::default() }
    }

    fn tick(list: &str) -> Wanted {
        Wanted { tick: cpus(list), ..Wanted::default() }
    }

    #[test]
    fn what_is_asked_for_is_kept() {
        assert_eq!(
            with("nohz_full=2-5 isolcpus=2-3", domain("4-5")),
            "nohz_full=2-5 isolcpus=domain,managed_irq,2-5"
        );
        assert_eq!(with("isolcpus=2-5 nohz_full=2-3", tick("4-5")), "nohz_full=2-5 isolcpus=domain,2-5");
        let managed = Wanted { managed_irq: cpus("2-3"), ..Wanted::default() };
        assert_eq!(with("isolcpus=nohz,domain,2-3", managed.clone()), "isolcpus=nohz,domain,managed_irq,2-3");
        assert_eq!(with("isolcpus=nohz,domain,2-3", tick("4")), "nohz_full=2-4 isolcpus=domain,2-3");
        assert_eq!(with("quiet", managed), "isolcpus=managed_irq,2-3");
        assert_eq!(with("quiet", Wanted::default()), "");
    }

    #[test]
    fn interrupts_and_callbacks_follow() {
        let all = Wanted { interrupts: cpus("6"), ..domain("6").and(&tick("6")) };
        let line = "nohz_full=2-3 isolcpus=domain,managed_irq,2-3";
        let expected = "nohz_full=2-3,6 isolcpus=domain,managed_irq,2-3,6";
        assert_eq!(with(line, all.clone()), format!("{expected} irqaffinity=0-1,4-5,7"));
        assert_eq!(with(&format!("{line} irqaffinity=0-6"), all), format!("{expected} irqaffinity=0-1,4-5"));
        let callbacks = Wanted { callbacks: cpus("3"), ..Wanted::default() };
        assert_eq!(with("isolcpus=2-3 rcu_nocbs=2", callbacks), "isolcpus=domain,2-3 rcu_nocbs=2-3");
        // Its own parameter has become needless.
        let full = composed("isolcpus=2-3 rcu_nocbs=2-3", tick("2-3"));
        assert_eq!(full.without, ["rcu_nocbs=2-3"]);
        let line = full.applied(&CommandLine::parse("isolcpus=2-3 quiet rcu_nocbs=2-3"));
        assert_eq!(line.to_string(), "quiet nohz_full=2-3 isolcpus=domain,2-3");
    }

    #[test]
    fn what_the_kernel_treats_on_its_own_is_left() {
        assert_eq!(composed("nohz_full=2 rcu_nocbs", tick("3")).without, [""; 0], "a flag, not a list");
        assert_eq!(composed("nohz_full=2 rcu_nocbs=2:3", tick("3")).without, [""; 0], "another finding");
    }

    #[test]
    fn what_is_advised_apart_is_booted_together() {
        let at = reader();
        let beside = |line: &str, parameters: &[&str]| {
            let parameters: Vec<String> =
                parameters.iter().map(|parameter| (*parameter).to_owned()).collect();
            beside(&CommandLine::parse(line), &parameters, at).join(" ")
        };
        let line = "nohz_full=2-3 isolcpus=domain,2-3 quiet";
        assert_eq!(
            beside(line, &["nohz_full=6", "tsc=reliable"]),
            "nohz_full=2-3,6 isolcpus=domain,managed_irq,2-3,6 tsc=reliable"
        );
        assert_eq!(
            beside(line, &["irqaffinity=0-5,7", "isolcpus=managed_irq,domain,6", "rcu_nocbs=6"]),
            "nohz_full=2-3 isolcpus=domain,managed_irq,2-3,6 irqaffinity=0-1,4-5,7 rcu_nocbs=6"
        );
        assert_eq!(beside("quiet", &["isolcpus=domain,6"]), "isolcpus=domain,managed_irq,6 rcu_nocbs=6");
        assert_eq!(beside(line, &["isolcpus=domain,3"]), "nohz_full=2-3 isolcpus=domain,2-3", "as it is");
        assert_eq!(
            beside("quiet", &["isolcpus=domain,1", "isolcpus=managed_irq,domain,1", "nohz_full=1"]),
            "nohz_full=1 isolcpus=domain,managed_irq,1",
            "each parameter once"
        );
        assert_eq!(beside(line, &["nosoftlockup"]), "nosoftlockup");
        let all = "nohz_full=1-7 isolcpus=domain,managed_irq,1-7";
        assert_eq!(beside("", &["nohz_full=0-7"]), all, "as the kernel follows it");
    }

    #[test]
    fn what_is_in_force_however_it_is_written() {
        let at = reader();
        let line = CommandLine::parse("isolcpus=managed_irq,domain,2-3 quiet nohz_full=3,2");
        let in_force = |words: &str| {
            let parameters: Vec<String> = words.split(' ').map(str::to_owned).collect();
            is_in_force(&line, &parameters, at)
        };
        assert!(in_force("nohz_full=2-3 isolcpus=domain,managed_irq,2-3") && in_force("quiet"));
        assert!(!in_force("nohz_full=2-3 isolcpus=domain,managed_irq,2-4") && !in_force("rcu_nocbs=2"));
        let there = CommandLine::parse("nohz_full=2-3 irqaffinity=3,2");
        let said = |parameter: &str| is_in_force(&there, &[parameter.to_owned()], at);
        assert!(
            said("irqaffinity=2-3") && !said("irqaffinity=0-1"),
            "what is wrong is not what would be right"
        );
    }

    #[test]
    fn somebody_has_to_do_the_housekeeping() {
        let (line, present) = (CommandLine::parse("nohz_full=1-3 isolcpus=managed_irq,0"), CpuList::first(4));
        let at = Reader { possible: 4, present: &present, dialect: Dialect::upstream(6, 12) };
        assert_eq!(compose(&line, &Wanted::of(&line, at), at), None);
    }

    #[test]
    fn one_mask_takes_equal_lists() {
        let with = |line: &str, missing: Wanted, dialect: Dialect| {
            let line = CommandLine::parse(line);
            let wanted = Wanted::of(&line, on(dialect)).and(&missing);
            compose(&line, &wanted, on(dialect)).unwrap().to_string()
        };
        let old = Dialect::upstream(5, 4);
        assert_eq!(with("nohz_full=2-3", domain("2-4"), old), "nohz_full=2-4 isolcpus=domain,2-4");
        assert_eq!(with("isolcpus=0,2-3", tick("2-3"), old), "nohz_full=2-3 isolcpus=domain,2-3");
        assert_eq!(with("", domain("2-3"), Dialect::upstream(3, 10)), "isolcpus=2-3");
        let without = Dialect { has_full: Some(false), ..Dialect::upstream(6, 1) };
        assert_eq!(with("isolcpus=2", tick("2").and(&domain("2")), without), "isolcpus=domain,managed_irq,2");
    }

    /// The kernels between which the meaning of a line changes.
    const VERSIONS: [(u32, u32); 13] = [
        (3, 10),
        (4, 15),
        (4, 18),
        (5, 4),
        (5, 6),
        (5, 10),
        (5, 15),
        (5, 18),
        (6, 1),
        (6, 12),
        (6, 14),
        (6, 19),
        (7, 3),
    ];

    proptest! {
        /// A composed line is followed by the kernel that it is for: no parameter is refused, no flag skipped, no CPU
        /// lost that the kernel can be asked for.
        #[test]
        fn a_composed_line_is_followed_by_its_own_kernel(
            (major, minor) in prop::sample::select(&VERSIONS[..]),
            architecture in prop::option::of(prop::sample::select(vec![Architecture::X86, Architecture::Arm64])),
            has_full in prop::option::of(prop::bool::ANY),
            line in "((nohz_full|isolcpus|isolcpus=domain,managed_irq|isolcpus=nohz,domain|isolcpus=typo|irqaffinity|rcu_nocbs)=[0-9](-[1-9])? ?){0,4}",
            more in prop::collection::vec(prop::collection::btree_set(0u32..8, 0..4), 5),
        ) {
            let reader = on(Dialect { architecture, has_full, ..Dialect::upstream(major, minor) });
            let words = line.replace("domain=", "domain,").replace("irq=", "irq,").replace("typo=", "typo,");
            let line = CommandLine::parse(&words);
            let of = |n: usize| more[n].iter().copied().collect::<CpuList>();
            let tick = of(0).difference(&CpuList::first(1));
            let missing = Wanted { tick, domain: of(1), managed_irq: of(2), callbacks: of(3), interrupts: of(4) };
            let booted = Wanted::of(&line, reader);
            let booted = Wanted { tick: booted.tick.difference(&CpuList::first(1)), ..booted };
            let wanted = booted.and(&missing);
            if let Some(composed) = compose(&line, &wanted, reader) {
                let after = composed.applied(&line);
                let got = Isolation::replay(&after, reader);
                prop_assert_eq!(&got.outcomes, &Vec::<(String, Outcome)>::new(), "{} -> {}", &line, &after);
                let spoken = wanted.clone().spoken(reader);
                prop_assert!(spoken.tick.is_subset(&got.tick), "{line} -> {after}");
                prop_assert!(spoken.domain.is_subset(&got.domain), "{line} -> {after}");
                prop_assert!(spoken.managed_irq.is_subset(&got.managed_irq), "{line} -> {after}");
                // Beyond what was wanted only equal lists are asked for.
                prop_assert!(got.all().is_subset(&wanted.all()), "{line} -> {after}");
            }
        }

        #[test]
        fn nothing_is_lost_and_no_more_is_asked_twice(
            line in "((nohz_full|isolcpus|isolcpus=domain,managed_irq|isolcpus=nohz,domain|irqaffinity|rcu_nocbs)=[1-7] ?){0,3}",
            more in prop::collection::vec(prop::collection::btree_set(1u32..8, 0..4), 5),
        ) {
            let line = CommandLine::parse(&line.replace("domain=", "domain,").replace("irq=", "irq,"));
            let of = |n: usize| more[n].iter().copied().collect::<CpuList>();
            let missing = Wanted { tick: of(0), domain: of(1), managed_irq: of(2), callbacks: of(3), interrupts: of(4) };
            let at = reader();
            let wanted = Wanted::of(&line, at).and(&missing);
            let composed = compose(&line, &wanted, at).unwrap();
            let after = composed.applied(&line);
            let got = Wanted::of(&after, at);
            prop_assert!(wanted.tick.is_subset(&got.tick), "{line} -> {after}");
            prop_assert!(wanted.domain.is_subset(&got.domain), "{line} -> {after}");
            prop_assert!(wanted.managed_irq.is_subset(&got.managed_irq), "{line} -> {after}");
            let mut names: Vec<String> = composed.with.iter().map(|parameter| name_of(parameter)).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            prop_assert_eq!(names.len(), count, "{} -> {}", line, after);
            // And again it stays as it is.
            prop_assert_eq!(compose(&after, &got, at).unwrap().applied(&after).to_string(), after.to_string());
        }
    }
}
