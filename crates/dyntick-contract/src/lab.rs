// SPDX-License-Identifier: GPL-2.0-only
//! The output of `dyntick lab`: the lists and short results here, the long ones in their own files.

mod bisected;
mod cache;
mod diff;
mod groups;
mod judged;
mod plan;
mod profile;
mod studies;
mod tried;

pub use bisected::{Bisected, TestedCommit, Verdict};
pub use cache::CacheContents;
pub use diff::{Change, KernelsDiff, OFF, Patches};
use dyntick_kernels::build::Built;
use dyntick_kernels::find::Entry;
use dyntick_lab::doctor::Check;
use dyntick_model::Machine;
pub use groups::Group;
pub use judged::{CompleteRun, Judged, JudgedRun};
pub use plan::{Planned, PlannedCase};
pub use profile::{Compared, PrintedKind, PrintedPhase, Profile, Profiles, Spans, compared, sorted};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
pub use studies::{Listed, OwnKernel, Studies, Tool};
pub use tried::{Outcome, Tried, TriedFailure, TriedOn};

/// The wall time of a case, by stage.
#[derive(Serialize, JsonSchema)]
pub struct Bench<'a> {
    /// The id of the case.
    pub case: &'a str,
    /// All of it, s.
    pub seconds: f64,
    /// Each stage, s.
    pub stages: BTreeMap<String, f64>,
}

/// The kernels that can be booted here.
#[derive(Serialize, JsonSchema)]
pub struct Kernels<'a> {
    /// Each of them.
    pub kernels: &'a [Entry],
}

/// The kernels that were built.
#[derive(Serialize, JsonSchema)]
pub struct Builds {
    /// The kernels, in the order in which they were asked for.
    pub kernels: Vec<Built>,
}

/// The machines that come with dyntick.
#[derive(Serialize, JsonSchema)]
pub struct Machines {
    /// Each of them.
    pub machines: Vec<Machine>,
}

/// The results of the checks.
#[derive(Serialize, JsonSchema)]
pub struct Doctor<'a> {
    /// Each thing that studies need.
    pub checks: &'a [Check],
}
