// SPDX-License-Identifier: GPL-2.0-only
//! The facts of one machine, from its files.

mod built;
mod composed;
mod cpusets;
mod idle;
mod irqs;
mod placed;
mod realtime;
mod tasks;

pub use composed::NoLine;
pub(crate) use composed::has_dash;
pub(crate) use cpusets::Cpusets;
pub use idle::IdleState;
pub use irqs::Irq;
pub use tasks::Task;

use crate::finding::Evidence;
use crate::snapshot::{Content, Snapshot};
use crate::sources::*;
use dyntick_model::{
    CommandLine, CpuList, Dialect, Isolation, KernelConfig, KernelVersion, Reader, boot, parameters,
};

/// An error that makes a machine impossible to check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// A required file is missing.
    #[error("{0} is missing, and nothing can be checked without it: this is not a complete Linux system")]
    Missing(&'static str),
    /// A file has unexpected content.
    #[error("{file}: {reason}")]
    Damaged {
        /// The file.
        file: &'static str,
        /// The fault in its content.
        reason: String,
    },
    /// The user asked for CPUs that are not online.
    #[error("CPU {0} is not online; online: {1}")]
    NoSuchCpu(CpuList, CpuList),
}

/// The facts of one machine: its kernel, its command line and its state.
#[derive(Debug)]
pub struct Machine<'a> {
    files: &'a Snapshot,
    /// The running kernel.
    pub kernel: KernelVersion,
    /// Its command line.
    pub line: CommandLine,
    /// The kernel's configuration and its file, if there is one.
    pub config: Option<(String, KernelConfig)>,
    /// The online CPUs.
    pub online: CpuList,
    /// The present CPUs, offline ones included.
    pub present: CpuList,
    /// One more than the highest CPU number that can exist.
    pub possible: u32,
    /// The dialect in which its kernel reads a command line.
    pub dialect: Dialect,
    /// The isolation that a replay of the kernel's parser finds on the command line.
    pub asked: Isolation,
    /// The parameters that this kernel follows and no upstream kernel of its version would: the kernel was patched.
    pub patched: Vec<String>,
    /// The CPUs with adaptive ticks, as the kernel reports them, else as its command line asks; empty if the kernel was
    /// not built for them.
    pub nohz_full: CpuList,
    /// The CPUs outside load balancing: by the command line, isolated partitions and cpusets of control groups v1.
    pub isolated: CpuList,
    /// The cpuset partitions other than `member`: file and state.
    pub partitions: Vec<(String, String)>,
    /// The cpusets of control groups v1 without load balancing.
    pub(crate) cpusets: Cpusets,
    /// The CPUs to judge: those that the user named, else all that are isolated in any way.
    pub target: CpuList,
    /// True if the user named them.
    pub named: bool,
    /// The tasks, one per thread.
    pub tasks: Vec<Task>,
    /// The device interrupts with a handler.
    pub irqs: Vec<Irq>,
}

impl<'a> Machine<'a> {
    /// Reads the facts from a machine's files; `named` limits the judgement to some CPUs.
    ///
    /// # Errors
    /// If a required file is missing or damaged, or a named CPU is not online.
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
        let config = built::config(files, &kernel);
        let dialect = Dialect {
            has_full: built::has_full(files, config.as_ref()),
            architecture: built::architecture(files, &kernel),
            ..Dialect::of(&kernel)
        };
        let mut asked = Isolation::replay(&line, Reader { possible, present: &present, dialect });
        // Without CPUs some kernels print "(null)".
        let sysfs = |file| files.text(file).map(|text| text.trim().parse::<CpuList>().unwrap_or_default());
        let unsaid = if dialect.has_full == Some(false) { CpuList::default() } else { asked.tick.clone() };
        let nohz_full = sysfs(NOHZ_FULL).unwrap_or(unsaid);
        let partitions = partitions(files);
        let booted = sysfs(ISOLATED).unwrap_or_else(|| asked.domain.clone());
        let patched = built::patched(&mut asked, &nohz_full, &booted);
        let cpusets = Cpusets::read(files, &online);
        // If no CPU is balanced, none is set apart from the others.
        let by_cpusets = cpusets.isolated.clone();
        let by_cpusets = if online.is_subset(&by_cpusets) { CpuList::default() } else { by_cpusets };
        let isolated = booted.union(&isolated_by_partitions(files, &partitions)).union(&by_cpusets);
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

    /// The CPUs with adaptive ticks, if a file has them, or shows that the kernel has none.
    pub fn reported_nohz_full(&self) -> Option<&CpuList> {
        let is_told = self.text(NOHZ_FULL).is_some() || self.dialect.has_full == Some(false);
        is_told.then_some(&self.nohz_full)
    }

    /// The CPUs outside load balancing, if the kernel's list of them was read.
    pub fn reported_isolated(&self) -> Option<&CpuList> {
        self.text(ISOLATED).map(|_| &self.isolated)
    }

    /// The housekeeping CPUs.
    pub fn housekeeping(&self) -> CpuList {
        let rest =
            self.online.difference(&self.target).difference(&self.nohz_full).difference(&self.isolated);
        if rest.is_empty() { self.online.difference(&self.target) } else { rest }
    }

    /// The files as they would be after a boot with this line, as far as the line decides them.
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

    /// A file's text without surrounding white space.
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

    /// A file and the first line of its text, if it was read.
    pub fn evidence(&self, path: &str) -> Option<Evidence> {
        let value = self.text(path)?.lines().next().unwrap_or_default().to_owned();
        Some(Evidence { file: path.to_owned(), value })
    }

    /// A parameter of the command line as written, the last of its name.
    pub fn said(&self, name: &str) -> Option<Evidence> {
        self.line.iter().filter(|word| has_name(word, name)).last().map(said)
    }

    /// Returns true if a configuration option is on, by the configuration or by the kernel's behaviour; `None` if
    /// neither is known.
    pub fn has(&self, option: &str) -> Option<bool> {
        let configured = self.config.as_ref().map(|(_, config)| config.is_enabled(option));
        match option {
            "NO_HZ_FULL" => self.dialect.has_full,
            // The other option selects it.
            "RCU_NOCB_CPU" if self.dialect.has_full == Some(true) => Some(true),
            // `mm/Kconfig`: never with PREEMPT_RT.
            "TRANSPARENT_HUGEPAGE" if self.text(THP).is_some() => Some(true),
            "TRANSPARENT_HUGEPAGE" => configured.or_else(|| self.is_rt().then_some(false)),
            "RCU_NOCB_CPU" => configured.or_else(|| self.lists_as_unknown("rcu_nocbs").then_some(false)),
            _ => configured,
        }
    }

    /// Returns true if the kernel's log lists a parameter as unknown. One that it knows, and of which it refuses the
    /// value, is listed too (`init/main.c: obsolete_checksetup`).
    pub(crate) fn lists_as_unknown(&self, name: &str) -> bool {
        self.unknown_words().any(|word| has_name(word, name))
    }

    /// The parameters that the kernel's log lists as unknown.
    pub(crate) fn unknown_words(&self) -> impl Iterator<Item = &'a str> {
        let listed = self.unknown_parameters().and_then(|line| Some(line.split_once('"')?.1));
        let listed = listed.map_or("", |listed| listed.rsplit_once('"').map_or(listed, |(listed, _)| listed));
        listed.split(' ').filter(|word| !word.is_empty())
    }

    /// Returns true if the log still has the messages of the boot, by its first record or its list of unknown
    /// parameters.
    pub(crate) fn log_reaches_boot(&self) -> bool {
        let is_first =
            |line: &str| line.split_once(';').and_then(|(head, _)| head.split(',').nth(1)) == Some("0");
        self.unknown_parameters().is_some() || self.text(KERNEL_LOG).unwrap_or_default().lines().any(is_first)
    }

    /// The reason why this kernel would ignore a parameter, `NAME` or `NAME=VALUE`, if it is known to.
    pub(crate) fn refuses(&self, parameter: &str) -> Option<String> {
        let (name, value) =
            parameter.split_once('=').map_or((parameter, None), |(name, value)| (name, Some(value)));
        let known = parameters::known(name);
        if let Some(option) =
            parameters::option_of(parameter).filter(|option| self.has(option) == Some(false))
        {
            return Some(format!("it was built without CONFIG_{option}"));
        }
        if let Some(known) = known.filter(|known| known.is_newer_than(self.dialect)) {
            return Some(format!(
                "the parameter is not in kernels before {}.{}",
                known.since.0, known.since.1
            ));
        }
        // A listed parameter with a value that no such kernel takes was refused for that.
        let is_value_good = |word: &str| match (known, word.split_once('=')) {
            (Some(known), Some((_, value))) => known.values.knows(value, self.dialect),
            _ => true,
        };
        // A kernel with isolation lists bad lists of CPUs too.
        let may_be_listed = !boot::is_composed(name);
        if may_be_listed && self.unknown_words().any(|word| has_name(word, name) && is_value_good(word)) {
            return Some("its log lists the parameter as unknown".to_owned());
        }
        let is_value_bad =
            value.zip(known).is_some_and(|(value, known)| !known.values.knows(value, self.dialect));
        is_value_bad.then(|| "it does not know this value".to_owned())
    }

    /// The log's line about parameters that the kernel does not know (`init/main.c: print_unknown_bootoptions`).
    pub(crate) fn unknown_parameters(&self) -> Option<&'a str> {
        // 5.14 words it differently.
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

    /// Returns the running task with this name.
    pub fn runs(&self, name: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.name == name && !task.kernel)
    }

    /// Returns true if it runs under a hypervisor (x86: CPUID leaf 1, ECX bit 31).
    pub fn is_guest(&self) -> bool {
        self.cpu_flag("hypervisor")
    }

    /// Returns true if `/proc/cpuinfo` lists a flag.
    pub fn cpu_flag(&self, flag: &str) -> bool {
        let flags = self.text(CPUINFO).unwrap_or_default().lines().find(|line| line.starts_with("flags"));
        flags.is_some_and(|line| line.split_ascii_whitespace().any(|word| word == flag))
    }

    /// The vendor of its processors, on x86.
    pub fn vendor(&self) -> Option<&'a str> {
        let line = self.text(CPUINFO)?.lines().find(|line| line.starts_with("vendor_id"))?;
        line.split_once(':').map(|(_, vendor)| vendor.trim())
    }

    /// Returns true if the kernel has at least this version.
    pub fn since(&self, major: u32, minor: u32) -> bool {
        (self.kernel.major, self.kernel.minor) >= (major, minor)
    }

    /// The CPUs to which a command may move an IRQ, a task or work.
    pub fn elsewhere(&self) -> String {
        self.housekeeping().to_string()
    }
}

/// Returns true if a word of a command line is a parameter of this name; hyphens count as underscores.
pub(crate) fn has_name(word: &str, name: &str) -> bool {
    word.split('=').next().is_some_and(|key| key.replace('-', "_") == name.replace('-', "_"))
}

/// A parameter as evidence.
pub(crate) fn said(parameter: &str) -> Evidence {
    Evidence { file: CMDLINE.to_owned(), value: parameter.to_owned() }
}

/// `COMMAND_LINE_SIZE` has up to 4 KiB, and a boot configuration (`XBC_DATA_MAX`) 32 KiB.
const LONGEST_LINE: usize = 40 << 10;

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
