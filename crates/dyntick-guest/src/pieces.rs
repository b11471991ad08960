// SPDX-License-Identifier: GPL-2.0-only
//! The names of the pieces that an agent sends, and which of them a guest can yield.

use crate::{Archive, Moment, piece_of_file};
use dyntick_model::CpuList;
use std::collections::BTreeSet;

/// The result of the job ([`crate::Outcome`]).
pub const OUTCOME: &str = "outcome.json";
/// All about the trace but its raw bytes.
pub const TRACE: &str = "trace.json";
/// The names of the tasks that ran, by number.
pub const COMMS: &str = "comms.json";
/// /proc/interrupts before the window …
pub const INTERRUPTS_BEFORE: &str = "interrupts.before";
/// … and after it.
pub const INTERRUPTS_AFTER: &str = "interrupts.after";
/// The output of the script …
pub const SCRIPT_OUT: &str = "script.out";
/// … and what it complained of.
pub const SCRIPT_ERR: &str = "script.err";
/// The error, if there was one; no other piece is believed then.
pub const ERROR: &str = "error";
/// The same if the guest's kernel has refused what the case asks of it: a setting, a module, a partition.
pub const REFUSED: &str = "refused";
/// The path of the setting that the kernel has refused, next to [`REFUSED`].
pub const REFUSED_PATH: &str = "refused.path";
/// The kernel's log, with an error.
pub const KERNEL_LOG: &str = "kernel.log";

/// The kernel's accounts of idle states before the window …
pub const IDLE_BEFORE: &str = "cpuidle.before";
/// … and after it.
pub const IDLE_AFTER: &str = "cpuidle.after";
/// The limits for the exit latency of idle states before the window …
pub const LATENCY_LIMITS_BEFORE: &str = "latency-limits.before";
/// … and after it.
pub const LATENCY_LIMITS_AFTER: &str = "latency-limits.after";
/// The kernel's functions, for a profile.
pub const SYMBOLS: &str = "kallsyms";

/// The raw trace of one CPU.
pub fn trace_of_cpu(cpu: u32) -> String {
    format!("trace.cpu{cpu}")
}

/// The output of a task.
pub fn output_of_task(number: usize) -> String {
    format!("task-{number}.out")
}

/// The limits of a guest's answers.
#[derive(Clone, Copy, Debug)]
pub struct Guest<'a> {
    /// The number of its CPUs.
    pub cpus: u32,
    /// The number of its tasks.
    pub tasks: usize,
    /// The files of the kernel that its agent reads.
    pub read: &'a [String],
}

/// Refuses an archive with pieces that this guest cannot yield.
///
/// # Errors
/// The name of the first such piece.
pub fn check(archive: &Archive, guest: Guest<'_>) -> Result<(), String> {
    let known = of(guest);
    match archive.0.keys().find(|name| !known.contains(*name)) {
        Some(name) => Err(name.clone()),
        None => Ok(()),
    }
}

fn of(guest: Guest<'_>) -> BTreeSet<String> {
    let always = [
        OUTCOME,
        TRACE,
        COMMS,
        INTERRUPTS_BEFORE,
        INTERRUPTS_AFTER,
        SCRIPT_OUT,
        SCRIPT_ERR,
        KERNEL_LOG,
        IDLE_BEFORE,
        IDLE_AFTER,
        LATENCY_LIMITS_BEFORE,
        LATENCY_LIMITS_AFTER,
        SYMBOLS,
    ];
    let files = guest
        .read
        .iter()
        .flat_map(|path| [Moment::Before, Moment::After].map(|moment| piece_of_file(path, moment)));
    let traces = CpuList::first(guest.cpus).iter().map(trace_of_cpu).collect::<Vec<_>>();
    let outputs = (0..guest.tasks).map(output_of_task);
    always.map(str::to_owned).into_iter().chain(files).chain(traces).chain(outputs).collect()
}
