// SPDX-License-Identifier: GPL-2.0-only
//! What interrupted CPUs while a command ran on them: recorded and explained, or, where nothing can be
//! recorded, counted.

use crate::{About, Explained, Options, record};
use dyntick_explain::fixes::{Named, Target, boot_with};
use dyntick_explain::rules::named::NOT_ADAPTIVE;
use dyntick_explain::{CauseId, Summary, rules};
use dyntick_model::{CommandLine, CpuList, NANOS_PER_SEC};
use dyntick_observe::interrupts::Interrupts;
use dyntick_observe::thread::now_ns;
use dyntick_trace::DecodeError;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// What was seen.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Proof {
    /// How long the command ran, s.
    pub seconds: f64,
    /// The trace, explained.
    pub trace: Option<Trace>,
    /// Why there is none.
    pub no_trace: Option<String>,
    /// Rows of `/proc/interrupts`, with how often each came to the CPUs.
    pub rows: Vec<(String, u64)>,
}

/// What the trace shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Trace {
    /// One summary a CPU.
    pub per_cpu: Vec<Summary>,
    /// The causes, the most frequent first.
    pub causes: Vec<Cause>,
    /// Events that were lost; what they would have shown is missing.
    pub lost: u64,
    /// Parameters for the kernel's command line that remove what was seen.
    pub boot: Vec<String>,
    /// Whether ticks remain whatever the kernel is booted with: it has no CONFIG_NO_HZ_FULL. Then nothing is in `boot`.
    pub ticks_remain: bool,
}

/// A cause, over all CPUs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cause {
    /// Which.
    pub id: String,
    /// In words.
    pub title: &'static str,
    /// Interruptions, page faults and time slices of other user tasks.
    pub count: u64,
    /// Interruptions among them.
    pub interruptions: u64,
    /// Ticks among those.
    pub ticks: u64,
    /// Time in them, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// From the origin to the interruption.
    pub chain: Vec<String>,
}

/// Runs a command and observes what interrupts its CPUs. `run` starts it, calls what it is given when
/// it has begun, and waits for its end. `partition` says whether the CPUs are an isolated partition.
///
/// # Errors
/// A damaged trace. Where none can be recorded that is no error: [`Proof::no_trace`] says why.
pub fn observe<T>(
    cpus: &CpuList,
    partition: bool,
    words: &[String],
    run: impl FnOnce(&mut dyn FnMut()) -> T,
) -> Result<(Proof, T), DecodeError> {
    let mut outcome =
        Outcome { begun: 0, seconds: 0.0, before: Interrupts::default(), rows: Vec::new(), value: None };
    let mut run = Some(run);
    let mut job = || {
        let Some(run) = run.take() else { return };
        let start = Instant::now();
        outcome.before = interrupts();
        outcome.value = Some(run(&mut || {
            outcome.begun = now_ns();
            outcome.before = interrupts();
        }));
        outcome.seconds = start.elapsed().as_secs_f64();
        // Now, since ending the recording interrupts every CPU.
        outcome.rows = rows(cpus, &outcome.before);
    };
    let options = Options { command: words.to_vec(), ..Options::new(cpus.clone()) };
    let recorded = record(&options, &mut job);
    // Where nothing can be recorded it has not run yet.
    job();
    let mut proof = Proof { seconds: outcome.seconds, rows: outcome.rows, ..Proof::default() };
    match recorded {
        Ok((mut record, ())) => {
            // What it took to start the command is not the command's.
            record.about.window_ns.0 = outcome.begun.max(record.about.window_ns.0);
            let explained = record.explain()?;
            proof.trace = Some(Trace::new(&explained, cpus, partition));
            let (begin, end) = record.about.window_ns;
            proof.seconds = (end - begin) as f64 / NANOS_PER_SEC as f64;
        }
        Err(error) => proof.no_trace = Some(error.to_string()),
    }
    Ok((proof, outcome.value.expect("has run")))
}

struct Outcome<T> {
    begun: u64,
    seconds: f64,
    before: Interrupts,
    rows: Vec<(String, u64)>,
    value: Option<T>,
}

impl Trace {
    fn new(explained: &Explained<'_>, cpus: &CpuList, partition: bool) -> Self {
        let per_cpu: Vec<Summary> =
            explained.per_cpu.iter().filter(|summary| cpus.contains(summary.cpu)).cloned().collect();
        let mut causes: BTreeMap<&CauseId, Cause> = BTreeMap::new();
        for one in per_cpu.iter().flat_map(|summary| &summary.by_cause) {
            let new = || Cause {
                id: one.cause.to_string(),
                title: rules::get(&one.cause).title,
                count: 0,
                interruptions: 0,
                ticks: 0,
                total_ns: 0,
                longest_ns: 0,
                chain: one.chain.texts(),
            };
            let cause = causes.entry(&one.cause).or_insert_with(new);
            cause.count += one.count;
            cause.interruptions += one.interruptions;
            cause.ticks += one.ticks;
            cause.total_ns += one.total_ns;
            cause.longest_ns = cause.longest_ns.max(one.longest_ns);
        }
        let about = explained.about;
        let ticks_remain =
            causes.contains_key(&CauseId::of(NOT_ADAPTIVE)) && about.machine.settings.lacks("nohz_full=");
        let boot = match ticks_remain {
            true => Vec::new(),
            false => boot(about, causes.keys().copied(), cpus, partition),
        };
        let mut causes: Vec<Cause> = causes.into_values().collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
        Self { causes, lost: explained.lost.values().sum(), boot, ticks_remain, per_cpu }
    }

    /// Interruptions of all CPUs.
    pub fn interruptions(&self) -> u64 {
        self.per_cpu.iter().map(|summary| summary.interruptions).sum()
    }

    /// Ticks of all CPUs.
    pub fn ticks(&self) -> u64 {
        self.per_cpu.iter().map(|summary| summary.ticks).sum()
    }

    /// The longest interruption, ns.
    pub fn longest_ns(&self) -> u64 {
        let causes = self.causes.iter().filter(|cause| cause.interruptions > 0);
        causes.map(|cause| cause.longest_ns).max().unwrap_or(0)
    }
}

/// What to boot with against these causes. A partition does at run time what `isolcpus=domain` does at boot.
fn boot<'a>(
    about: &About,
    causes: impl Iterator<Item = &'a CauseId>,
    cpus: &CpuList,
    partition: bool,
) -> Vec<String> {
    let line = CommandLine::parse(&about.machine.command_line);
    let cpu = cpus.iter().next().unwrap_or_default();
    let target = Target { cpu, quiet: cpus, named: &Named::default() };
    let is_useful = |parameter: &str| !(partition && parameter.starts_with("isolcpus=domain"));
    boot_with(causes.map(rules::get), about.host(&line), target, is_useful)
}

/// The rows of `/proc/interrupts` in which something came to these CPUs.
fn rows(cpus: &CpuList, before: &Interrupts) -> Vec<(String, u64)> {
    let mut rows: Vec<(String, u64)> = Vec::new();
    let here =
        interrupts().since(before).into_iter().filter(|(_, cpu, count)| cpus.contains(*cpu) && *count > 0);
    for (row, _, count) in here {
        match rows.iter_mut().find(|(name, _)| *name == row) {
            Some((_, sum)) => *sum += count,
            None => rows.push((row, count)),
        }
    }
    rows
}

fn interrupts() -> Interrupts {
    Interrupts::parse(&std::fs::read_to_string("/proc/interrupts").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_explain::rules::named::OTHER_TASK;
    use dyntick_observe::facts::{Counts, Machine};

    #[test]
    fn where_nothing_can_be_recorded_the_command_runs_once_and_is_counted() {
        let cpus: CpuList = "8000".parse().unwrap();
        let mut runs = 0;
        let (proof, value) = observe(&cpus, false, &["true".to_owned()], |begun| {
            begun();
            runs += 1;
            "ended"
        })
        .unwrap();
        assert_eq!((value, runs), ("ended", 1));
        assert!(proof.trace.is_none() && proof.no_trace.unwrap().contains("CPU 8000 is not online"));
        assert_eq!(proof.rows, [], "nothing comes to a CPU that is not there");
    }

    #[test]
    fn a_partition_needs_no_isolcpus() {
        let machine = Machine::read().unwrap();
        let mut about = About {
            cpus: "3".parse().unwrap(),
            window_ns: (0, 1),
            command: Vec::new(),
            process: None,
            recorder: None,
            machine,
            threads: BTreeMap::new(),
            owners: Default::default(),
            counts: (Counts::default(), Counts::default()),
            notes: Vec::new(),
            ended: None,
            mappings: BTreeMap::new(),
            trigger: None,
        };
        about.machine.cpus.online = "0-3".parse().unwrap();
        about.machine.command_line = "quiet".to_owned();
        let parameters = |about: &About, partition| {
            boot(about, [&CauseId::of(OTHER_TASK)].into_iter(), &about.cpus, partition).join(" ")
        };
        assert!(parameters(&about, false).contains("isolcpus=domain"), "{}", parameters(&about, false));
        assert!(!parameters(&about, true).contains("isolcpus=domain"), "{}", parameters(&about, true));
    }
}
