// SPDX-License-Identifier: GPL-2.0-only
//! Records a live machine for a while into one file, and explains the record.
//!
//! ```no_run
//! use dyntick_record::{Options, record_command};
//! let options = Options::new("3".parse()?);
//! let (record, status) = record_command(&options, &["./app".to_owned()])?;
//! for summary in record.explain()?.per_cpu {
//!     println!("CPU {}: {} interruptions", summary.cpu, summary.interruptions);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accept;
mod buffers;
mod chains;
mod context;
mod cost;
mod counted_causes;
mod detect;
mod ending;
mod events;
mod explained;
mod file;
mod findings;
mod flight;
mod foreign;
mod frames;
mod functions;
mod idle;
mod last;
pub mod late;
mod ledger;
mod lines;
mod machine;
mod options;
mod others;
mod placement;
mod processes;
pub mod proof;
mod ranking;
mod recorder;
mod recording;
mod ring;
mod slices;
mod stored;
mod sums;
mod task_names;
mod threads;
mod timeline;
mod trace;
mod trigger;
mod trouble;
pub mod verdict;

pub use chains::without_numbers;
pub use cost::{Cost, cost};
pub use detect::Conditions;
pub use ending::{record_command, record_process, record_until_interrupted};
pub use events::events_of_record;
pub use explained::{Explained, Watch};
pub use file::FileError;
pub use findings::{
    CauseFindings, ChainCount, CpuFindings, Durations, Evidence, Findings, Section, StackCount,
    ThreadFindings, Unattributed,
};
pub use foreign::{Foreign, Source};
pub use last::snapshot_name;
pub use ledger::{
    By, Ledger, Mover, PREEMPTED, PROBE, Part, SystemCall, ThreadLedger, memory_limit, most_reached,
};
pub use machine::this_machine;
pub use options::{LastSeconds, Options, RecordError};
pub use ranking::MANY_FAULTS;
pub use recorder::record;
pub use slices::{Idle, Slice, Slices, TooMany, What};
pub use stored::Ended;
pub use sums::share;
pub use threads::Of;
pub use timeline::Marks;
pub use trace::Trace;
pub use trigger::Trigger;

use dyntick_explain::fixes::{self as advice, Host, Named, PrintedFix, Target};
use dyntick_explain::{CauseId, rules};
use dyntick_model::{CommandLine, CpuList, Fix, LatencyLimits, StateReading};
use dyntick_observe::facts::{Counts, Machine, Mapping, Owners, Thread};
use dyntick_system::hotplug;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A record of a machine, complete in itself, which can be explained here or elsewhere.
#[derive(Clone, Debug)]
pub struct Record {
    /// The facts in addition to the trace.
    pub about: About,
    /// The recorded trace.
    pub trace: Trace,
}

/// The facts of a record in addition to its trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The recorded CPUs. Of the others, only events that concern these were recorded.
    pub cpus: CpuList,
    /// The begin and the end, ns of CLOCK_MONOTONIC.
    pub window_ns: (u64, u64),
    /// The command that ran meanwhile; empty for none.
    pub command: Vec<String>,
    /// The process that was recorded: of the command, or the one of `-p`. None where there was none, and in records
    /// that older versions made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<i32>,
    /// The state of the machine at the begin.
    pub machine: Machine,
    /// The process that recorded; none in records that older versions made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorder: Option<i32>,
    /// The idle states at the begin, if they were to be recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleStates>,
    /// All observed threads, by TID.
    pub threads: BTreeMap<i32, Thread>,
    /// The observed possessions of the threads.
    pub owners: Owners,
    /// The counters before and after.
    pub counts: (Counts, Counts),
    /// The recorded CPUs that were offline at some time: their figures do not hold. None in records that older versions
    /// made, which say it in a note.
    #[serde(default, skip_serializing_if = "CpuList::is_empty")]
    pub offline: CpuList,
    /// Remarks on deviations from the request, in words.
    pub notes: Vec<String>,
    /// The reason for an early end of the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// The code of the processes whose stacks were recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mappings: BTreeMap<i32, Vec<Mapping>>,
    /// The reason for the snapshot, if the record is one of a recording that went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The source of a trace that another tool made, and what it has instead of the facts above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<Foreign>,
}

/// The idle states of a machine, and the limits within which they are chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleStates {
    /// The idle driver; empty if there is none.
    pub driver: String,
    /// The governor; empty if there is none.
    pub governor: String,
    /// The states of each recorded CPU, the shallowest first.
    pub states: BTreeMap<u32, Vec<StateReading>>,
    /// The latency limits (PM QoS); none if they could not be read.
    pub limits: Option<LatencyLimits>,
}

impl About {
    /// The remarks in words, including CPUs that were offline, an early end and the reason for a snapshot.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        let seconds = self.window_ns.1.saturating_sub(self.window_ns.0) as f64 / 1e9;
        let ended = self.ended.map(|ended| {
            format!(
                "recording ended after {seconds:.1} s, because {ended}: what came before is complete; the counts of \
                 /proc/interrupts are of the complete time"
            )
        });
        let trigger = self.trigger.as_ref().map(|trigger| {
            format!("this is a snapshot of the last {seconds:.1} s, {}", trigger.text(self.window_ns.0))
        });
        self.notes.iter().cloned().chain(hotplug::note(&self.offline)).chain(ended).chain(trigger)
    }
}

impl About {
    /// The machine for which fixes are chosen; `line` is its command line.
    pub(crate) fn host<'a>(&'a self, line: &'a CommandLine) -> Host<'a> {
        let Machine { kernel, cpus, settings, sched_ext, .. } = &self.machine;
        Host { kernel, line, online: &cpus.online, settings, bpf_scheduler: sched_ext.enabled }
    }
}

/// The fixes of a cause on the recorded machine, for one of the recorded CPUs.
pub fn fixes(about: &About, cpu: u32, cause: &CauseId, named: &Named) -> Vec<PrintedFix> {
    let line = CommandLine::parse(&about.machine.command_line);
    let mut fixes =
        advice::fixes(rules::get(cause), about.host(&line), Target { cpu, quiet: &about.cpus, named });
    // Explaining is what this does.
    fixes.retain(|fix| !matches!(&fix.action, Fix::Advice(words) if words.contains("dyntick explain")));
    fixes
}
