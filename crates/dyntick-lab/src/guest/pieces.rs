// SPDX-License-Identifier: GPL-2.0-only
//! The names of the pieces that an agent sends, and which of them a case can yield.

use super::{Archive, Moment, piece_of_file};
use crate::study::Case;
use crate::{idle, profiles};
use dyntick_model::CpuList;
use std::collections::BTreeSet;

/// What the agent says of the job as a whole ([`super::Outcome`]).
pub const OUTCOME: &str = "outcome.json";
/// All about the trace but its raw bytes.
pub const TRACE: &str = "trace.json";
/// The names of the tasks that ran, by number.
pub const COMMS: &str = "comms.json";
/// /proc/interrupts before the window …
pub const INTERRUPTS_BEFORE: &str = "interrupts.before";
/// … and after it.
pub const INTERRUPTS_AFTER: &str = "interrupts.after";
/// What the script printed …
pub const SCRIPT_OUT: &str = "script.out";
/// … and what it complained of.
pub const SCRIPT_ERR: &str = "script.err";
/// What went wrong, where something did; nothing else is believed then.
pub const ERROR: &str = "error";
/// The kernel's log, beside an error.
pub const KERNEL_LOG: &str = "kernel.log";

/// The raw trace of one CPU.
pub fn trace_of_cpu(cpu: u32) -> String {
    format!("trace.cpu{cpu}")
}

/// What a task printed.
pub fn output_of_task(number: usize) -> String {
    format!("task-{number}.out")
}

/// A piece that the case cannot have yielded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guest sent a file named '{0}', which the case '{1}' does not yield")]
pub struct Unexpected(String, String);

/// Refuses an archive with pieces that this case cannot yield.
///
/// # Errors
/// Names the first such piece.
pub fn check(archive: &Archive, case: &Case) -> Result<(), Unexpected> {
    let known = of_case(case);
    match archive.0.keys().find(|name| !known.contains(*name)) {
        Some(name) => Err(Unexpected(name.clone(), case.id.clone())),
        None => Ok(()),
    }
}

fn of_case(case: &Case) -> BTreeSet<String> {
    let always = [
        OUTCOME,
        TRACE,
        COMMS,
        INTERRUPTS_BEFORE,
        INTERRUPTS_AFTER,
        SCRIPT_OUT,
        SCRIPT_ERR,
        KERNEL_LOG,
        idle::BEFORE,
        idle::AFTER,
        profiles::SYMBOLS,
    ];
    let files = case
        .read
        .iter()
        .flat_map(|path| [Moment::Before, Moment::After].map(|moment| piece_of_file(path, moment)));
    let traces = CpuList::first(case.cpus).iter().map(trace_of_cpu).collect::<Vec<_>>();
    let outputs = (0..case.tasks.len()).map(output_of_task);
    always.map(str::to_owned).into_iter().chain(files).chain(traces).chain(outputs).collect()
}
