// SPDX-License-Identifier: GPL-2.0-only
//! One virtual machine from start to end.

use super::machine::{Accelerator, Failure, Machine, RunError};
use super::stolen::{self, Stolen};
use super::walls::{self, Started, Streams};
use dyntick_guest::names::EXIT_VALUE;
use dyntick_guest::{Archive, MAILBOX_AT, MAILBOX_BYTES, Mailbox, Stage};
use dyntick_guest::{console, pieces, received};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// Wall time that each stage took, in the order of [`Stage::ALL`] without the last.
pub type StageTimes = Vec<(Stage, Duration)>;

/// The raw output of a guest that finished its job.
pub struct Raw {
    /// The files that the agent sent.
    pub archive: Archive,
    /// The wall time of each stage.
    pub stages: StageTimes,
    /// The time that the host took from the guest's CPUs in the window; empty in virtual time.
    pub stolen: Stolen,
}

/// The status with which QEMU ends if the agent has ended the guest.
pub(super) const EXIT_STATUS: i32 = 2 * EXIT_VALUE as i32 + 1;

/// The time between two reads of the guest's stage.
const POLL: Duration = Duration::from_millis(10);

/// Runs a machine until its guest has delivered, failed, or `timeout` (wall time) is over. `watch` is called with each
/// stage as it begins.
pub fn run(machine: &Machine, job: &[u8], timeout: Duration, watch: &dyn Fn(Stage)) -> Result<Raw, RunError> {
    let (memory, mailbox) = memory_with_job(machine, job)?;
    let mut command = machine.command(&memory);
    command.arg("-serial").arg(format!("file:{}", machine.console.display()));
    let mut child = Reaped(walls::spawn(machine, command, &memory, &[machine.console], Streams::Apart)?);
    let mut stolen = stolen::Watch::new(child.0.child.id());
    let mut watch = |stage| {
        watch(stage);
        if machine.accelerator != Accelerator::Icount {
            stolen.stage(stage);
        }
    };
    let stages = follow(&mut child.0.child, &mailbox, machine.console, timeout, &mut watch)?;
    let status =
        child.0.child.wait().map_err(|source| RunError::Host { what: "wait for QEMU".into(), source })?;
    if status.code() != Some(EXIT_STATUS) {
        return Err(failure(machine.console, mailbox.stage(), status, &mut child.0.child).into());
    }
    Ok(Raw { archive: delivered(&mailbox)?, stages, stolen: stolen.in_window() })
}

/// The files of the agent, unless it sent an error.
pub(super) fn delivered(mailbox: &Mailbox) -> Result<Archive, Failure> {
    let result = mailbox.result().ok_or(Failure::Undelivered(mailbox.stage()))?;
    let archive = Archive::from_bytes(result).map_err(|error| Failure::Damaged(error.to_string()))?;
    if let Some(message) = archive.get(pieces::REFUSED) {
        let path = archive.get(pieces::REFUSED_PATH).map(received::message);
        return Err(Failure::Refused { reason: received::message(message), path });
    }
    match archive.get(pieces::ERROR) {
        Some(message) => Err(Failure::Agent(received::message(message))),
        None => Ok(archive),
    }
}

/// The memory that a guest needs in addition to its mailbox and twice its image (loaded and unpacked).
const LEAST_FREE: u64 = 64 << 20;

/// Refuses a guest of so much memory for which its image is too large, bytes.
pub fn ensure_room(image: u64, memory: u64) -> Result<(), RunError> {
    let needed = MAILBOX_AT + MAILBOX_BYTES + 2 * image + LEAST_FREE;
    if memory < needed {
        let [image, needed, memory] = [image, needed, memory].map(|bytes| bytes.div_ceil(1 << 20));
        return Err(RunError::NoRoom { image, needed, memory });
    }
    Ok(())
}

pub(super) fn memory_with_job(machine: &Machine, job: &[u8]) -> Result<(File, Mailbox), RunError> {
    let host = |source| RunError::Host { what: format!("read {}", machine.initramfs.display()), source };
    ensure_room(std::fs::metadata(machine.initramfs).map_err(host)?.len(), machine.memory)?;
    // A guest that uses more than there is would have the kernel end something.
    let there = dyntick_system::memory();
    if machine.memory > there {
        return Err(RunError::TooMuch { wanted: machine.memory >> 20, there: there >> 20 });
    }
    let memory = guest_memory(machine.memory)?;
    let mut mailbox = Mailbox::map(&memory)?;
    mailbox.put_job(job)?;
    Ok((memory, mailbox))
}

/// Memory without a name in any file system: nothing is left behind, however this ends.
fn guest_memory(bytes: u64) -> Result<File, RunError> {
    let host = |source: rustix::io::Errno| RunError::Host {
        what: format!("reserve {} MiB of memory for the guest", bytes >> 20),
        source: source.into(),
    };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = memfd_create("dyntick-guest", flags).map_err(host)?;
    ftruncate(&fd, bytes).map_err(host)?;
    // Who breaks out of QEMU could shorten it, and reading on would end this process (SIGBUS).
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(host)?;
    Ok(File::from(fd))
}

/// A child that never outlives its owner.
pub(super) struct Reaped(pub(super) Started);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.child.kill();
        let _ = self.0.child.wait();
    }
}

/// Waits for the end, noting when each stage began.
fn follow(
    child: &mut Child,
    mailbox: &Mailbox,
    console: &Path,
    timeout: Duration,
    watch: &mut dyn FnMut(Stage),
) -> Result<StageTimes, RunError> {
    let start = Instant::now();
    let mut began = vec![(Stage::Boot, start)];
    watch(Stage::Boot);
    loop {
        let stage = mailbox.stage();
        // Only forward: a guest that says otherwise has no word.
        if stage > began[began.len() - 1].0 {
            began.push((stage, Instant::now()));
            watch(stage);
        }
        match child.try_wait() {
            Ok(Some(_)) => return Ok(durations(&began)),
            Ok(None) if console::is_flooded(console) => return Err(Failure::Flood.into()),
            Ok(None) if start.elapsed() > timeout => return Err(Failure::Hung(timeout, stage).into()),
            Ok(None) => std::thread::sleep(POLL),
            Err(source) => return Err(RunError::Host { what: "wait for QEMU".into(), source }),
        }
    }
}

fn durations(began: &[(Stage, Instant)]) -> StageTimes {
    let end = Instant::now();
    let ends = began.iter().skip(1).map(|(_, begin)| *begin).chain([end]);
    began.iter().zip(ends).map(|((stage, begin), end)| (*stage, end - *begin)).collect()
}

/// More of QEMU's words is not read.
const LONGEST_WORDS: u64 = 64 << 10;

/// The failure of a guest that was not ended by the agent.
fn failure(path: &Path, stage: Stage, status: std::process::ExitStatus, child: &mut Child) -> Failure {
    let text = console::end(path);
    let panic = text.lines().find_map(|line| line.split_once("Kernel panic - not syncing: "));
    if text.contains("Out of memory") || text.contains("System is deadlocked on memory") {
        return Failure::OutOfMemory;
    }
    if let Some((_, reason)) = panic {
        return Failure::Panic(received::line(reason.trim()));
    }
    if !status.success() {
        let said = child.stderr.take().map(|pipe| std::io::read_to_string(pipe.take(LONGEST_WORDS)));
        return Failure::Qemu {
            status: walls::in_words(status),
            message: said.and_then(Result::ok).unwrap_or_default().trim().to_owned(),
        };
    }
    if stage == Stage::Boot { Failure::NeverSpoke } else { Failure::Vanished(stage) }
}
