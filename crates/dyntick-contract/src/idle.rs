// SPDX-License-Identifier: GPL-2.0-only
//! The output of `dyntick idle`.

use dyntick_idle::usage::{CpuUse, Judged};
use dyntick_model::LatencyLimits;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// The use of idle states, and whether it was right.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Idle {
    /// The dumps that were read; empty for this machine.
    pub files: Vec<PathBuf>,
    /// The length of the measurement, s; null for dumps, which do not have the time.
    pub seconds: Option<f64>,
    /// True if the counters are those since the boot.
    pub since_boot: bool,
    /// The idle driver of this machine.
    pub driver: Option<String>,
    /// The idle governor of this machine.
    pub governor: Option<String>,
    /// The limits of exit latencies that were in force at the end; null for dumps, and if they cannot be read.
    pub limits: Option<LatencyLimits>,
    /// The sums, and the judgement.
    pub judged: Judged,
    /// The use of each CPU's states.
    pub cpus: Vec<CpuUse>,
}
