// SPDX-License-Identifier: GPL-2.0-only
//! Running a program to its end, and not longer than this process lives; what it says is limited.

use super::BuildError;
use crate::programs::end_with_this_one;
use dyntick_model::text::shortened;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};

/// The most that is kept of what a program says on each of its outputs, bytes; the rest is read and
/// dropped.
const SAID: u64 = 64 << 20;
/// The most that is looked at of a line.
const LINE: u64 = 4096;

/// Runs a program to its end; what it says on its standard error is the error.
pub fn run(what: &str, command: &mut Command) -> Result<Output, BuildError> {
    run_with(what, command, essence)
}

/// The same without the program's message, which may quote a private file.
pub fn run_unquoted(what: &str, command: &mut Command, message: &str) -> Result<Output, BuildError> {
    run_with(what, command, |_| message.to_owned())
}

fn run_with(
    what: &str,
    command: &mut Command,
    message: impl FnOnce(&str) -> String,
) -> Result<Output, BuildError> {
    let failed = |message: String| BuildError::Failed { what: what.to_owned(), message };
    let output = output(command)
        .map_err(|error| failed(format!("{}: {error}", command.get_program().to_string_lossy())))?;
    if output.status.success() {
        Ok(output)
    } else if output.status.signal() == Some(libc::SIGALRM) {
        Err(failed("it exceeded its time limit".to_owned()))
    } else {
        Err(failed(message(&String::from_utf8_lossy(&output.stderr))))
    }
}

/// The same as `Command::output`, but keeps at most [`SAID`] of it. The program ends with this one; make then ends its
/// compilers.
pub fn output(command: &mut Command) -> std::io::Result<Output> {
    end_with_this_one(command, Signal::TERM);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stderr = reader(&mut child)?;
    let stdout = child.stdout.take().map(said).transpose()?.unwrap_or_default();
    let status = child.wait()?;
    Ok(Output { status, stdout, stderr: joined(stderr)? })
}

type Reader = std::thread::JoinHandle<std::io::Result<Vec<u8>>>;

/// Reads what a program complains of, so that it never waits for that. Where there is no thread for it, the program
/// is ended.
fn reader(child: &mut Child) -> std::io::Result<Option<Reader>> {
    let start = |stderr| std::thread::Builder::new().spawn(|| complained(stderr));
    let started = child.stderr.take().map(start).transpose();
    if started.is_err() {
        child.kill()?;
        child.wait()?;
    }
    started
}

fn joined(reader: Option<Reader>) -> std::io::Result<Vec<u8>> {
    let read = reader.map(|reader| reader.join().unwrap_or_else(|_| Ok(Vec::new())));
    Ok(read.transpose()?.unwrap_or_default())
}

/// The end of a program's standard error, with the reason why it failed.
fn complained(mut from: impl Read) -> std::io::Result<Vec<u8>> {
    const KEPT: usize = 1 << 20;
    let (mut end, mut part) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        match from.read(&mut part)? {
            0 => return Ok(end),
            length => end.extend_from_slice(&part[..length]),
        }
        if end.len() > 2 * KEPT {
            end.drain(..end.len() - KEPT);
        }
    }
}

fn said(mut from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(SAID).read_to_end(&mut bytes)?;
    std::io::copy(&mut from, &mut std::io::sink())?;
    Ok(bytes)
}

/// Runs a command to its end and hands on each line that it says. Returns how it ended, and what it said on its
/// standard error.
pub fn follow(
    command: &mut Command,
    mut line: impl FnMut(&str),
) -> std::io::Result<(std::process::ExitStatus, String)> {
    end_with_this_one(command, Signal::TERM);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stderr = reader(&mut child)?;
    if let Some(mut stdout) = child.stdout.take().map(BufReader::new) {
        let mut bytes = Vec::new();
        while stdout.by_ref().take(LINE).read_until(b'\n', &mut bytes)? > 0 {
            line(&String::from_utf8_lossy(&bytes));
            bytes.clear();
        }
    }
    let status = child.wait()?;
    Ok((status, String::from_utf8_lossy(&joined(stderr)?).into_owned()))
}

/// The lines of a long message that matter: the errors, or else its end. A line of an untrusted Makefile has
/// any length.
pub fn essence(message: &str) -> String {
    const LONGEST: usize = 8000;
    shortened(&lines_that_matter(message), LONGEST)
}

fn lines_that_matter(message: &str) -> String {
    const LINES: usize = 12;
    let errors =
        message.lines().filter(|line| line.contains("error:") || line.contains("undefined reference"));
    let errors: Vec<&str> = errors.take(LINES).collect();
    if !errors.is_empty() {
        return errors.join("\n");
    }
    let mut lines: Vec<&str> = message.lines().rev().take(LINES).collect();
    lines.reverse();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_picked_out_of_long_messages() {
        let noise = "warning: x\n".repeat(30);
        assert_eq!(essence(&format!("{noise}a.c:1: error: no\nmake: *** x\n")), "a.c:1: error: no");
        assert_eq!(essence(&noise).lines().count(), 12);
        assert!(essence(&format!("error: {}", "y".repeat(1 << 20))).len() < 8100);
    }
}
