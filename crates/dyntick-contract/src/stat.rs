// SPDX-License-Identifier: GPL-2.0-only
//! The measurement of `dyntick stat`.

mod calls;
mod command_time;
mod longest;
mod power;
mod verdict;

use crate::adviser::Adviser;
use crate::gate::Gate;
use crate::labels;
pub use calls::{Calls, Function, Octave, PrintedCalls, Probe};
pub use command_time::{After, PrintedTime, Quota, TimePart, ledger};
use dyntick_count::{Class, CpuCounts, Finished, GroupRows, Measured, Row, per_cpu, rule};
use dyntick_explain::CauseId;
use dyntick_model::{Clock, CpuList, Fix, KernelVersion, TickDependency};
use dyntick_observe::live::{CpuMeters, Lost, Missing, bucket_end_ns};
use dyntick_record::verdict::Verdict;
pub use longest::{Interrupted, Long, PrintedLongest};
pub use power::Zone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use verdict::{figures, nameless, verdict};

/// One measurement; durations in ns, and counts of several runs as their sum.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Printed {
    /// `uname -r`.
    pub kernel: KernelVersion,
    /// The clock: in virtual time a µs is 1000 instructions, and durations include the turns of other CPUs.
    pub clock: Clock,
    /// The measured command; empty if there was none.
    pub command: Vec<String>,
    /// The verdict: the largest losses, and the one change that pays; null if nothing was counted.
    pub verdict: Option<Verdict>,
    /// The judgement on the limits of `--at-most`; null without any.
    pub gate: Option<Gate>,
    /// The result of the command.
    pub ended: Option<Ended>,
    /// The end of the measurement, ns since the first one began.
    pub at_ns: u64,
    /// The length of the measurement; for several runs, the sum.
    pub measured_ns: u64,
    /// The number of runs.
    pub runs: usize,
    /// True if causes could be counted.
    pub counted: bool,
    /// The source of the counts: `bpf` or `tracefs`; null if nothing was counted.
    pub source: Option<String>,
    /// A note about counting from trace events: the reason, and the cost.
    pub source_note: Option<String>,
    /// The measured CPUs, by number.
    pub cpus: Vec<Cpu>,
    /// Events that could not be counted.
    pub lost: Option<Lost>,
    /// Interruptions that took long, with `--over`.
    pub longest: Option<PrintedLongest>,
    /// The energy of processor packages and their parts, with `--power`.
    pub power: Option<Vec<Zone>>,
    /// The calls of kernel functions, with `--calls`.
    pub calls: Option<PrintedCalls>,
    /// The time of the command's threads, or of those of `-p`, on all CPUs; null if there are none, or it is not known.
    pub command_time: Option<PrintedTime>,
    /// The counters that are not available, and what they need.
    pub missing: Vec<Missing>,
    /// The CPUs that were offline meanwhile: their figures do not hold.
    pub offline: CpuList,
}

/// The result of the command.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    /// The exit status; 128 plus the signal's number if a signal ended it.
    pub status: u8,
    /// The user time.
    pub user_ns: i64,
    /// The system time.
    pub system_ns: i64,
    /// The voluntary context switches.
    pub voluntary_switches: i64,
    /// The involuntary context switches (preemption).
    pub involuntary_switches: i64,
}

/// One CPU. The times of its parts add up to `time_ns`. If nothing was counted, all but the CPU and the machine's own
/// counters are null.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// The CPU number.
    pub cpu: u32,
    /// The interruptions, the longest first: interrupts, softirqs, NMIs, kernel threads.
    pub interruptions: Option<Vec<Group>>,
    /// The user tasks other than the command's and dyntick's, which are not interruptions.
    pub user_tasks: Option<Vec<Group>>,
    /// The page faults, which are not interruptions.
    pub page_faults: Option<Vec<Group>>,
    /// The parts whose group was not counted; their time may be in other rows.
    pub parts: Option<Vec<Group>>,
    /// The total time of the CPU: the length of the measurement, or the sum of its parts if that is longer.
    pub time_ns: Option<u64>,
    /// The time in interruptions.
    pub interrupted_ns: Option<u64>,
    /// The part of `interrupted_ns` whose cause no rule names.
    pub unattributed_ns: Option<u64>,
    /// The time slices of the command's tasks.
    pub command_ns: Option<u64>,
    /// The time slices of dyntick's own tasks.
    pub observer_ns: Option<u64>,
    /// The time slices of other user tasks.
    pub other_tasks_ns: Option<u64>,
    /// The idle time.
    pub idle_ns: Option<u64>,
    /// The time that no counted event accounts for.
    pub uncounted_ns: Option<u64>,
    /// The number of ticks.
    pub ticks: Option<u64>,
    /// The number of times that the tick was stopped.
    pub tick_stopped: Option<u64>,
    /// The number of times that it was kept, by tick dependency; the most frequent first.
    pub tick_kept: Option<Vec<Kept>>,
    /// The machine's own counters.
    pub machine: CpuMeters,
}

/// The number of times that the tick was kept for one reason.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// The tick dependency.
    pub dependency: TickDependency,
    /// The count.
    pub count: u64,
}

/// A group of rows that is counted together, with its parts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The group's own figures.
    #[serde(flatten)]
    pub row: PrintedRow,
    /// The parts of the group.
    pub parts: Vec<PrintedRow>,
}

/// A row that is counted under one name.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrintedRow {
    /// The name of the row.
    pub name: String,
    /// The cause, as `explain` names it.
    pub cause: Option<CauseId>,
    /// The title of the cause.
    pub title: Option<String>,
    /// The fixes on this machine, the best first.
    pub fixes: Vec<String>,
    /// The number of times that it began.
    pub count: u64,
    /// The standard deviation of the count over several runs, as a share of the mean.
    pub count_deviation: Option<f64>,
    /// The count per second.
    pub per_second: f64,
    /// The total duration; null if durations are not known.
    pub total_ns: Option<u64>,
    /// The mean duration.
    pub mean_ns: Option<f64>,
    /// The longest duration.
    pub longest_ns: Option<u64>,
    /// The number of durations in each bucket with at least one.
    pub histogram: Vec<Bucket>,
}

/// A bucket of durations.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Bucket {
    /// The end of the bucket; the last has none.
    pub below_ns: Option<u64>,
    /// The number of durations in it.
    pub count: u64,
}

impl Printed {
    /// Converts a measurement.
    pub fn of(measured: &Measured, command: &[String], adviser: &Adviser) -> Self {
        let source = measured.source.as_ref();
        Self {
            kernel: adviser.kernel.clone(),
            clock: adviser.clock,
            command: command.to_vec(),
            verdict: verdict(measured, command, adviser),
            gate: None,
            ended: measured.finished.as_ref().map(Ended::of),
            at_ns: measured.at_ns,
            measured_ns: measured.ns,
            runs: measured.repeats(),
            counted: measured.counts.is_some(),
            source: source.map(|source| source.name().to_owned()),
            source_note: source.and_then(labels::note),
            cpus: per_cpu(measured).into_iter().map(|counts| Cpu::of(counts, measured, adviser)).collect(),
            lost: measured.counts.as_ref().map(|counts| counts.lost),
            longest: measured.longest.as_ref().map(PrintedLongest::of),
            power: measured.power.as_ref().map(|zones| zones.iter().map(Zone::of).collect()),
            calls: measured.calls.as_ref().map(PrintedCalls::of),
            command_time: measured.command_time.as_ref().map(|time| PrintedTime::of(time, measured)),
            missing: measured.missing.clone(),
            offline: measured.offline.clone(),
        }
    }
}

impl Ended {
    fn of(finished: &Finished) -> Self {
        let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1000;
        Self {
            status: finished.code(),
            user_ns: ns(finished.usage.ru_utime),
            system_ns: ns(finished.usage.ru_stime),
            voluntary_switches: finished.usage.ru_nvcsw,
            involuntary_switches: finished.usage.ru_nivcsw,
        }
    }
}

impl Cpu {
    fn of(counts: CpuCounts, measured: &Measured, adviser: &Adviser) -> Self {
        let cpu = counts.cpus.iter().next().unwrap_or_default();
        let row = |row: &Row| PrintedRow::of(row, cpu, measured, adviser);
        let group =
            |group: &GroupRows| Group { row: row(&group.row), parts: group.parts.iter().map(row).collect() };
        let of_class = |class: Option<Class>| -> Vec<Group> {
            counts.groups.iter().filter(|rows| rows.class() == class).map(group).collect()
        };
        let (time, kept) = (counts.time, counts.kept.iter());
        let counted = measured.counts.is_some();
        let ns = |ns: u64| counted.then_some(ns);
        let groups = |class: Option<Class>| counted.then(|| of_class(class));
        Self {
            cpu,
            interruptions: groups(Some(Class::Interruption)),
            user_tasks: groups(Some(Class::UserTasks)),
            page_faults: groups(Some(Class::PageFaults)),
            parts: groups(None),
            time_ns: ns(time.ns),
            interrupted_ns: ns(time.interruptions_ns),
            unattributed_ns: ns(counts.unattributed_ns),
            command_ns: ns(time.command_ns),
            observer_ns: ns(time.observer_ns),
            other_tasks_ns: ns(time.other_tasks_ns),
            idle_ns: ns(time.idle_ns),
            uncounted_ns: ns(time.uncounted_ns),
            ticks: counted.then_some(counts.ticks),
            tick_stopped: counted.then_some(counts.stopped),
            tick_kept: counted.then(|| {
                kept.map(|(dependency, count)| Kept { dependency: *dependency, count: *count }).collect()
            }),
            machine: counts.meters,
        }
    }
}

impl PrintedRow {
    fn of(row: &Row, cpu: u32, measured: &Measured, adviser: &Adviser) -> Self {
        let cause = adviser.cause_of(row);
        let rule = cause.as_ref().map(rule);
        let fixes = rule.map(|rule| adviser.fixes(rule, cpu, &measured.cpus, row.irq())).unwrap_or_default();
        let buckets = row.count.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
        Self {
            name: labels::of(&row.what),
            cause,
            title: rule.map(|rule| rule.title.to_owned()),
            fixes: fixes.iter().map(Fix::to_string).collect(),
            count: row.count.count,
            count_deviation: row.spread,
            per_second: row.count.count as f64 / measured.seconds(),
            total_ns: (!row.is_counted_only()).then_some(row.count.ns),
            mean_ns: row.count.mean_ns(),
            longest_ns: row.count.longest_ns,
            histogram: buckets
                .map(|(bucket, count)| Bucket { below_ns: bucket_end_ns(bucket), count: *count })
                .collect(),
        }
    }
}
