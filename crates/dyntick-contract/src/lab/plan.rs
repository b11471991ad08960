// SPDX-License-Identifier: GPL-2.0-only
//! The cases of a study and what each needs, for programs that spread them over machines.

use super::Tool;
use dyntick_model::Clock;
use schemars::JsonSchema;
use serde::Serialize;

/// The cases of a study, with the changes of the options.
#[derive(Serialize, JsonSchema)]
pub struct Planned {
    /// The name of the study, in whose folder below `out/` its runs are.
    pub study: String,
    /// Each case.
    pub cases: Vec<PlannedCase>,
    /// The names of the kernels that are built for the study.
    pub kernels: Vec<String>,
}

/// One case, and what a machine needs to run it.
#[derive(Serialize, JsonSchema)]
pub struct PlannedCase {
    /// The id, for `--case`.
    pub id: String,
    /// The number of its runs: its own, its repetitions and the perturbed ones.
    pub runs: u32,
    /// The clock. On the virtual one all CPUs of the guest share one thread.
    pub clock: Clock,
    /// The CPUs of the guest.
    pub cpus: u32,
    /// The memory of the guest, bytes.
    pub memory: u64,
    /// The kernel, as the study names it.
    pub kernel: String,
    /// True if the kernel is built for the study.
    pub builds: bool,
    /// The tools of the machine that it needs.
    pub tools: Vec<Tool>,
    /// The estimated time of one run, s.
    pub estimated_s: u64,
}
