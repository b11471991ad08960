// SPDX-License-Identifier: GPL-2.0-only
//! The other side of the laboratory: this program as PID 1 of a guest.
//!
//! The agent sets the guest up, waits until it is at rest, runs the workload, measures, and
//! leaves everything in the mailbox. During the window it sleeps on a housekeeping CPU and
//! sends nothing.

mod exit;
mod measure;
mod mounts;
pub mod probe;
mod profile;
mod settle;
mod shell;
mod tasks;

pub use tasks::{TASK_COMMAND, run_task};

use crate::guest::{Archive, Job, Mailbox, Outcome, Stage};
use anyhow::{Context, Result};
use dyntick_model::CommandLine;
use std::fs::OpenOptions;

/// The parameter that tells the agent where its mailbox is: derived by both sides from the
/// `memmap=` parameter, so that the two cannot disagree.
const MAILBOX_PARAMETER: &str = "memmap";

/// Whether this process is the agent: PID 1, started by the kernel as `/init`.
pub fn is_agent() -> bool {
    std::process::id() == 1
}

/// Does the job and ends the machine. Never returns.
pub fn main() -> ! {
    if let Err(error) = deliver() {
        // Without a mailbox the console is all there is.
        eprintln!("dyntick agent: {error:#}");
    }
    exit::leave()
}

fn deliver() -> Result<()> {
    mounts::mount_all()?;
    let address = mailbox_address()?;
    let memory = OpenOptions::new().read(true).write(true).open("/dev/mem").context("open /dev/mem")?;
    let mut mailbox = Mailbox::map(&memory, address)?;
    let job: Job = serde_json::from_slice(mailbox.job(address)?).context("read the job")?;
    let mut archive = perform(&job, &mailbox).unwrap_or_else(|error| {
        let mut archive = Archive::default();
        archive.insert("error", format!("{error:#}"));
        archive
    });
    archive.insert("kernel.log", mounts::kernel_log());
    mailbox.put_result(&archive.to_bytes())?;
    mailbox.set_stage(Stage::Done);
    Ok(())
}

fn mailbox_address() -> Result<u64> {
    let line = CommandLine::parse(&std::fs::read_to_string("/proc/cmdline")?);
    let value = line.get(MAILBOX_PARAMETER).context("the kernel command line names no mailbox (memmap=)")?;
    let (_, address) = value.split_once("$0x").context("memmap= is not of the form SIZE$0xADDRESS")?;
    Ok(u64::from_str_radix(address, 16)?)
}

fn perform(job: &Job, mailbox: &Mailbox) -> Result<Archive> {
    if let Some(command) = &job.shell {
        shell::run(command)?;
        return Ok(Archive::default());
    }
    let mut notes = mounts::load_modules()?;
    notes.extend(mounts::apply_settings(&job.sysctl, &job.write));
    profile::introduce_cpus(job)?;
    settle::keep_off(&job.measured_cpus)?;
    let mut archive = Archive::default();
    profile::prepare(job, &mut archive)?;

    mailbox.set_stage(Stage::Settle);
    let settled = settle::wait(job)?;
    let window = measure::window(job, mailbox, &mut archive, &mut notes)?;

    mailbox.set_stage(Stage::Script);
    let script = job
        .script
        .as_ref()
        .map(|script| tasks::time_script(script, job.profile, &mut archive))
        .transpose()?;
    mailbox.set_stage(Stage::Collect);
    let outcome =
        Outcome { settled, window_ns: window.bounds, task_cpu_ns: window.task_cpu_ns, script, notes };
    archive.insert("outcome.json", serde_json::to_vec_pretty(&outcome)?);
    Ok(archive)
}
