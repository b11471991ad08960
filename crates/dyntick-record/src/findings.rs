// SPDX-License-Identifier: GPL-2.0-only
//! The findings about a record: the JSON of `dyntick explain`, from which its report is made.

use crate::verdict::{Cause, Kind, Loss, Verdict};
use crate::{Ledger, Source};
use dyntick_explain::fixes::PrintedFix;
use dyntick_explain::rules::named::{COMMAND_TASK, OTHER_TASK};
use dyntick_explain::{CauseId, Chain, rules};
use dyntick_model::{Clock, CpuList, Symbol};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The interruptions of the recorded CPUs, their causes, and fixes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Findings {
    /// The kernel that was recorded.
    pub kernel: String,
    /// The clock: in virtual time a µs is 1000 instructions, and durations include the turns of other CPUs.
    pub clock: Clock,
    /// The command that ran meanwhile.
    pub command: Vec<String>,
    /// The length of the recording, s.
    pub seconds: f64,
    /// The verdict: the largest losses, and the one change that pays.
    pub verdict: Verdict,
    /// The recorded CPUs, in order; empty with `--of`.
    pub cpus: Vec<CpuFindings>,
    /// The threads of `--of`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<ThreadFindings>,
    /// The time of the command's threads, or of those of `--of`, all of it; null where there is neither, and of a trace
    /// of another tool that lacks switches or wake-ups of tasks.
    pub ledger: Option<Ledger>,
    /// The source of a trace that another tool made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The number of lost events by CPU. If there are any, counts are too low and causes may be wrong.
    pub lost_events: BTreeMap<u32, u64>,
    /// The recorded CPUs that were offline at some time: their figures do not hold.
    pub offline: CpuList,
    /// The number of records of the trace that could not be decoded.
    pub undecoded: u64,
    /// The limits of the findings, in words: events that the kernel lacks, and deviations from the request.
    pub notes: Vec<String>,
}

/// The findings about one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CpuFindings {
    /// The CPU.
    pub cpu: u32,
    /// Periodic ticks; null for a trace of another tool that lacks the events of hrtimers.
    pub ticks: Option<u64>,
    /// Periodic ticks per second.
    pub ticks_per_second: Option<f64>,
    /// Its interruptions.
    #[serde(flatten)]
    pub section: Section,
}

/// The findings about the threads of `--of`, on whichever of the recorded CPUs they ran.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThreadFindings {
    /// The argument of `--of`.
    pub of: String,
    /// The number of such threads that ran, at most 65 536.
    pub threads: u64,
    /// The CPUs on which they ran.
    pub cpus: CpuList,
    /// The time in which they had a CPU, ns, including interrupts.
    pub ran_ns: u64,
    /// The time in which other tasks had the CPU that they wanted, ns.
    pub waited_ns: u64,
    /// Periodic ticks that interrupted them; null for a trace of another tool that lacks the events of hrtimers.
    pub ticks: Option<u64>,
    /// Their interruptions.
    #[serde(flatten)]
    pub section: Section,
}

/// The interruptions of a CPU, or of threads, and their causes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Section {
    /// Interruptions: interrupts, NMIs, softirqs and time slices of kernel threads.
    pub interruptions: u64,
    /// Time in them, ns.
    pub interrupted_ns: u64,
    /// That time as a share, 0 to 1: of the recording for a CPU; for threads, of the time in which they had a CPU or
    /// wanted the one that another task had.
    pub interrupted_share: f64,
    /// Page faults of the task that had the CPU, which are no interruptions.
    pub page_faults: u64,
    /// Time slices of other user tasks while the task that had the CPU wanted it, which are no interruptions.
    pub other_tasks: u64,
    /// Time in those, ns.
    pub other_tasks_ns: u64,
    /// Time slices of tasks of the recorded command while another one of it wanted the CPU, which are no interruptions.
    pub command_tasks: u64,
    /// Time in those, ns.
    pub command_tasks_ns: u64,
    /// The causes of all these, in this order: a distrusted clock, which slows down everything; causes with a known
    /// time, the longest first; causes of which only the number is known; time slices of the command's own tasks; page
    /// faults.
    pub causes: Vec<CauseFindings>,
    /// Interruptions without a cause.
    pub unattributed: Unattributed,
}

impl Section {
    /// The causes of interruptions and the time slices of other user tasks, for a verdict.
    pub(crate) fn losses(&self) -> impl Iterator<Item = Cause> {
        self.causes.iter().filter(|cause| cause.is_from_outside()).map(|cause| Cause {
            loss: Loss {
                part: "",
                what: cause.title.clone(),
                ns: cause.total_ns,
                count: cause.count.unwrap_or(0),
                longest_ns: cause.durations_ns.map(|durations| durations.max),
                tick: cause.ticks > 0,
                fix: cause.fixes.first().map(|fix| fix.action.clone()),
                ..Loss::default()
            },
            kind: match (cause.is_task(), cause.interruptions) {
                (true, _) => Kind::Task,
                (false, 0) => Kind::Unseen,
                (false, _) => Kind::Interruption,
            },
        })
    }
}

/// One cause.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CauseFindings {
    /// Its name, e.g. `workqueue:vmstat_update`.
    pub cause: CauseId,
    /// A title, for a reader new to the subject.
    pub title: String,
    /// An explanation of the mechanism.
    pub explanation: &'static str,
    /// The number of interruptions, page faults and time slices of other user tasks and of the command; null if only
    /// their time is known.
    pub count: Option<u64>,
    /// Interruptions among them.
    pub interruptions: u64,
    /// Ticks among those.
    pub ticks: u64,
    /// Their share of the number of all listed causes but page faults and the command's own tasks, 0 to 1.
    pub count_share: f64,
    /// The time in them, ns; null if it is unknown.
    pub total_ns: Option<u64>,
    /// Its share of the time of all listed causes, including steal time, 0 to 1.
    pub time_share: f64,
    /// Their durations; null if they are not known individually.
    pub durations_ns: Option<Durations>,
    /// The most frequent chains of causation, from origin to interruption, with their numbers.
    pub chains: Vec<ChainCount>,
    /// The number of other chains.
    pub more_chains: usize,
    /// The call stacks that caused them, the most frequent first, at most 1000, if stacks were recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<StackCount>,
    /// The kernel functions that ran in them, with counts, the most frequent first.
    pub functions: Vec<(Symbol, u64)>,
    /// The fixes, which remove it or make it rarer, the most effective first.
    pub fixes: Vec<PrintedFix>,
    /// The kernel's file and function behind it.
    pub source: &'static str,
    /// True if the origin is named.
    pub attributed: bool,
}

impl CauseFindings {
    /// Returns true if it is an interruption, or a time slice of another task that is not the command's.
    pub fn is_from_outside(&self) -> bool {
        let is_own = rules::get(&self.cause) == COMMAND_TASK;
        !is_own && (self.total_ns.is_some() || self.interruptions > 0)
    }

    /// Returns true for the time slices of other user tasks, which are no interruptions.
    pub fn is_task(&self) -> bool {
        self.interruptions == 0 && rules::get(&self.cause) == OTHER_TASK
    }
}

/// A distribution of durations, ns. Nearest rank: each is a value that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Durations {
    pub min: u64,
    pub median: u64,
    pub p99: u64,
    pub max: u64,
}

/// A chain of causation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChainCount {
    /// The steps, from origin to interruption.
    pub steps: Chain,
    /// The number of interruptions with this chain.
    pub count: u64,
}

/// A call stack that caused interruptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StackCount {
    /// The task, the functions of its program and those of the kernel (`_[k]`), the outermost first.
    pub frames: Vec<String>,
    /// The number of interruptions that it caused.
    pub count: u64,
}

/// Interruptions without a cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Unattributed {
    /// Their number.
    pub count: u64,
    /// Their share of all interruptions, 0 to 1.
    pub share: f64,
    /// Their time, ns.
    pub total_ns: u64,
    /// Their share of the time of all interruptions, 0 to 1.
    pub time_share: f64,
    /// The raw events of the longest of them.
    pub evidence: Vec<Evidence>,
    /// The rows of `/proc/interrupts` that grew by more than the trace shows: row and growth.
    pub untraced: Vec<(String, u64)>,
}

/// A recorded interruption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// Its begin, ns from the begin of the recording.
    pub at_ns: u64,
    /// Its duration, ns.
    pub duration_ns: u64,
    /// The entry point into the kernel.
    pub kind: &'static str,
    /// Its events.
    pub events: Vec<String>,
}
