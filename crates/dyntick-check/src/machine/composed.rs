// SPDX-License-Identifier: GPL-2.0-only
//! The command line that is suggested for a machine: isolation that its kernel follows and that does no harm there.

use super::Machine;
use super::built::is_misspelt;
use crate::sources::SCHED_EXT;
use dyntick_model::boot::{self, Composed, Wanted};
use dyntick_model::isolation::flags_and_list;
use dyntick_model::{CommandLine, CpuList, Flag, Isolation, Masks, Outcome, Reader, cpus_of};

/// Dashes that look like the hyphen of a range.
const DASHES: [char; 5] = ['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}'];

/// Returns true if a value has a dash that is not an ASCII hyphen.
pub(crate) fn has_dash(value: &str) -> bool {
    value.contains(DASHES)
}

/// The reason why no command line is suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLine {
    /// No CPU would be left for everything else.
    NoneLeft,
    /// One CPU would be left for everything else, and the line left more.
    OneLeft,
    /// The kernel does not read its command line as any upstream kernel does.
    Patched,
    /// The loaded BPF scheduler refuses to load with `isolcpus=domain`.
    BpfScheduler,
}

impl NoLine {
    /// The advice that replaces the line.
    pub fn advice(self) -> &'static str {
        match self {
            Self::NoneLeft => "leave at least one CPU out, for housekeeping",
            Self::OneLeft => {
                "decide first how many CPUs stay for all other programs: taking these CPUs out of load balancing \
                 would leave one"
            }
            Self::Patched => {
                "change the line in the way in which this kernel reads it: its parser is not the upstream one"
            }
            Self::BpfScheduler => {
                "do not boot with isolcpus=domain: the BPF scheduler that is loaded refuses to load with it \
                 (scx_enable, EINVAL). An isolated cpuset partition does not have this effect"
            }
        }
    }
}

impl Machine<'_> {
    /// The machine as the reader of a command line.
    pub fn reader(&self) -> Reader<'_> {
        Reader { possible: self.possible, present: &self.present, dialect: self.dialect }
    }

    /// The part of a line that this kernel would follow.
    pub(crate) fn replayed(&self, line: &CommandLine) -> Isolation {
        Isolation::replay(line, self.reader())
    }

    /// The isolation that the command line asks for, as far as the kernel follows it. The boot CPU is left out if it
    /// keeps its tick anyway. Of two lists that must be equal, the common CPUs remain. A parameter that the kernel
    /// refused for its spelling counts as intended.
    pub fn wanted(&self) -> Wanted {
        let Isolation { tick, domain, managed_irq, .. } = self.asked.clone();
        let followed = Wanted { tick, domain, managed_irq, ..Wanted::default() };
        let wanted = self.agreed().unwrap_or(followed).and(&self.repaired());
        let kept = self.kept_boot_cpu();
        Wanted {
            tick: wanted.tick.difference(&kept),
            domain: wanted.domain.difference(&kept),
            managed_irq: wanted.managed_irq.difference(&kept),
            ..wanted
        }
    }

    /// The boot CPU, if the line asks for its tick to stop, which it never does.
    fn kept_boot_cpu(&self) -> CpuList {
        self.asked.tick.intersection(&CpuList::first(1)).difference(&self.nohz_full)
    }

    /// The CPUs common to all lists of a line that was refused in part because they differ. `None` if no CPU is in
    /// all, or the kernel does not compare lists of different types.
    fn agreed(&self) -> Option<Wanted> {
        let differ = self.dialect.masks() == Masks::One;
        let refused = self.asked.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Mismatch);
        let refused: Vec<Isolation> =
            refused.map(|(word, _)| self.replayed(&CommandLine::parse(word))).filter(|_| differ).collect();
        // An empty first list is no list of CPUs.
        let first = [self.asked.all()].into_iter().chain(refused.iter().map(Isolation::all));
        let first = first.into_iter().find(|cpus| !cpus.is_empty()).unwrap_or_default();
        let common = refused.iter().fold(first, |sum, list| sum.intersection(&list.all()));
        let any = |of: fn(&Isolation) -> &CpuList| {
            let asks = [&self.asked].into_iter().chain(&refused).any(|isolation| !of(isolation).is_empty());
            if asks { common.clone() } else { CpuList::default() }
        };
        (!refused.is_empty() && !common.is_empty()).then(|| Wanted {
            tick: any(|isolation| &isolation.tick),
            domain: any(|isolation| &isolation.domain),
            managed_irq: any(|isolation| &isolation.managed_irq),
            ..Wanted::default()
        })
    }

    /// The isolation that refused parameters were intended to request.
    fn repaired(&self) -> Wanted {
        let refused = self.asked.outcomes.iter().filter(|(_, outcome)| is_misspelt(outcome));
        refused.fold(Wanted::default(), |sum, (parameter, _)| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let Some(value) = self.corrected(name, value) else { return sum };
            let meant = Wanted::of(&CommandLine::parse(&format!("{name}={value}")), self.reader());
            let meant = Wanted { tick: meant.tick.difference(&CpuList::first(1)), ..meant };
            sum.and(&self.not_followed(meant))
        })
    }

    /// The part of an isolation of which the kernel follows none yet. If it follows another parameter of the same kind,
    /// that one has the machine's CPUs: a refused or misspelt one beside it is a leftover.
    pub(crate) fn not_followed(&self, meant: Wanted) -> Wanted {
        let unless = |followed: &CpuList, meant: &CpuList| {
            if followed.is_empty() { meant.clone() } else { CpuList::default() }
        };
        let domain = unless(&self.asked.domain, &meant.domain);
        // They were asked for with it.
        let has_lost_domain = domain != meant.domain;
        Wanted {
            tick: unless(&self.asked.tick, &meant.tick),
            managed_irq: unless(&self.asked.managed_irq, &meant.managed_irq),
            callbacks: if has_lost_domain { CpuList::default() } else { meant.callbacks },
            domain,
            ..meant
        }
    }

    /// The intended value of `nohz_full=`, `isolcpus=` or `rcu_nocbs=`, if only its spelling is wrong: other
    /// dashes, misspelt or unknown flags, `N` and `all` on kernels that do not know them, or CPUs that cannot exist.
    pub(crate) fn corrected(&self, name: &str, value: &str) -> Option<String> {
        let value = value.replace(DASHES, "-").replace("..", "-");
        let (flags, list) = flags_and_list(&value);
        // Every kernel takes `isolcpus=all` for a flag.
        let is_all = list.is_empty() && flags.contains(&"all");
        let takes_flags = name == "isolcpus";
        let own = |word: &&str| Flag::meant(word).filter(|flag| takes_flags && self.dialect.knows(*flag));
        let flags: String = flags.iter().filter_map(own).map(|flag| format!("{},", flag.word())).collect();
        let boot_cpu = CpuList::first(1);
        let list = if is_all {
            CpuList::first(self.possible).difference(&boot_cpu)
        } else {
            cpus_of(list, self.possible).ok()?.intersection(&CpuList::first(self.possible))
        };
        (!list.is_empty()).then(|| format!("{flags}{list}"))
    }

    /// Composes the boot parameters that add this isolation to the present one.
    ///
    /// # Errors
    /// The reason why no line is offered.
    pub fn composed(&self, missing: &Wanted) -> Result<Composed, NoLine> {
        self.composed_on(&self.line, self.wanted().and(&self.offered(missing)?))
    }

    /// Does the same with the tick in `nohz_full=`, if the line has it under a flag of `isolcpus=`.
    pub(crate) fn composed_apart(&self, missing: &Wanted) -> Result<Composed, NoLine> {
        let wanted = self.wanted().and(&self.offered(missing)?);
        let full = format!("nohz_full={}", wanted.tick);
        let line = self.line.with(self.line.iter().chain([full.as_str()]));
        self.composed_on(&line, wanted)
    }

    /// Composes the boot parameters that replace those of a line so that exactly this is isolated.
    ///
    /// # Errors
    /// The reason why no line is offered.
    pub(crate) fn composed_of(&self, line: &CommandLine, wanted: &Wanted) -> Result<Composed, NoLine> {
        self.composed_on(line, wanted.clone())
    }

    /// The part of the missing isolation that may be suggested. It leaves out the boot CPU, and load balancing
    /// if a BPF scheduler in use would then refuse to load (`kernel/sched/ext.c: scx_ops_enable`, 6.12).
    fn offered(&self, missing: &Wanted) -> Result<Wanted, NoLine> {
        if !self.patched.is_empty() {
            return Err(NoLine::Patched);
        }
        let now = self.wanted();
        let boot_cpu = CpuList::first(1);
        let without = |cpus: &CpuList, now: &CpuList| cpus.difference(&boot_cpu.difference(now));
        let mut missing = Wanted {
            tick: without(&missing.tick, &now.tick),
            domain: without(&missing.domain, &now.domain),
            managed_irq: without(&missing.managed_irq, &now.managed_irq),
            ..missing.clone()
        };
        let more = missing.domain.difference(&now.domain);
        if more.is_empty() {
            return Ok(missing);
        }
        if self.has_bpf_scheduler() {
            missing.domain = CpuList::default();
            missing.managed_irq = missing.managed_irq.difference(&more);
            return if missing == Wanted::default() { Err(NoLine::BpfScheduler) } else { Ok(missing) };
        }
        Ok(missing)
    }

    /// Does the same for CPUs that no parameter was to take out of load balancing; fails if one CPU would be left for
    /// all other programs and the line left more.
    pub(crate) fn composed_anew(&self, missing: &Wanted) -> Result<Composed, NoLine> {
        let now = self.wanted();
        let left = |wanted: &Wanted| self.present.difference(&wanted.domain.union(&wanted.managed_irq)).len();
        let few = left(&now.and(missing)) == 1 && left(&now) > 1 && self.present.len() > 2;
        if few { Err(NoLine::OneLeft) } else { self.composed(missing) }
    }

    /// Returns true if a BPF scheduler (sched_ext) is loaded.
    pub fn has_bpf_scheduler(&self) -> bool {
        self.text(SCHED_EXT) == Some("enabled")
    }

    fn composed_on(&self, line: &CommandLine, mut wanted: Wanted) -> Result<Composed, NoLine> {
        if !self.patched.is_empty() {
            return Err(NoLine::Patched);
        }
        // The line's interrupt affinity is rewritten, to spare the CPUs that the user has named too.
        if self.line.get("irqaffinity").is_some() {
            wanted.interrupts = wanted.interrupts.union(&self.target);
        }
        let kept = self.kept_boot_cpu();
        let line = self.with_callbacks(line, |named| named.difference(&kept));
        let mut composed = boot::compose(&line, &wanted, self.reader()).ok_or(NoLine::NoneLeft)?;
        composed.with.retain(|word| self.refuses(word).is_none());
        let changed = line.get("rcu_nocbs").map(|list| format!("rcu_nocbs={list}"));
        for word in composed.without.iter_mut().filter(|word| changed.as_ref() == Some(&**word)) {
            // Keeps the line's own spelling.
            self.said("rcu_nocbs").into_iter().for_each(|said| *word = said.value);
        }
        Ok(composed)
    }

    /// The line with another list in `rcu_nocbs=`, if it has one.
    pub(crate) fn with_callbacks(&self, line: &CommandLine, to: impl Fn(&CpuList) -> CpuList) -> CommandLine {
        let change = |word: &str| match word.split_once('=') {
            Some(("rcu_nocbs", list)) => match self.reader().list(list).map(|named| to(&named)) {
                Ok(cpus) if !cpus.is_empty() => format!("rcu_nocbs={cpus}"),
                _ => word.to_owned(),
            },
            _ => word.to_owned(),
        };
        let words: Vec<String> = line.iter().map(change).collect();
        line.with(words.iter().map(String::as_str))
    }
}
