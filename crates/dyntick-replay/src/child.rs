// SPDX-License-Identifier: GPL-2.0-only
//! Runs a compiled governor on decisions: a confined child that reads them in a file and writes its choices into one.

use crate::outcome::{self, Ending, Outcome};
use crate::{Input, Program, ReplayError, files};
use dyntick_kernels::programs::{end_with_this_one, limit};
use dyntick_system::confine::hand_on;
use rustix::process::{Resource, Signal};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

/// The CPU time of a child, s: a governor that makes a decision in 100 µs is not slow yet.
fn cpu_seconds(decisions: u64) -> u64 {
    60 + decisions / 10_000
}

impl Program {
    /// The governor's choices for all decisions, within a latency limit for all of them, ns. With feedback a choice
    /// delays what the CPU does afterwards, and what it wakes others for.
    ///
    /// # Errors
    /// A crash, an endless loop or the choice of an unknown state, with the number of the decision.
    pub fn run(&self, input: &Input, latency_ns: i64, feedback: bool) -> Result<Outcome, ReplayError> {
        let bytes = outcome::bytes(input.decisions);
        let output = files::temporary()?;
        output.set_len(bytes)?;
        let descriptors = [input.file.as_raw_fd(), output.as_raw_fd()];
        let mut inner = Command::new(&self.path);
        let numbers = [descriptors[0] as u64, input.bytes(), descriptors[1] as u64, bytes, input.decisions];
        inner.args(numbers.map(|number| number.to_string())).arg(latency_ns.to_string());
        inner.arg(u8::from(feedback).to_string());
        let mut outer = self.walls.around(&inner)?;
        hand_on(&mut outer, &descriptors);
        limit(&mut outer, Resource::Cpu, cpu_seconds(input.decisions));
        end_with_this_one(&mut outer, Signal::KILL);
        let status = outer.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        let ending = Ending::read(&output)?;
        self.judge(status, &ending)?;
        let overwritten = || self.crash(&ending, "it overwrote its results".to_owned());
        Outcome::read(output, &ending, input, feedback)?.ok_or_else(overwritten)
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
        Some(libc::SIGBUS) => {
            "SIGBUS: an access to memory that is not its own, or no space in $TMPDIR".to_owned()
        }
        Some(libc::SIGFPE) => "SIGFPE: a division by zero".to_owned(),
        Some(libc::SIGILL) => "SIGILL: BUG() or an unreachable place".to_owned(),
        Some(libc::SIGSYS) => "SIGSYS: a system call, and a governor has none".to_owned(),
        Some(libc::SIGXCPU | libc::SIGKILL) => "it exceeded its CPU time".to_owned(),
        Some(signal) => format!("signal {signal}"),
        None => format!("status {}", status.code().unwrap_or(-1)),
    }
}
