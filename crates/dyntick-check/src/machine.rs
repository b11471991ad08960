// SPDX-License-Identifier: GPL-2.0-only
//! The facts of one machine, from its files.

mod cpusets;
mod idle;
mod irqs;
mod realtime;
mod tasks;

pub(crate) use cpusets::{Cpusets, Unbalanced};
pub use idle::IdleState;
pub use irqs::Irq;
pub use tasks::Task;

use crate::finding::Evidence;
use crate::snapshot::{Content, Snapshot};
use crate::sources::*;
use dyntick_model::boot::{self, Composed, Wanted};
use dyntick_model::{
    Architecture, CommandLine, CpuList, Dialect, Isolation, KernelConfig, KernelVersion, Masks, Outcome,
    Reader,
};

/// Why nothing can be said about a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// A file without which there are no facts.
    #[error("{0} is missing, and nothing can be checked without it: this is not a complete Linux system")]
    Missing(&'static str),
    /// A file that does not hold what it should.
    #[error("{file}: {reason}")]
    Damaged {
        /// The file.
        file: &'static str,
        /// What is wrong with its content.
        reason: String,
    },
    /// The user asked for CPUs that are not there.
    #[error("CPU {0} is not online; online: {1}")]
    NoSuchCpu(CpuList, CpuList),
}

/// One machine: what it is, what was asked of it, what it does.
#[derive(Debug)]
pub struct Machine<'a> {
    files: &'a Snapshot,
    /// The kernel that runs.
    pub kernel: KernelVersion,
    /// Its command line.
    pub line: CommandLine,
    /// Its configuration, and the file it is from, where there is one.
    pub config: Option<(String, KernelConfig)>,
    /// The CPUs that run.
    pub online: CpuList,
    /// The CPUs that are there, also those that do not run.
    pub present: CpuList,
    /// One more than the highest CPU number that can exist.
    pub possible: u32,
    /// How its kernel reads a command line.
    pub dialect: Dialect,
    /// The part of the command line that the kernel follows, as a replay of its parser has it.
    pub asked: Isolation,
    /// The parameters that no upstream kernel of this version would follow, and this one does: it was changed.
    pub patched: Vec<String>,
    /// The CPUs with adaptive ticks, as the kernel says. One that was not built for them says nothing.
    pub nohz_full: CpuList,
    /// The CPUs outside load balancing: by the command line, isolated partitions and cpusets of control groups v1.
    pub isolated: CpuList,
    /// The partitions of control groups that are not `member`: file and state.
    pub partitions: Vec<(String, String)>,
    /// The cpusets of control groups v1 without load balancing.
    pub(crate) cpusets: Cpusets,
    /// The CPUs to judge: those that the user named, else all that are isolated in any way.
    pub target: CpuList,
    /// Whether the user named them.
    pub named: bool,
    /// The tasks, one per thread.
    pub tasks: Vec<Task>,
    /// The device interrupts that have a handler.
    pub irqs: Vec<Irq>,
}

impl<'a> Machine<'a> {
    /// From a machine's files; `named` limits what is judged to some CPUs.
    ///
    /// # Errors
    /// Where a file is missing or damaged without which nothing can be told, or a named CPU does not run.
    pub fn new(files: &'a Snapshot, named: Option<&CpuList>) -> Result<Self, MachineError> {
        let need = |file| files.text(file).map(str::trim).ok_or(MachineError::Missing(file));
        let damaged = |file, reason: String| MachineError::Damaged { file, reason };
        let list = |file| need(file)?.parse::<CpuList>().map_err(|e| damaged(file, e.to_string()));
        let kernel: KernelVersion = need(RELEASE)?
            .parse()
            .map_err(|e: dyntick_model::KernelVersionError| damaged(RELEASE, e.to_string()))?;
        let line = need(CMDLINE)?;
        if line.len() > LONGEST_LINE {
            return Err(damaged(
                CMDLINE,
                format!("it has {} bytes, more than any kernel accepts", line.len()),
            ));
        }
        let line = CommandLine::parse(line);
        let online = list(ONLINE)?;
        let possible = list(POSSIBLE)?.last().map_or(1, |last| last + 1);
        let present = list(PRESENT).unwrap_or_else(|_| online.clone());
        if let Some(absent) = named.map(|named| named.difference(&online)).filter(|absent| !absent.is_empty())
        {
            return Err(MachineError::NoSuchCpu(absent, online));
        }
        let config = config(files, &kernel);
        let dialect = Dialect {
            has_full: has_full(files, config.as_ref()),
            architecture: architecture(files, &kernel),
            ..Dialect::of(&kernel)
        };
        let mut asked = Isolation::replay(&line, Reader { possible, present: &present, dialect });
        // Without CPUs some kernels print "(null)".
        let sysfs = |file| files.text(file).map(|text| text.trim().parse::<CpuList>().unwrap_or_default());
        let unsaid = if dialect.has_full == Some(true) { asked.tick.clone() } else { CpuList::default() };
        let nohz_full = sysfs(NOHZ_FULL).unwrap_or(unsaid);
        let partitions = partitions(files);
        let booted = sysfs(ISOLATED).unwrap_or_else(|| asked.domain.clone());
        let patched = patched(&mut asked, &nohz_full, &booted);
        let cpusets = Cpusets::read(files, &online);
        let isolated = booted.union(&isolated_by_partitions(files, &partitions)).union(&cpusets.isolated);
        let mut machine = Self {
            config,
            target: named.cloned().unwrap_or_else(|| nohz_full.union(&isolated)).intersection(&online),
            dialect,
            patched,
            named: named.is_some(),
            tasks: tasks::read(files),
            irqs: irqs::read(files),
            files,
            kernel,
            line,
            online,
            present,
            possible,
            asked,
            nohz_full,
            isolated,
            partitions,
            cpusets,
        };
        machine.dialect.is_rt = machine.is_rt();
        Ok(machine)
    }

    /// The CPUs that are left for everything else.
    pub fn housekeeping(&self) -> CpuList {
        let rest =
            self.online.difference(&self.target).difference(&self.nohz_full).difference(&self.isolated);
        if rest.is_empty() { self.online.difference(&self.target) } else { rest }
    }

    /// The machine as a reader of a command line.
    pub fn reader(&self) -> Reader<'_> {
        Reader { possible: self.possible, present: &self.present, dialect: self.dialect }
    }

    /// The part of a line that this kernel would follow.
    pub(crate) fn replayed(&self, line: &CommandLine) -> Isolation {
        Isolation::replay(line, self.reader())
    }

    /// The isolation that the command line asks for, as far as the kernel follows it. The boot CPU is left out if it
    /// keeps its tick all the same. Of two lists that the kernel wants equal the common CPUs remain.
    pub fn wanted(&self) -> Wanted {
        let Isolation { tick, domain, managed_irq, .. } = self.asked.clone();
        let wanted = self.agreed().unwrap_or(Wanted { tick, domain, managed_irq, ..Wanted::default() });
        let kept = self.kept_boot_cpu();
        Wanted {
            tick: wanted.tick.difference(&kept),
            domain: wanted.domain.difference(&kept),
            managed_irq: wanted.managed_irq.difference(&kept),
            ..wanted
        }
    }

    /// The boot CPU, if the line asks for its tick to stop, which never does.
    fn kept_boot_cpu(&self) -> CpuList {
        self.asked.tick.intersection(&CpuList::first(1)).difference(&self.nohz_full)
    }

    /// The CPUs that all lists name of a line that was refused in part because they differ; none if no CPU is in all, or
    /// the kernel does not compare lists of different types.
    fn agreed(&self) -> Option<Wanted> {
        let differ = self.dialect.masks() == Masks::One;
        let refused = self.asked.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Mismatch);
        let refused: Vec<Isolation> =
            refused.map(|(word, _)| self.replayed(&CommandLine::parse(word))).filter(|_| differ).collect();
        let common = refused.iter().fold(self.asked.all(), |sum, list| sum.intersection(&list.all()));
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

    /// The parameters to boot with so that this is kept away beside all that is already.
    ///
    /// # Errors
    /// The reason why no line is offered.
    pub fn composed(&self, missing: &Wanted) -> Result<Composed, NoLine> {
        self.composed_on(&self.line, self.wanted().and(&self.offered(missing)?))
    }

    /// The same with the tick in `nohz_full=`, where the line has it under a flag of `isolcpus=`.
    pub(crate) fn composed_apart(&self, missing: &Wanted) -> Result<Composed, NoLine> {
        let wanted = self.wanted().and(&self.offered(missing)?);
        let full = format!("nohz_full={}", wanted.tick);
        let line = self.line.with(self.line.iter().chain([full.as_str()]));
        self.composed_on(&line, wanted)
    }

    /// The parameters to boot with in place of those of a line so that just this is kept away.
    ///
    /// # Errors
    /// The reason why no line is offered.
    pub(crate) fn composed_of(&self, line: &CommandLine, wanted: &Wanted) -> Result<Composed, NoLine> {
        self.composed_on(line, wanted.clone())
    }

    /// The part of what is missing that may be offered: not the isolation of the boot CPU, and none from load balancing
    /// after which a BPF scheduler that is in use would not load (`kernel/sched/ext.c: scx_ops_enable`, 6.12).
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

    /// The same for CPUs that no parameter was to take out of load balancing: none if one CPU would be left for all other
    /// programs where the line left more.
    pub(crate) fn composed_anew(&self, missing: &Wanted) -> Result<Composed, NoLine> {
        let now = self.wanted();
        let left = |wanted: &Wanted| self.present.difference(&wanted.domain.union(&wanted.managed_irq)).len();
        let few = left(&now.and(missing)) == 1 && left(&now) > 1 && self.present.len() > 2;
        if few { Err(NoLine::OneLeft) } else { self.composed(missing) }
    }

    /// Whether a BPF scheduler (sched_ext) is loaded.
    pub fn has_bpf_scheduler(&self) -> bool {
        self.text(SCHED_EXT) == Some("enabled")
    }

    fn composed_on(&self, line: &CommandLine, mut wanted: Wanted) -> Result<Composed, NoLine> {
        if !self.patched.is_empty() {
            return Err(NoLine::Patched);
        }
        // What the line says of interrupts is written anew: off the CPUs that the user has named, too.
        if self.line.get("irqaffinity").is_some() {
            wanted.interrupts = wanted.interrupts.union(&self.target);
        }
        let kept = self.kept_boot_cpu();
        let line = self.with_callbacks(line, |named| named.difference(&kept));
        let mut composed = boot::compose(&line, &wanted, self.reader()).ok_or(NoLine::NoneLeft)?;
        let changed = line.get("rcu_nocbs").map(|list| format!("rcu_nocbs={list}"));
        for word in composed.without.iter_mut().filter(|word| changed.as_ref() == Some(&**word)) {
            // As the line has it.
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

    /// Its files as they would be if it were booted with this line, as far as the line decides them.
    pub(crate) fn booted_with(&self, line: &CommandLine) -> Snapshot {
        let asked = self.replayed(line);
        let mut files = self.files.clone();
        let mut write = |file: &str, text: String| files.insert(file, Content::Text(text));
        write(CMDLINE, line.to_string());
        write(ISOLATED, asked.domain.to_string());
        if self.dialect.has_full != Some(false) {
            // The boot CPU keeps its tick (`tick_nohz_init`).
            write(NOHZ_FULL, asked.tick.difference(&CpuList::first(1)).to_string());
        }
        files
    }

    /// The judged CPUs that are among `cpus`.
    pub fn of_target(&self, cpus: &CpuList) -> CpuList {
        self.target.intersection(cpus)
    }

    /// A file's text, without the white space around it.
    pub fn text(&self, path: &str) -> Option<&'a str> {
        self.files.text(path).map(str::trim)
    }

    /// A file's number.
    pub fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// A file's cpulist.
    pub fn cpus(&self, path: &str) -> Option<CpuList> {
        self.text(path)?.parse().ok()
    }

    /// The files of a pattern with their texts.
    pub fn matching(&self, pattern: &'static str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let files = self.files;
        files.matching(pattern).map(|(path, text)| (path, text.trim()))
    }

    /// The file of one CPU: the pattern's first `cpu*` made this one.
    pub fn of_cpu(&self, pattern: &str, cpu: u32) -> (String, Option<&'a str>) {
        let path = pattern.replacen("cpu*", &format!("cpu{cpu}"), 1);
        let text = self.text(&path);
        (path, text)
    }

    /// A file and the first line of its text, where it was read.
    pub fn evidence(&self, path: &str) -> Option<Evidence> {
        let value = self.text(path)?.lines().next().unwrap_or_default().to_owned();
        Some(Evidence { file: path.to_owned(), value })
    }

    /// A parameter of the command line as written, the last of its name.
    pub fn said(&self, name: &str) -> Option<Evidence> {
        let same = |parameter: &&str| {
            parameter.split('=').next().is_some_and(|key| key.replace('-', "_") == name.replace('-', "_"))
        };
        self.line.iter().filter(same).last().map(said)
    }

    /// Whether an option of the kernel's configuration is on, by the configuration or by what only such a kernel does;
    /// `None` where neither is known.
    pub fn has(&self, option: &str) -> Option<bool> {
        let configured = self.config.as_ref().map(|(_, config)| config.is_enabled(option));
        match option {
            "NO_HZ_FULL" => self.dialect.has_full,
            "RCU_NOCB_CPU" => configured.or_else(|| self.lists_as_unknown("rcu_nocbs").then_some(false)),
            _ => configured,
        }
    }

    /// Whether the kernel's log has a parameter in its list of unknown ones.
    pub(crate) fn lists_as_unknown(&self, name: &str) -> bool {
        let is = |word: &str| word.trim_matches(['"', ',', '.']).split('=').next() == Some(name);
        self.unknown_parameters().is_some_and(|line| line.split(' ').any(is))
    }

    /// The log's line about parameters that the kernel does not know (`init/main.c: print_unknown_bootoptions`).
    pub(crate) fn unknown_parameters(&self) -> Option<&'a str> {
        // 5.14 says it in other words.
        ["Unknown kernel command line parameters", "Unknown command line parameters"]
            .into_iter()
            .find_map(|text| self.logged(text).next())
    }

    /// The evidence that the kernel lacks an option.
    pub(crate) fn lacks(&self, option: &str) -> Vec<Evidence> {
        let log = |line: &str| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() };
        let mut seen: Vec<Evidence> = Vec::new();
        if option == "NO_HZ_FULL" {
            seen.extend(self.logged("nohz unsupported").map(log));
            if self.files.text(NOHZ_FULL).is_none() && self.files.text(ISOLATED).is_some() {
                seen.push(Evidence { file: NOHZ_FULL.to_owned(), value: "not there".to_owned() });
            }
        }
        seen.extend(self.option(option));
        if seen.is_empty() {
            seen.extend(self.unknown_parameters().map(log));
        }
        seen
    }

    /// A configuration option as evidence.
    pub fn option(&self, option: &str) -> Option<Evidence> {
        let (file, config) = self.config.as_ref()?;
        let value = match config.get(option) {
            Some(value) => format!("CONFIG_{option}={value}"),
            None => format!("# CONFIG_{option} is not set"),
        };
        Some(Evidence { file: file.clone(), value })
    }

    /// The lines of the kernel's log that mention a text, without their prefix.
    pub fn logged(&self, text: &'static str) -> impl Iterator<Item = &'a str> {
        let log = self.text(KERNEL_LOG).unwrap_or_default();
        let plain = |line: &'a str| line.split_once(';').map_or(line, |(_, message)| message);
        log.lines().filter(move |line| line.contains(text)).map(plain)
    }

    /// Whether a task of this name runs.
    pub fn runs(&self, name: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.name == name && !task.kernel)
    }

    /// Whether it runs under a hypervisor (x86: CPUID leaf 1, ECX bit 31).
    pub fn is_guest(&self) -> bool {
        self.cpu_flag("hypervisor")
    }

    /// Whether `/proc/cpuinfo` lists a flag.
    pub fn cpu_flag(&self, flag: &str) -> bool {
        let flags = self.text(CPUINFO).unwrap_or_default().lines().find(|line| line.starts_with("flags"));
        flags.is_some_and(|line| line.split_ascii_whitespace().any(|word| word == flag))
    }

    /// The maker of its processors, on x86.
    pub fn vendor(&self) -> Option<&'a str> {
        let line = self.text(CPUINFO)?.lines().find(|line| line.starts_with("vendor_id"))?;
        line.split_once(':').map(|(_, vendor)| vendor.trim())
    }

    /// The programs that may run on some of these CPUs and elsewhere.
    pub fn strays(&self, cpus: &CpuList) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(move |task| {
            let there = !task.allowed.intersection(cpus).is_empty();
            !task.kernel && there && !task.allowed.is_subset(cpus)
        })
    }

    /// The programs that may run on these CPUs only.
    pub fn pinned(&self, cpus: &CpuList) -> impl Iterator<Item = &Task> {
        let only = move |task: &&Task| !task.allowed.is_empty() && task.allowed.is_subset(cpus);
        self.tasks.iter().filter(|task| !task.kernel).filter(only)
    }

    /// The evidence of a service that keeps CPUs free by the affinity of tasks: a profile of tuned for that, systemd
    /// (CPUAffinity=), or a kubelet.
    pub fn manager(&self) -> Option<Evidence> {
        const PARAMETERS: [&str; 2] = ["tuned.non_isolcpus", "systemd.cpu_affinity"];
        const PROFILES: [&str; 4] = ["cpu-partitioning", "realtime", "openshift", "microshift"];
        const KUBELETS: [&str; 4] = ["kubelet", "microshift", "k3s-server", "rke2"];
        let by_line = PARAMETERS.iter().find_map(|name| self.said(name));
        let profile = || {
            let profile = self.evidence(TUNED_PROFILE)?;
            let confines = PROFILES.iter().any(|word| profile.value.contains(word));
            (confines && self.runs("tuned").is_some()).then_some(profile)
        };
        let kubelet = || {
            let task = KUBELETS.iter().find_map(|name| self.runs(name))?;
            Some(Evidence { file: task.file.clone(), value: task.name.clone() })
        };
        let pods = || {
            let (path, _) = self.matching(TASK_CGROUP).find(|(_, text)| text.contains("kubepods"))?;
            self.evidence(path)
        };
        // The kernel starts init on all CPUs that are load balanced.
        let init = || {
            let init = self.tasks.iter().find(|task| task.tid == 1)?;
            let balanced = self.online.difference(&self.isolated);
            (!balanced.is_subset(&init.allowed)).then(|| init.affinity())
        };
        by_line.or_else(profile).or_else(kubelet).or_else(pods).or_else(init)
    }

    /// Whether the kernel is at least this.
    pub fn since(&self, major: u32, minor: u32) -> bool {
        (self.kernel.major, self.kernel.minor) >= (major, minor)
    }

    /// Where IRQ, task or work may go: for a command that moves something away.
    pub fn elsewhere(&self) -> String {
        self.housekeeping().to_string()
    }
}

/// The reason why no command line is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLine {
    /// No CPU would be left for everything else.
    NoneLeft,
    /// One CPU would be left for everything else, where the line left more.
    OneLeft,
    /// The kernel reads its command line in another way than any upstream kernel.
    Patched,
    /// The BPF scheduler that is loaded refuses to load beside `isolcpus=domain`.
    BpfScheduler,
}

impl NoLine {
    /// The advice that stands for the line.
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
                "do not boot with isolcpus=domain: the BPF scheduler that is loaded refuses to load beside it \
                 (scx_enable, EINVAL). An isolated cpuset partition does not have this effect"
            }
        }
    }
}

/// Whether the kernel has adaptive ticks. The file of their CPUs exists exactly in kernels with the option
/// (`drivers/base/cpu.c`), so its absence beside its neighbour says no.
fn has_full(files: &Snapshot, config: Option<&(String, KernelConfig)>) -> Option<bool> {
    let unsupported = files.text(KERNEL_LOG).is_some_and(|log| log.contains("nohz unsupported"));
    match (files.text(NOHZ_FULL), config) {
        (Some(_), _) => Some(true),
        _ if unsupported => Some(false),
        (None, Some((_, config))) => Some(config.is_enabled("NO_HZ_FULL")),
        (None, None) => files.text(ISOLATED).map(|_| false),
    }
}

/// The architecture, from the processor's description, the clock that only one has, or the release.
fn architecture(files: &Snapshot, kernel: &KernelVersion) -> Option<Architecture> {
    let cpuinfo = files.text(CPUINFO).unwrap_or_default();
    let has = |word: &str| cpuinfo.lines().any(|line| line.starts_with(word));
    let is_arm =
        has("CPU implementer") || files.text(CLOCKSOURCE).is_some_and(|name| name.contains("arch_sys"));
    match (has("vendor_id") || has("flags"), is_arm) {
        (_, true) if has("CPU architecture: 7") || has("CPU architecture:\t7") => Some(Architecture::Arm),
        (_, true) => Some(Architecture::Arm64),
        (true, _) => Some(Architecture::X86),
        _ => Architecture::of_release(&kernel.release),
    }
}

/// The parameters that a replay of the upstream parser refuses or skips in part although the kernel lists CPUs that only
/// they can be about. What the kernel lists then stands for what they ask.
fn patched(asked: &mut Isolation, nohz_full: &CpuList, booted: &CpuList) -> Vec<String> {
    let refuses = |outcome: &Outcome| {
        use Outcome::{Beyond, IllegalFlag, NoList, SkippedFlag, UnknownFlag};
        matches!(outcome, NoList(_) | Beyond(_) | IllegalFlag(_) | UnknownFlag(_) | SkippedFlag(_))
    };
    let more = !nohz_full.is_subset(&asked.tick) || !booted.is_subset(&asked.domain);
    let refused = |(_, outcome): &(String, Outcome)| refuses(outcome);
    if !more || !asked.outcomes.iter().any(refused) {
        return Vec::new();
    }
    let (unexplained, rest): (Vec<_>, _) = std::mem::take(&mut asked.outcomes).into_iter().partition(refused);
    *asked = Isolation {
        tick: nohz_full.clone(),
        noise: nohz_full.clone(),
        domain: booted.clone(),
        managed_irq: asked.managed_irq.clone(),
        outcomes: rest,
    };
    // Kernels without CPUMASK_OFFSTACK pass over CPUs that cannot exist (5.14 to 6.0, RHEL 8.6 and newer).
    let is_strange = |outcome: &Outcome| !matches!(outcome, Outcome::Beyond(_));
    let strange = unexplained.into_iter().filter(|(_, outcome)| is_strange(outcome));
    strange.map(|(parameter, _)| parameter).collect()
}

/// A parameter as evidence.
pub(crate) fn said(parameter: &str) -> Evidence {
    Evidence { file: CMDLINE.to_owned(), value: parameter.to_owned() }
}

/// `COMMAND_LINE_SIZE` has up to 4 KiB, and a boot configuration (`XBC_DATA_MAX`) 32 KiB.
const LONGEST_LINE: usize = 40 << 10;

/// The configuration that belongs to the running kernel.
fn config(files: &Snapshot, kernel: &KernelVersion) -> Option<(String, KernelConfig)> {
    let places = [CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG].map(|place| place.replace('*', &kernel.release));
    places.into_iter().find_map(|path| {
        let config = KernelConfig::parse(files.text(&path)?);
        Some((path, config))
    })
}

fn partitions(files: &Snapshot) -> Vec<(String, String)> {
    let found = [PARTITION, PARTITION_2, PARTITION_3].into_iter().flat_map(|pattern| files.matching(pattern));
    found.map(|(path, text)| (path.to_owned(), text.lines().next().unwrap_or_default().to_owned())).collect()
}

/// The second line of a partition's file is its CPUs, as the reader wrote it.
fn isolated_by_partitions(files: &Snapshot, partitions: &[(String, String)]) -> CpuList {
    let isolated = partitions.iter().filter(|(_, state)| state == "isolated");
    let cpus = isolated.filter_map(|(path, _)| files.text(path)?.lines().nth(1)?.parse::<CpuList>().ok());
    cpus.fold(CpuList::default(), |sum, cpus| sum.union(&cpus))
}
