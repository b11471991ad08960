// SPDX-License-Identifier: GPL-2.0-only
//! Records a live machine for a while, keeps that in one file, and explains it.
//!
//! ```no_run
//! use dyntick_record::{Options, record_command};
//! let options = Options::new("3".parse()?);
//! let (record, status) = record_command(&options, &["./app".to_owned()])?;
//! for summary in record.explain()?.explanation.per_cpu {
//!     println!("CPU {}: {} interruptions", summary.cpu, summary.interruptions);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accept;
mod during;
mod events;
mod explained;
mod file;
mod findings;
mod flight;
mod printed_fix;
mod quiet;
mod recorder;
mod uncaused;
mod watch;

pub use during::{record_command, record_process, record_until_interrupted};
pub use explained::Explained;
pub use file::FileError;
pub use findings::{CauseFindings, Chain, CpuFindings, Durations, Evidence, Findings, Unattributed, fixes};
pub use flight::{Flight, FlightRecorder};
pub use printed_fix::{Named, Place, PrintedFix};
pub use recorder::{Options, RecordError, record};

use dyntick_model::CpuList;
use dyntick_observe::facts::{Counts, Machine, Owners, Thread};
use dyntick_observe::trace::Recording;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was recorded of a machine: complete in itself, to be explained here or elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What, when and where.
    pub about: About,
    /// The trace.
    pub recording: Recording,
}

/// What is known of a record beside its trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The CPUs that it is about. Of the others only what concerns these was recorded.
    pub cpus: CpuList,
    /// Begin and end, ns of CLOCK_MONOTONIC.
    pub window_ns: (u64, u64),
    /// The command that ran meanwhile; empty where there was none.
    pub command: Vec<String>,
    /// The machine as it was at the begin.
    pub machine: Machine,
    /// All threads that were seen, by number.
    pub threads: BTreeMap<i32, Thread>,
    /// What they were seen to own.
    pub owners: Owners,
    /// What was counted before and after.
    pub counts: (Counts, Counts),
    /// What did not go as asked, in words.
    pub notes: Vec<String>,
}
