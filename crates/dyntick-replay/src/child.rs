// SPDX-License-Identifier: GPL-2.0-only
//! Runs a compiled governor on decisions: a confined child with both in shared memory.

use crate::decision::{Decision, Part};
use crate::layout::{self, Ending};
use crate::{Program, ReplayError};
use dyntick_idle::States;
use dyntick_kernels::programs::{end_with_this_one, limit};
use dyntick_system::confine::hand_on;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::process::{Resource, Signal};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

/// Decisions in memory that any number of children read.
pub struct Input {
    file: File,
    bytes: usize,
    states: usize,
    decisions: usize,
}

impl Input {
    /// Puts decisions, which must be in order of time on each CPU, into memory that never changes again.
    ///
    /// # Errors
    /// Too many decisions, or no memory.
    pub fn new(states: &States, hz: u32, decisions: &[Decision]) -> Result<Self, ReplayError> {
        if decisions.len() >= layout::MOST_DECISIONS {
            return Err(ReplayError::TooMany(decisions.len()));
        }
        let bytes = layout::input(states, hz, decisions);
        let mut file = memory("dyntick-decisions")?;
        file.write_all(&bytes)?;
        seal(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        Ok(Self { file, bytes: bytes.len(), states: states.0.len(), decisions: decisions.len() })
    }
}

fn memory(name: &str) -> std::io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into())
}

fn seal(file: &File, seals: SealFlags) -> std::io::Result<()> {
    Ok(fcntl_add_seals(file, seals)?)
}

/// The CPU time of a child, s: a governor that makes a decision in 100 µs is not slow yet.
fn cpu_seconds(decisions: usize) -> u64 {
    60 + decisions as u64 / 10_000
}

impl Program {
    /// The governor's choices for all decisions, within a latency limit for all of them, ns.
    ///
    /// # Errors
    /// A crash, an endless loop or the choice of an unknown state, with the number of the decision.
    pub fn run(&self, input: &Input, latency_ns: i64) -> Result<Vec<Part>, ReplayError> {
        let bytes = layout::output_bytes(input.decisions);
        let output = memory("dyntick-choices")?;
        output.set_len(bytes as u64)?;
        seal(&output, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        let descriptors = [input.file.as_raw_fd(), output.as_raw_fd()];
        let mut inner = Command::new(self.path());
        for number in
            [descriptors[0] as i64, input.bytes as i64, descriptors[1] as i64, bytes as i64, latency_ns]
        {
            inner.arg(number.to_string());
        }
        let mut outer = self.walls.clone().read(self.folder()).around(&inner)?;
        hand_on(&mut outer, &descriptors);
        limit(&mut outer, Resource::Cpu, cpu_seconds(input.decisions));
        end_with_this_one(&mut outer, Signal::KILL);
        let status = outer.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        let mut head = [0; 32];
        output.read_exact_at(&mut head, 0)?;
        let ending = Ending::read(&head);
        self.judge(status, &ending)?;
        parts(&output, &ending, input)
            .ok_or_else(|| self.crash(&ending, "it overwrote its results".to_owned()))
    }

    fn judge(&self, status: ExitStatus, ending: &Ending) -> Result<(), ReplayError> {
        const NOT_REGISTERED: u64 = 1;
        const NOT_ENABLED: u64 = 2;
        const BAD_STATE: u64 = 3;
        const LOOP: u64 = 4;
        const NO_SELECT: u64 = 5;
        let (governor, value) = (self.name.clone(), ending.value);
        let decision = ending.decision;
        match (status.code(), ending.failure) {
            (Some(0), _) => Ok(()),
            (Some(1), NOT_REGISTERED | NO_SELECT) => Err(ReplayError::NotRegistered { governor }),
            (Some(1), NOT_ENABLED) => Err(ReplayError::NotEnabled { governor, value }),
            (Some(1), BAD_STATE) => Err(ReplayError::BadState { governor, decision, value }),
            (Some(1), LOOP) => Err(ReplayError::Loop { governor, decision }),
            _ => Err(self.crash(ending, how(status))),
        }
    }

    fn crash(&self, ending: &Ending, how: String) -> ReplayError {
        ReplayError::Crash { governor: self.name.clone(), decision: ending.decision, how }
    }
}

/// The end of a child in words. bwrap, which starts it, ends with 128 and the child's signal.
fn how(status: ExitStatus) -> String {
    let signal = status.signal().or_else(|| status.code().filter(|code| *code > 128).map(|code| code - 128));
    match signal {
        Some(libc::SIGSEGV) => "SIGSEGV: an access to memory that is not its own".to_owned(),
        Some(libc::SIGBUS) => "SIGBUS: an access to memory that is not its own".to_owned(),
        Some(libc::SIGFPE) => "SIGFPE: a division by zero".to_owned(),
        Some(libc::SIGILL) => "SIGILL: BUG() or an unreachable place".to_owned(),
        Some(libc::SIGSYS) => "SIGSYS: a system call, and a governor has none".to_owned(),
        Some(libc::SIGXCPU | libc::SIGKILL) => "it exceeded its CPU time".to_owned(),
        Some(signal) => format!("signal {signal}"),
        None => format!("status {}", status.code().unwrap_or(-1)),
    }
}

/// The parts in the output; none if they are not what the runner writes.
fn parts(output: &File, ending: &Ending, input: &Input) -> Option<Vec<Part>> {
    let count = usize::try_from(ending.parts).ok()?;
    let bytes = count.checked_mul(layout::PART_BYTES)?;
    if layout::OUTPUT_BYTES + bytes > layout::output_bytes(input.decisions) {
        return None;
    }
    let mut all = vec![0; bytes];
    output.read_exact_at(&mut all, layout::OUTPUT_BYTES as u64).ok()?;
    let read = |bytes: &[u8]| layout::part(bytes, input.states, input.decisions);
    all.chunks_exact(layout::PART_BYTES).map(read).collect()
}
