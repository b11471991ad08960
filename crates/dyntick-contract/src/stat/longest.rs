// SPDX-License-Identifier: GPL-2.0-only
//! The interruptions that took longer than `--over`, one by one.

use crate::labels;
use dyntick_count::{Longest, cause};
use dyntick_explain::CauseId;
use dyntick_observe::live::Occurrence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The interruptions that took long, for JSON.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrintedLongest {
    /// The smallest duration that is listed.
    pub over_ns: u64,
    /// The interruptions.
    pub each: Vec<Long>,
    /// The number of further ones, which did not fit into the ring buffer.
    pub lost: u64,
}

/// An interruption that took long.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Long {
    /// Its beginning, ns since that of the measurement.
    pub at_ns: u64,
    /// Its CPU.
    pub cpu: u32,
    /// The duration.
    pub ns: u64,
    /// The name of the row.
    pub name: String,
    /// The cause, as `explain` names it.
    pub cause: Option<CauseId>,
    /// The interrupted task; null if this is the time slice of a task.
    pub interrupted: Option<Interrupted>,
}

/// A task that was interrupted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Interrupted {
    /// The thread ID; 0 is the idle task.
    pub pid: u32,
    /// Its name.
    pub comm: String,
}

impl PrintedLongest {
    /// Converts the interruptions of one measurement.
    pub fn of(longest: &Longest) -> Self {
        let long = |(at_ns, one): &(u64, Occurrence)| Long {
            at_ns: *at_ns,
            cpu: one.cpu,
            ns: one.ns,
            name: labels::of_key(&one.key),
            cause: cause(&one.key),
            interrupted: one
                .interrupts_a_task()
                .then(|| Interrupted { pid: one.thread, comm: one.comm.to_string() }),
        };
        Self { over_ns: longest.over_ns, each: longest.each.iter().map(long).collect(), lost: longest.lost }
    }
}
