// SPDX-License-Identifier: GPL-2.0-only
//! The report of an isolation, and the changes that it would make.

use crate::gate::{Counted, Figures, Gate};
use dyntick_explain::{CauseCount, Summary};
use dyntick_isolate::apply::Applied;
use dyntick_isolate::{Change, Plan, Request, Restored, Step, Subject};
use dyntick_model::CpuList;
use dyntick_record::Ledger;
use dyntick_record::proof::Proof;
use dyntick_system::exit_code;
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::process::ExitStatus;

/// The report of one isolation.
#[allow(missing_docs)]
#[derive(Serialize, JsonSchema)]
pub struct Report {
    pub cpus: CpuList,
    pub command: Vec<String>,
    /// The end of the command, in words.
    pub status: String,
    /// The exit status of the command; 128 plus the signal's number if a signal ended it.
    pub exit_status: u8,
    /// True if there were more interruptions than `--max-interruptions` allows; null without it.
    pub exceeded: Option<bool>,
    /// The judgement on the limits of `--at-most`; null without any.
    pub gate: Option<Gate>,
    pub partition: Option<String>,
    pub no_partition: Option<String>,
    /// True if the partition was still valid at the end.
    pub partition_held: Option<bool>,
    /// The control group in which the command's first process ended, if that was outside the partition; null if not.
    pub left: Option<Left>,
    pub changes: usize,
    pub refused: Vec<(String, String)>,
    pub proof: Proof,
    pub restored: Restored,
}

/// A control group for which a command left its partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Left {
    /// The group, as `/proc/PID/cgroup` has it.
    pub group: String,
    /// The CPU quota that limits it there, in words; null if there is none.
    pub quota: Option<String>,
}

impl Display for Left {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the control group {}", self.group)?;
        self.quota.iter().try_for_each(|quota| write!(f, ", which has a CPU quota: {quota}"))
    }
}

impl Report {
    /// Makes the report from the observations.
    pub fn new(
        request: &Request,
        command: &[OsString],
        status: ExitStatus,
        applied: &Applied,
        held: Option<bool>,
        proof: Proof,
        restored: Restored,
    ) -> Self {
        let refused = |(step, reason): &(Step, String)| (step.change.target(), reason.clone());
        Self {
            cpus: request.cpus.clone(),
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            status: status.to_string(),
            exit_status: exit_code(status),
            exceeded: None,
            gate: None,
            partition: applied.partition.as_ref().map(|_| request.kind.kernel_name().to_owned()),
            no_partition: applied.no_partition.clone(),
            partition_held: held,
            left: None,
            changes: applied.made.len(),
            refused: applied.refused.iter().map(refused).collect(),
            proof,
            restored,
        }
    }

    /// The figures of each CPU and of the command, for a gate; none of them without a trace, or if the command left its
    /// CPUs.
    pub fn figures(&self) -> Vec<Figures> {
        let Some(trace) = self.proof.trace.as_ref().filter(|_| !self.has_left()) else {
            return Figures::uncounted(&self.cpus);
        };
        let of_command = trace.ledger.iter().map(|ledger| Figures::of_ledger(ledger, self.proof.seconds));
        let of_cpu = |summary: &Summary| Figures {
            is_partial: trace.offline.contains(summary.cpu),
            ..figures(summary)
        };
        let all = trace.per_cpu.iter().map(of_cpu).chain(of_command);
        all.map(|figures| Figures { missed: trace.lost, ..figures }).collect()
    }

    /// Returns true if the command left its partition, or was never seen on its CPUs. One that ended at once may have
    /// done so before it could be seen.
    pub fn has_left(&self) -> bool {
        self.left.is_some() || self.was_elsewhere()
    }

    fn was_elsewhere(&self) -> bool {
        const LONG_ENOUGH_S: f64 = 0.1;
        self.proof.seconds >= LONG_ENOUGH_S
            && self
                .proof
                .trace
                .as_ref()
                .and_then(|trace| trace.ledger.as_ref())
                .is_some_and(Ledger::is_elsewhere)
    }

    /// The number of interruptions of the CPUs.
    pub fn interruptions(&self) -> u64 {
        match &self.proof.trace {
            Some(trace) => trace.interruptions(),
            None => self.proof.rows.iter().map(|(_, count)| count).sum(),
        }
    }
}

fn figures(summary: &Summary) -> Figures {
    let counted = |cause: &CauseCount| Counted {
        name: cause.cause.to_string(),
        count: if cause.interruptions > 0 { cause.interruptions } else { cause.count },
        interrupts: cause.interruptions > 0,
        ticks: Some(cause.ticks),
        ns: Some(cause.total_ns),
        longest_ns: Some(cause.longest_ns),
    };
    let causes: Vec<Counted> = summary.by_cause.iter().map(counted).collect();
    let interrupting = causes.iter().filter(|cause| cause.interrupts);
    let interruptions = Counted {
        count: summary.interruptions,
        ticks: Some(summary.ticks),
        ns: Some(summary.interrupted_ns),
        longest_ns: Some(interrupting.filter_map(|cause| cause.longest_ns).max().unwrap_or(0)),
        ..Counted::default()
    };
    let (cpu, seconds) = (Some(summary.cpu), summary.seconds);
    let figures = Figures { cpu, seconds, interruptions: Some(interruptions), causes, ..Figures::default() };
    figures.with_anonymous()
}

/// The changes that isolating would make.
#[derive(Serialize, JsonSchema)]
pub struct Planned<'a> {
    /// The CPUs that would be isolated.
    pub cpus: &'a CpuList,
    /// Each change, in the order in which they are made.
    pub changes: Vec<PlannedChange<'a>>,
    /// The reason why the CPUs cannot be a cpuset partition, if they cannot.
    pub no_partition: Option<&'a str>,
    /// Further notes.
    pub notes: &'a [String],
}

/// One change.
#[derive(Serialize, JsonSchema)]
pub struct PlannedChange<'a> {
    /// The change.
    #[serde(flatten)]
    pub change: &'a Change,
    /// The group of changes that it belongs to.
    pub subject: Subject,
    /// The purpose of that group.
    pub why: &'static str,
    /// The privilege that it needs.
    pub needs: &'static str,
}

impl<'a> Planned<'a> {
    /// Describes a plan.
    pub fn of(plan: &'a Plan, request: &'a Request) -> Self {
        let change = |step: &'a Step| PlannedChange {
            change: &step.change,
            subject: step.subject,
            why: step.subject.why(),
            needs: step.subject.needs(),
        };
        Self {
            cpus: &request.cpus,
            changes: plan.steps().map(change).collect(),
            no_partition: plan.no_partition.as_deref(),
            notes: &plan.notes,
        }
    }
}
