// SPDX-License-Identifier: GPL-2.0-only
//! The observation window (invariant 1).

use super::tasks::Running;
use super::{files, idle, idle_accounts, profile, tasks};
use anyhow::Result;
use dyntick_guest::{Archive, Job, Mailbox, Moment, ScriptResult, Stage, pieces};
use dyntick_observe::thread::now_ns;
use dyntick_observe::trace::TraceSession;
use std::collections::BTreeMap;
use std::time::Duration;

/// The workload runs so long before the window opens, so that its own start is not measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// The facts of a window besides its trace.
pub struct Window {
    /// Begin and end, ns of CLOCK_MONOTONIC.
    pub bounds: (u64, u64),
    /// CPU time of each task within, ns of user and of system time.
    pub task_cpu_ns: Vec<(u64, u64)>,
    /// The script, if the window was as long as it.
    pub script: Option<ScriptResult>,
}

/// Starts the workload, records while the window is open, and puts all that was recorded into the
/// archive. Between begin and end the agent does nothing but sleep, or wait for the script.
pub fn window(
    job: &Job,
    mailbox: &Mailbox,
    archive: &mut Archive,
    notes: &mut Vec<String>,
) -> Result<Window> {
    // Enabling events rewrites kernel code and interrupts every CPU, so it comes first.
    let shallow = idle::keep_shallow(job);
    let session = TraceSession::new(&job.events, job.buffer_kib)?;
    if let Some(cpus) = &job.trace_cpus {
        session.only_cpus(cpus)?;
    }
    drop(shallow);
    let mut running = Running::start(&job.tasks)?;
    std::thread::sleep(WARM_UP);
    shift(job.shift_ns);

    mailbox.set_stage(Stage::Measure);
    let cpu_times = running.cpu_times()?;
    files::read(&job.read, Moment::Before, archive)?;
    idle_accounts::limits(job, pieces::LATENCY_LIMITS_BEFORE, archive, notes)?;
    archive.insert(pieces::INTERRUPTS_BEFORE, std::fs::read("/proc/interrupts")?);
    session.start()?;
    idle_accounts::before(job, archive, notes)?;
    let begin = now_ns();
    profile::on(job.profile);
    let script = match job.script.as_ref().filter(|script| script.in_window) {
        Some(script) => Some(tasks::time_script(script, false, archive)?),
        None => {
            std::thread::sleep(Duration::from_nanos(job.measure_ns));
            None
        }
    };
    profile::off(job.profile);
    let end = now_ns();
    idle_accounts::after(job, archive)?;
    session.stop()?;
    archive.insert(pieces::INTERRUPTS_AFTER, std::fs::read("/proc/interrupts")?);
    idle_accounts::limits(job, pieces::LATENCY_LIMITS_AFTER, archive, notes)?;
    files::read(&job.read, Moment::After, archive)?;
    let task_cpu_ns = running
        .cpu_times()?
        .iter()
        .zip(&cpu_times)
        .map(|(after, before)| (after.0 - before.0, after.1 - before.1))
        .collect();
    archive.insert(pieces::COMMS, serde_json::to_vec(&comms()?)?);
    running.wait()?;
    notes.extend(running.stop());
    store(&session, archive, job.tasks.len())?;
    let _shallow = idle::keep_shallow(job);
    drop(session);
    Ok(Window { bounds: (begin, end), task_cpu_ns, script })
}

/// Waits so long, in a perturbed run, that the window begins at another phase of the tick. It comes as late as it can:
/// enabling events and starting tasks wait for RCU, which ends with a tick whenever it began. It does not sleep: where
/// another CPU is busy, emulated CPUs take turns, and a sleep ends with the other's turn.
fn shift(shift_ns: u64) {
    let end = now_ns() + shift_ns;
    while shift_ns > 0 && now_ns() < end {
        std::hint::spin_loop();
    }
}

fn store(session: &TraceSession, archive: &mut Archive, tasks: usize) -> Result<()> {
    let recording = session.read()?;
    archive.insert(pieces::TRACE, serde_json::to_vec_pretty(&recording.metadata)?);
    for (cpu, raw) in recording.raw {
        archive.insert(pieces::trace_of_cpu(cpu), raw);
    }
    for number in 0..tasks {
        let name = pieces::output_of_task(number);
        let output = std::fs::read(format!("/tmp/{name}")).unwrap_or_default();
        if !output.is_empty() {
            archive.insert(name, output);
        }
    }
    Ok(())
}

/// The names of all threads that are there now: one that never switches within the window appears
/// in the trace by its number only.
fn comms() -> Result<BTreeMap<i32, String>> {
    let mut comms = BTreeMap::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        if let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
            let comm = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            comms.insert(pid, comm.trim_end().to_owned());
        }
    }
    Ok(comms)
}
