// SPDX-License-Identifier: GPL-2.0-only
//! The other side of the laboratory: this program as PID 1 of a guest.
//!
//! The agent sets the guest up, waits until it is at rest, runs the workload, measures, and
//! leaves everything in the mailbox. During the window it sleeps on a housekeeping CPU and
//! sends nothing.

mod cgroup;
pub mod deadline;
mod disk;
mod exit;
mod files;
mod idle;
mod idle_accounts;
mod loopback;
mod measure;
mod mounts;
pub mod packets;
pub mod probe;
mod profile;
mod refused;
mod settle;
mod shell;
mod tasks;

pub use settle::pin;
pub use tasks::{TASK_COMMAND, run_task, spin_block};

use anyhow::{Context, Result};
use dyntick_guest::names::INIT;
use dyntick_guest::{Archive, Job, Mailbox, Outcome, SHELL_STATUS, Stage, pieces};
use refused::{Refused, only_error};
use std::fs::OpenOptions;

/// True if this process is the agent: PID 1, started by the kernel as `/init`. Who is PID 1 of a container
/// or a namespace has the name that it was called by.
pub fn is_agent() -> bool {
    std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == INIT)
}

/// Does the job and ends the machine. Never returns.
pub fn main() -> ! {
    let exit = exit::Exit::prepare();
    if let Err(error) = deliver() {
        // Without a mailbox the console is all there is.
        eprintln!("dyntick agent: {error:#}");
    }
    exit.leave()
}

fn deliver() -> Result<()> {
    mounts::mount_all()?;
    let memory = OpenOptions::new().read(true).write(true).open("/dev/mem").context("open /dev/mem")?;
    let mut mailbox = Mailbox::map(&memory)?;
    let mut archive = perform(&mailbox).unwrap_or_else(|error| only_error(&error));
    archive.insert(pieces::KERNEL_LOG, mounts::kernel_log());
    if let Err(error) = mailbox.put_result(&archive.to_bytes()) {
        mailbox.put_result(&only_error(&error.into()).to_bytes())?;
    }
    mailbox.set_stage(Stage::Done);
    Ok(())
}

/// Makes the machine what the case asks for. Where that fails, its kernel cannot be that.
fn set_up(job: &Job) -> Result<()> {
    mounts::load_modules(&job.module_parameters, &mounts::command_line()?)?;
    loopback::up()?;
    disk::mount(job)?;
    idle::prepare(job)?;
    mounts::mount_debugfs(job);
    mounts::apply_settings(&job.sysctl, &job.write)
}

fn perform(mailbox: &Mailbox) -> Result<Archive> {
    let job: &Job = &serde_json::from_slice(mailbox.job()?).context("read the job")?;
    set_up(job).map_err(|error| Refused::from_error(&error))?;
    let mut archive = Archive::default();
    if let Some(shell) = &job.shell {
        archive.insert(SHELL_STATUS, shell::run(shell)?.to_string());
        return Ok(archive);
    }
    let mut notes = Vec::new();
    profile::introduce_cpus(job)?;
    settle::keep_off(&job.measured_cpus)?;
    profile::prepare(job, &mut archive)?;

    mailbox.set_stage(Stage::Settle);
    let settled = settle::wait(job)?;
    let window = measure::window(job, mailbox, &mut archive, &mut notes)?;

    mailbox.set_stage(Stage::Script);
    let after = job.script.as_ref().filter(|script| !script.in_window);
    let after = after.map(|script| tasks::time_script(script, job.profile, &mut archive)).transpose()?;
    mailbox.set_stage(Stage::Collect);
    let outcome = Outcome {
        settled,
        window_ns: window.bounds,
        task_cpu_ns: window.task_cpu_ns,
        script: window.script.or(after),
        notes,
    };
    archive.insert(pieces::OUTCOME, serde_json::to_vec_pretty(&outcome)?);
    Ok(archive)
}
