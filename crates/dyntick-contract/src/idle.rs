// SPDX-License-Identifier: GPL-2.0-only
//! The output of `dyntick idle`.

use dyntick_explain::{CauseId, Chain};
use dyntick_idle::LengthClass;
use dyntick_idle::usage::{CpuUse, Judged, judge};
use dyntick_model::LatencyLimits;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// The use of idle states, and whether it was right.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Idle {
    /// The files that were read; empty for this machine.
    pub files: Vec<PathBuf>,
    /// The kind of a file that has each sleep, in words; null if counters were read.
    pub traced: Option<String>,
    /// The length of the measurement or of the trace, s; null for dumps, which do not have the time.
    pub seconds: Option<f64>,
    /// True if the counters are those since the boot.
    pub since_boot: bool,
    /// True if the counts are means of an interval of turbostat; `seconds` is then its length, null if it is not known.
    pub of_interval: bool,
    /// The idle driver; null if it is not known.
    pub driver: Option<String>,
    /// The idle governor; null if it is not known.
    pub governor: Option<String>,
    /// The limits of exit latencies that were in force at the end, or at the begin of a record; null for dumps, and if
    /// they cannot be read.
    pub limits: Option<LatencyLimits>,
    /// The sums, and the judgement.
    pub judged: Judged,
    /// The use of each CPU's states.
    pub cpus: Vec<CpuUse>,
    /// The ends of the sleeps by what woke the CPU, the most frequent first; empty if counters were read.
    pub woken: Vec<Woken>,
    /// The lengths of the sleeps of all CPUs, in classes that begin where a deeper state begins to pay; empty if
    /// counters were read.
    pub lengths: Vec<LengthClass>,
}

impl Idle {
    /// The result of counters, judged, without anything that stands beside them.
    pub fn of_counters(files: Vec<PathBuf>, used: Vec<CpuUse>) -> Self {
        Self {
            files,
            traced: None,
            seconds: None,
            since_boot: false,
            of_interval: false,
            driver: None,
            governor: None,
            limits: None,
            judged: judge(&used),
            cpus: used,
            woken: Vec::new(),
            lengths: Vec::new(),
        }
    }
}

/// The sleeps that one thing ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Woken {
    /// The kind of event that came first after the sleep.
    pub by: WokenBy,
    /// The cause of that interruption, as `dyntick explain` names it; null if there is none.
    pub cause: Option<CauseId>,
    /// It in words.
    pub title: String,
    /// Its chain of causation, from origin to interruption, the first of those that differ only in numbers of tasks.
    pub chain: Chain,
    /// The sleeps that it ended.
    pub sleeps: u64,
    /// Their duration, ns.
    pub total_ns: u64,
    /// The sleeps among them that were shorter than the target residency while a shallower state was enabled; null if
    /// the states are not known.
    pub too_deep: Option<u64>,
}

/// The kind of event that ended a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WokenBy {
    /// A timer of the CPU.
    Timer,
    /// A device.
    Device,
    /// An interrupt from another CPU.
    OtherCpu,
    /// Another interrupt.
    Interrupt,
    /// No interrupt: another CPU only set the flag that this one must reschedule, which it polled or monitored.
    Flag,
    /// Nothing was recorded after it.
    Unknown,
}
