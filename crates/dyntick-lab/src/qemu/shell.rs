// SPDX-License-Identifier: GPL-2.0-only
//! A machine whose console is for people: on this terminal, or only shown.

use super::machine::{Failure, Machine, RunError};
use super::run::{EXIT_STATUS, Reaped, delivered, memory_with_job, run};
use super::walls::{self, Streams};
use dyntick_guest::Archive;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs a machine with its console on this terminal. Returns what its agent left, or nothing where
/// the guest was ended from the console or by itself.
pub fn interactive(machine: &Machine, job: &[u8]) -> Result<Option<Archive>, RunError> {
    let (memory, mailbox) = memory_with_job(machine, job)?;
    let mut command = machine.command(&memory);
    command.args(["-serial", "mon:stdio"]);
    let mut child = Reaped(walls::spawn(machine, command, &memory, &[], Streams::OfThisProcess)?);
    let status =
        child.0.child.wait().map_err(|source| RunError::Host { what: "wait for QEMU".into(), source })?;
    match status.code() {
        Some(EXIT_STATUS) => Ok(Some(delivered(&mailbox)?)),
        Some(0) => Ok(None),
        _ => Err(Failure::Qemu { status: walls::in_words(status), message: String::new() }.into()),
    }
}

/// Runs a machine and shows on standard output what its console says. The guest writes into a file,
/// which never makes it wait, and reads nothing, so its time does not depend on who looks on.
pub fn command(machine: &Machine, job: &[u8]) -> Result<Archive, RunError> {
    let host = |source| RunError::Host { what: format!("write {}", machine.console.display()), source };
    drop(File::create(machine.console).map_err(host)?);
    let console = File::open(machine.console).map_err(host)?;
    let over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| show(console, &over));
        let ended = run(machine, job, Duration::MAX, &|_| ());
        over.store(true, Ordering::Release);
        ended
    });
    Ok(ended?.archive)
}

/// Copies the text appended to `console` until `over` is true. Ends silently if standard output is closed.
fn show(mut console: File, over: &AtomicBool) {
    const LOOK: Duration = Duration::from_millis(10);
    let mut output = std::io::stdout().lock();
    loop {
        let last = over.load(Ordering::Acquire);
        let mut bytes = Vec::new();
        let shown = console.read_to_end(&mut bytes).and_then(|_| output.write_all(&bytes));
        if shown.and_then(|()| output.flush()).is_err() || last {
            return;
        }
        std::thread::sleep(LOOK);
    }
}
