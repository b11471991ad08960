// SPDX-License-Identifier: GPL-2.0-only
//! Untrusted names and unusual outputs: no control character reaches the terminal, no device is replaced, and no verb
//! stops because its messages cannot be written.

mod names;
mod places;
mod streams;

use crate::harness::{self, text};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sets a window's title, rings, ends the line, and has C1 and quotes; as much as a task's name holds.
const NAME: &str = "\x1b]0;P\x07\n\"$(\u{9b}'";

/// The part of the name that is left after cleaning.
const CLEANED: &str = "]0;P";

fn dyntick() -> Command {
    let mut command = harness::dyntick();
    command.stdin(Stdio::null());
    command
}

fn run(words: &[&str]) -> Output {
    dyntick().args(words).output().unwrap()
}

/// The CPU that is measured: not the first, where there are several.
fn cpu() -> &'static str {
    match std::thread::available_parallelism().map_or(1, usize::from) {
        1 => "0",
        _ => "1",
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A record of this machine, where it can be made; else why not.
fn record(to: &Path) -> Result<(), String> {
    let made =
        dyntick().args(["record", "-C", cpu(), "-o"]).arg(to).args(["--", "sleep", "0.2"]).output().unwrap();
    if made.status.success() { Ok(()) } else { Err(text(&made.stderr)) }
}

/// The measured CPU, for one test at a time: to isolate it moves every other task away.
static MEASURED: Mutex<()> = Mutex::new(());

/// Takes the measured CPU.
fn alone() -> MutexGuard<'static, ()> {
    MEASURED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process of this name that is busy on the measured CPU, ended when this is dropped. Nothing else of these tests
/// changes where tasks run meanwhile.
struct Busy {
    child: Child,
    _alone: MutexGuard<'static, ()>,
    /// Holds its program.
    _folder: tempfile::TempDir,
}

impl Busy {
    fn start() -> Self {
        let alone = alone();
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(NAME);
        // The kernel takes the name of a link. A copy that is just written is busy in whatever another test forks.
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let mut command = Command::new(&program);
        // Each child makes the scheduler switch.
        command.args(["-c", "while :; do /bin/true; done"]).stdin(Stdio::null()).process_group(0);
        let mut cpus = rustix::thread::CpuSet::new();
        cpus.set(cpu().parse().unwrap());
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(move || Ok(rustix::thread::sched_setaffinity(None, &cpus)?));
        }
        Self { child: command.spawn().unwrap(), _alone: alone, _folder: folder }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fails where a terminal would do anything but show this.
fn assert_harmless(words: &[&str], output: &Output) {
    for (stream, bytes) in [("output", &output.stdout), ("error", &output.stderr)] {
        let told = text(bytes);
        let obeyed = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}');
        assert!(!told.contains(obeyed), "{words:?} on standard {stream}: {told:?}");
    }
    assert!(output.status.code().is_some_and(|code| code != 134), "{words:?}: {output:?}");
}
