// SPDX-License-Identifier: GPL-2.0-only
//! What interrupted the CPUs while the command ran: recorded and explained, or, where nothing can be
//! recorded, counted.

use anyhow::{Context, Result};
use dyntick_explain::{CauseId, Explanation, Summary, rules};
use dyntick_model::{CommandLine, CpuList, KernelVersion, NANOS_PER_SEC, boot};
use dyntick_observe::interrupts::Interrupts;
use dyntick_observe::thread::now_ns;
use dyntick_record::{Explained, Options, record};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// What was seen.
#[derive(Clone, Debug, Default, Serialize)]
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

/// What the trace tells.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// One summary a CPU.
    pub per_cpu: Vec<Summary>,
    /// The causes, the most frequent first.
    pub causes: Vec<Cause>,
    /// Events that were lost; what they would have told is missing.
    pub lost: u64,
    /// Parameters for the kernel's command line that remove what was seen.
    pub boot: Vec<String>,
}

/// A cause, over all CPUs.
#[derive(Clone, Debug, Serialize)]
pub struct Cause {
    /// Which.
    pub id: String,
    /// In words.
    pub title: &'static str,
    /// Interruptions.
    pub count: u64,
    /// Ticks among them.
    pub ticks: u64,
    /// Time in them, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// From the origin to the interruption.
    pub chain: Vec<String>,
}

/// Runs the command and sees what interrupts its CPUs. `run` starts it, calls what it is given when
/// it has begun, and waits for its end. `partition` says whether the CPUs are an isolated partition.
pub fn see<T>(
    cpus: &CpuList,
    partition: bool,
    words: &[String],
    run: impl FnOnce(&mut dyn FnMut()) -> T,
) -> Result<(Proof, T)> {
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
            let explained = record.explain().context("the trace cannot be read")?;
            proof.trace = Some(Trace::new(&explained, &record.about.machine.kernel, cpus, partition));
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
    fn new(explained: &Explained, kernel: &KernelVersion, cpus: &CpuList, partition: bool) -> Self {
        let Explanation { per_cpu, .. } = &explained.explanation;
        let per_cpu: Vec<Summary> =
            per_cpu.iter().filter(|summary| cpus.contains(summary.cpu)).cloned().collect();
        let mut causes: BTreeMap<&CauseId, Cause> = BTreeMap::new();
        for one in per_cpu.iter().flat_map(|summary| &summary.by_cause) {
            let new = || Cause {
                id: one.cause.to_string(),
                title: rules::get(&one.cause).title,
                count: 0,
                ticks: 0,
                total_ns: 0,
                longest_ns: 0,
                chain: one.chain.clone(),
            };
            let cause = causes.entry(&one.cause).or_insert_with(new);
            cause.count += one.count;
            cause.ticks += one.ticks;
            cause.total_ns += one.total_ns;
            cause.longest_ns = cause.longest_ns.max(one.longest_ns);
        }
        // A partition does at run time what this does at boot.
        let useful = |parameter: &str| !(partition && parameter.starts_with("isolcpus=domain"));
        let boot = causes.keys().filter_map(|id| boot_parameter(id, kernel, cpus, &useful));
        let boot: Vec<String> = boot.collect::<BTreeSet<_>>().into_iter().collect();
        let boot = with_this_machines(&boot);
        let mut causes: Vec<Cause> = causes.into_values().collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
        Self { causes, lost: explained.lost.values().sum(), boot, per_cpu }
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
        self.causes.iter().map(|cause| cause.longest_ns).max().unwrap_or(0)
    }
}

/// The best parameter against a cause, for these CPUs.
fn boot_parameter(
    cause: &CauseId,
    kernel: &KernelVersion,
    cpus: &CpuList,
    useful: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let mut fixes = rules::get(cause).fixes_for(kernel);
    let parameter = fixes.find_map(|fix| match fix.setting {
        rules::Setting::Boot(parameter) if useful(parameter) => Some(parameter),
        _ => None,
    })?;
    // In a rule, N stands for the CPU.
    let (head, tail) = parameter.rsplit_once([',', '=']).unwrap_or((parameter, ""));
    Some(match tail {
        "N" => format!("{}{cpus}", &parameter[..=head.len()]),
        _ => parameter.to_owned(),
    })
}

/// These parameters, those about isolation together with what this machine was booted with; none where it has them all already:
/// what has not helped is no fix.
fn with_this_machines(parameters: &[String]) -> Vec<String> {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let list = |path: &str| text(path).trim().parse::<CpuList>().unwrap_or_default();
    let possible = list("/sys/devices/system/cpu/possible").last().map_or(1, |last| last + 1);
    let present = list("/sys/devices/system/cpu/present");
    let line = CommandLine::parse(&text("/proc/cmdline"));
    let cpus = boot::Cpus { possible, present: &present };
    let parameters = boot::beside(&line, parameters, cpus);
    if boot::is_in_force(&line, &parameters, cpus) { Vec::new() } else { parameters }
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
