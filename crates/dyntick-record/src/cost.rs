// SPDX-License-Identifier: GPL-2.0-only
//! The cost of a recording, measured by a short one that is dropped.

use crate::buffers::Control;
use crate::counted_causes::calls;
use crate::recording::Recording;
use crate::{Options, Record, RecordError, ending};
use dyntick_model::{CpuList, NANOS_PER_SEC};
use dyntick_observe::facts::Counts;
use rustix::time::{ClockId, Timespec, clock_gettime};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// The cost of a recording on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// The CPUs that would be recorded.
    pub cpus: CpuList,
    /// The number of trace events and probes that are switched on.
    pub switched: usize,
    /// The function-call interrupts of these CPUs while these are switched on, each some µs.
    pub calls_on: u64,
    /// The same while they are switched off.
    pub calls_off: u64,
    /// The length of the recording that was measured, s.
    pub seconds: f64,
    /// The events that were recorded in it.
    pub events: u64,
    /// The size of its record, bytes.
    pub bytes: u64,
    /// The CPU time that dyntick took on other CPUs meanwhile, ns.
    pub dyntick_ns: u64,
}

/// Records these CPUs for a while, or until Ctrl-C, and drops the record. The CPUs are interrupted as by any recording.
///
/// # Errors
/// Any error of a recording.
pub fn cost(options: &Options, time: Duration) -> Result<Cost, RecordError> {
    ending::with_wait(options, time, |wait| measured(options, wait))
}

fn measured(options: &Options, wait: &dyn Fn(&Control)) -> Result<Cost, RecordError> {
    let before = Counts::interrupts();
    let (recording, away) = Recording::prepare(options)?;
    let on = Counts::interrupts();
    let switched = recording.session.switched();
    let begin = clock_gettime(ClockId::ProcessCPUTime);
    let (file, ()) = recording.complete(wait)?;
    let used: Timespec = clock_gettime(ClockId::ProcessCPUTime) - begin;
    let bytes = file.metadata().map_err(RecordError::Write)?.len();
    let record = Record::stored(file).map_err(|trouble| RecordError::Damaged(trouble.to_string()))?;
    let still_on = Counts::interrupts();
    drop((recording, away));
    let off = Counts::interrupts();
    let (first, last) = record.about.window_ns;
    Ok(Cost {
        cpus: options.cpus.clone(),
        switched,
        calls_on: calls(&before, &on, &options.cpus),
        calls_off: calls(&still_on, &off, &options.cpus),
        seconds: last.saturating_sub(first) as f64 / NANOS_PER_SEC as f64,
        events: record.trace.count().unwrap_or_default(),
        bytes,
        dyntick_ns: used.tv_sec as u64 * NANOS_PER_SEC + used.tv_nsec as u64,
    })
}
