// SPDX-License-Identifier: GPL-2.0-only
//! The interruptions of CPUs while a command ran on them: recorded and explained, or only counted if recording is not
//! possible.

use crate::counted_causes::stolen_ns;
use crate::verdict::{self, Case, Loss, Verdict};
use crate::{About, Explained, Ledger, Options, record};
use dyntick_explain::fixes::{Named, Target, boot_with};
use dyntick_explain::{CauseId, Summary, rules};
use dyntick_model::{Clock, CommandLine, CpuList, NANOS_PER_SEC};
use dyntick_observe::interrupts::Interrupts;
use dyntick_observe::thread::now_ns;
use dyntick_trace::DecodeError;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// The observations.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Proof {
    /// The run time of the command, s.
    pub seconds: f64,
    /// The explained trace.
    pub trace: Option<Trace>,
    /// The reason for which there is no trace.
    pub no_trace: Option<String>,
    /// The rows of `/proc/interrupts` that counted interrupts of the CPUs, with their numbers.
    pub rows: Vec<(String, u64)>,
}

/// The result of the trace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Trace {
    /// The summary of each CPU.
    pub per_cpu: Vec<Summary>,
    /// The clock: in virtual time a µs is 1000 instructions, and durations include the turns of other CPUs.
    pub clock: Clock,
    /// True if the machine has several CPUs that share such a clock, so that no longest duration is printed.
    #[serde(skip)]
    pub turns: bool,
    /// The verdict: the losses that remained.
    pub verdict: Verdict,
    /// The causes: interruptions first, those that took longest first; page faults last.
    pub causes: Vec<Cause>,
    /// The time of the command's threads, all of it; null if the command did not begin.
    pub ledger: Option<Ledger>,
    /// The time for which the hypervisor ran something else on the CPUs (steal), ns. It is in no interruption.
    pub stolen_ns: u64,
    /// The number of lost events, whose interruptions may be missing.
    pub lost: u64,
    /// The CPUs that were offline at some time: their figures do not hold.
    pub offline: CpuList,
    /// The parameters for the kernel's command line that remove the causes.
    pub boot: Vec<String>,
    /// True if no boot parameter can remove the ticks, because the kernel has no CONFIG_NO_HZ_FULL. `boot` is then
    /// empty.
    pub ticks_remain: bool,
}

/// A cause, over all CPUs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cause {
    /// The cause.
    pub id: String,
    /// Its title.
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
    /// The steps from the origin to the interruption.
    pub chain: Vec<String>,
}

/// Runs a command and observes the interruptions of its CPUs. `run` starts the command, calls its argument with the
/// process once the command has begun, and waits for its end. `partition` is true if the CPUs are an isolated
/// partition.
///
/// # Errors
/// A damaged trace. A failure to record is no error: [`Proof::no_trace`] has the reason.
pub fn observe<T>(
    cpus: &CpuList,
    partition: bool,
    words: &[String],
    run: impl FnOnce(&mut dyn FnMut(i32)) -> T,
) -> Result<(Proof, T), DecodeError> {
    let mut outcome = Outcome {
        begun: 0,
        process: None,
        seconds: 0.0,
        before: Interrupts::default(),
        rows: Vec::new(),
        value: None,
    };
    let mut run = Some(run);
    let mut job = || {
        let Some(run) = run.take() else { return };
        let start = Instant::now();
        outcome.before = interrupts();
        outcome.value = Some(run(&mut |process| {
            (outcome.begun, outcome.process) = (now_ns(), Some(process));
            outcome.before = interrupts();
        }));
        outcome.seconds = start.elapsed().as_secs_f64();
        // Read now, because the end of the recording interrupts every CPU.
        outcome.rows = rows(cpus, &outcome.before);
    };
    let options = Options { command: words.to_vec(), ..Options::new(cpus.clone()) };
    let recorded = record(&options, &mut job);
    // The command has not run yet if recording failed.
    job();
    let mut proof = Proof { seconds: outcome.seconds, rows: outcome.rows, ..Proof::default() };
    match recorded {
        Ok((mut record, ())) => {
            // The start of the command does not count.
            record.about.window_ns.0 = outcome.begun.max(record.about.window_ns.0);
            record.about.process = outcome.process;
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
    process: Option<i32>,
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
        let has_ticks = causes.values().any(|cause| cause.ticks > 0);
        let ticks_remain = has_ticks && about.machine.settings.lacks("nohz_full=");
        let boot =
            if ticks_remain { Vec::new() } else { boot(about, causes.keys().copied(), cpus, partition) };
        let mut causes: Vec<Cause> = causes.into_values().collect();
        causes.sort_by_key(|cause| std::cmp::Reverse((cause.interruptions > 0, cause.total_ns, cause.count)));
        let ledger = explained.ledger();
        let (begin, end) = about.window_ns;
        let case = Case {
            ledger: ledger.as_ref(),
            causes: causes.iter().filter(|cause| cause.total_ns > 0).map(Cause::loss).collect(),
            cpus_ns: end.saturating_sub(begin) * per_cpu.len() as u64,
            quiet: true,
            all_cpus: false,
            turns: about.machine.has_turns(),
            isolate: None,
            explain: None,
        };
        Self {
            clock: about.machine.clock,
            turns: about.machine.has_turns(),
            verdict: case.verdict(),
            ledger,
            causes,
            stolen_ns: cpus.iter().fold(0, |all, cpu| all.saturating_add(stolen_ns(about, cpu))),
            lost: explained.lost.values().sum(),
            offline: explained.about.offline.clone(),
            boot,
            ticks_remain,
            per_cpu,
        }
    }

    /// The number of interruptions of all CPUs.
    pub fn interruptions(&self) -> u64 {
        self.per_cpu.iter().map(|summary| summary.interruptions).sum()
    }

    /// The number of ticks of all CPUs.
    pub fn ticks(&self) -> u64 {
        self.per_cpu.iter().map(|summary| summary.ticks).sum()
    }

    /// The longest interruption, ns.
    pub fn longest_ns(&self) -> u64 {
        let causes = self.causes.iter().filter(|cause| cause.interruptions > 0);
        causes.map(|cause| cause.longest_ns).max().unwrap_or(0)
    }
}

impl Cause {
    fn loss(&self) -> verdict::Cause {
        verdict::Cause {
            loss: Loss {
                part: "",
                what: self.title.to_owned(),
                ns: Some(self.total_ns),
                count: self.count,
                longest_ns: Some(self.longest_ns),
                tick: self.ticks > 0,
                ..Loss::default()
            },
            kind: if self.interruptions == 0 { verdict::Kind::Task } else { verdict::Kind::Interruption },
        }
    }
}

/// The boot parameters against these causes. A partition does at run time the work of `isolcpus=domain`.
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

/// The rows of `/proc/interrupts` that grew on these CPUs.
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
    fn command_runs_once_and_is_counted_without_a_trace() {
        let cpus: CpuList = "8000".parse().unwrap();
        let mut runs = 0;
        let (proof, value) = observe(&cpus, false, &["true".to_owned()], |begun| {
            begun(1);
            runs += 1;
            "ended"
        })
        .unwrap();
        assert_eq!((value, runs), ("ended", 1));
        assert!(proof.trace.is_none() && proof.no_trace.unwrap().contains("CPU 8000 is not online"));
        assert_eq!(proof.rows, [], "nothing comes to a CPU that is not there");
    }

    #[test]
    fn partition_needs_no_isolcpus() {
        let machine = Machine::read().unwrap();
        let mut about = About {
            cpus: "3".parse().unwrap(),
            window_ns: (0, 1),
            command: Vec::new(),
            process: None,
            recorder: None,
            machine,
            idle: None,
            threads: BTreeMap::new(),
            owners: Default::default(),
            counts: (Counts::default(), Counts::default()),
            offline: CpuList::default(),
            notes: Vec::new(),
            ended: None,
            mappings: BTreeMap::new(),
            trigger: None,
            foreign: None,
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
