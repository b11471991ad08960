// SPDX-License-Identifier: GPL-2.0-only
//! The report of an isolation, and the changes that it would make.

use dyntick_isolate::apply::Applied;
use dyntick_isolate::{Change, Plan, Request, Restored, Step, Subject};
use dyntick_model::CpuList;
use dyntick_record::proof::Proof;
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsString;
use std::process::ExitStatus;

/// The report of one isolation.
#[allow(missing_docs)]
#[derive(Serialize, JsonSchema)]
pub struct Report {
    pub cpus: CpuList,
    pub command: Vec<String>,
    pub status: String,
    pub partition: Option<String>,
    pub no_partition: Option<String>,
    /// True if the partition was still valid at the end.
    pub partition_held: Option<bool>,
    pub changes: usize,
    pub refused: Vec<(String, String)>,
    pub proof: Proof,
    pub restored: Restored,
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
            partition: applied.partition.as_ref().map(|_| request.kind.kernel_name().to_owned()),
            no_partition: applied.no_partition.clone(),
            partition_held: held,
            changes: applied.made.len(),
            refused: applied.refused.iter().map(refused).collect(),
            proof,
            restored,
        }
    }

    /// The number of interruptions of the CPUs.
    pub fn interruptions(&self) -> u64 {
        match &self.proof.trace {
            Some(trace) => trace.interruptions(),
            None => self.proof.rows.iter().map(|(_, count)| count).sum(),
        }
    }
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
