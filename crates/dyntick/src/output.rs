// SPDX-License-Identifier: GPL-2.0-only
//! The only module of this program that prints, and that writes the files named by its user (invariant 5).
//!
//! Names of tasks, texts of guests, keys of studies and arguments may contain anything. So every text is cleaned here
//! ([`clean`]), except in [`rendered`], whose callers have cleaned it. If standard output cannot be written, e.g. on a
//! full disk, that is an error, and so it is for a result on standard error. If a note cannot be written there, the
//! program continues, since there is no way left to report it.

mod page;
mod target;

pub use page::{Sheet, comments, page};
pub use target::Target;

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result, bail};
use dyntick_contract::{Failure, FailureKind, Printed, named};
use dyntick_model::text::clean;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use std::fmt::{Display, Write as _};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Prints a text.
pub fn text(text: impl Display) -> Result<()> {
    put(&clean(&text.to_string()))
}

/// Prints a line.
pub fn line(line: impl Display) -> Result<()> {
    text(format_args!("{line}\n"))
}

/// Prints a text with colours, cursor movements or tabs. The caller has cleaned every name in it.
pub fn rendered(text: impl Display) -> Result<()> {
    put(&text.to_string())
}

/// Prints a value as JSON, indented, with the name of its format.
pub fn json(value: &impl Printed) -> Result<()> {
    put(&as_json(value)?)
}

/// Prints a value as one line of JSON.
pub fn json_line(value: &impl Printed) -> Result<()> {
    put(&as_json_line(value)?)
}

/// A value as JSON, indented, with a newline at its end.
pub fn as_json(value: &impl Printed) -> Result<String> {
    indented(&named(value))
}

/// A value as one line of JSON with its newline.
pub fn as_json_line(value: &impl Printed) -> Result<String> {
    on_one_line(&named(value))
}

fn indented(value: &impl Serialize) -> Result<String> {
    Ok(harmless_json(&serde_json::to_string_pretty(value)?) + "\n")
}

fn on_one_line(value: &impl Serialize) -> Result<String> {
    Ok(harmless_json(&serde_json::to_string(value)?) + "\n")
}

/// Escapes characters of JSON that a terminal does not show. JSON itself requires that only for C0; DEL, C1 and
/// characters that change the direction of a text occur only in strings, in which an escape means the same.
pub fn harmless_json(json: &str) -> String {
    let mut harmless = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' => harmless.push(c),
            c if clean(c.encode_utf8(&mut [0; 4])).starts_with(c) => harmless.push(c),
            // All of these are in the Basic Multilingual Plane.
            c => drop(write!(harmless, "\\u{:04x}", u32::from(c))),
        }
    }
    harmless
}

/// Prints a note on standard error, in addition to the result.
pub fn note(text: impl Display) {
    aside(format_args!("dyntick: {text}\n"));
}

/// Prints the present step on standard error.
pub fn step(text: impl Display) {
    aside(format_args!("  {text}\n"));
}

/// Prints a text on standard error, if possible.
pub fn aside(text: impl Display) {
    let _ = put_aside(&clean(&text.to_string()));
}

/// Prints a text as [`rendered`] does, on standard error.
///
/// # Errors
/// If it cannot be written, for callers that do nothing else.
pub fn rendered_aside(text: impl Display) -> Result<()> {
    put_aside(&text.to_string()).context("write to standard error")
}

/// The exit status of a verb that has written its result: that of a command that failed, else an error if the result
/// was not written, else `own`.
///
/// # Errors
/// If the result was not written, and no command failed.
pub fn status_of(written: Result<()>, command: Option<u8>, own: ExitCode) -> Result<ExitCode> {
    match (written, command) {
        (Err(error), None | Some(0)) => Err(error),
        _ => Ok(own),
    }
}

/// The output of a screen, whose content was cleaned when it was laid out.
pub fn screen() -> std::io::Stdout {
    std::io::stdout()
}

/// Writes a file that the user named; `-` is standard output.
pub fn file(path: &Path, bytes: &[u8]) -> Result<()> {
    written(path, dyntick_system::write_named(path, |to| to.write_all(bytes)).map(drop))
}

/// Writes a file that the user named bit by bit; `-` is standard output.
pub fn file_by(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    written(path, dyntick_system::write_named(path, write).map(drop))
}

/// Does the same for a file that is written repeatedly: if killed, no temporary file is left next to it.
pub fn file_again(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A path that is not a file of this user needs no temporary file in its folder.
    let unnamed =
        dyntick_system::unnamed_in(folder).ok().filter(|_| !dyntick_system::is_standard_output(path));
    let Some(mut unnamed) = unnamed else { return file(path, bytes) };
    written(path, unnamed.write_all(bytes).and_then(|()| dyntick_system::keep_named(path, &unnamed)))
}

fn written(path: &Path, result: std::io::Result<()>) -> Result<()> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            let text = format!(
                "cannot write {}: its disk is full: make room, or name a file elsewhere",
                path.display()
            );
            Err(Failure::new(FailureKind::Environment, text).into())
        }
        Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
    }
}

/// Refuses a file that cannot be written, before the work for it is done.
pub fn ensure_writable(path: &Path) -> Result<()> {
    if dyntick_system::is_standard_output(path) {
        return Ok(());
    }
    if path.is_dir() {
        bail!("cannot write {}: it is a folder", path.display());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_new = path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    if is_new && !folder.is_dir() {
        bail!("cannot write {}: there is no folder {}", path.display(), folder.display());
    }
    let (needed, rights) =
        if is_new { (folder, Access::WRITE_OK | Access::EXEC_OK) } else { (path, Access::WRITE_OK) };
    // The permissions of the effective user count, as for the write that follows.
    accessat(CWD, needed, rights, AtFlags::EACCESS)
        .map_err(std::io::Error::from)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Refuses to print binary data on a terminal.
pub fn ensure_no_terminal(path: &Path, what: &str) -> Result<()> {
    if dyntick_system::is_standard_output(path) && is_terminal() {
        bail!("{what} is binary data, which a terminal cannot show: name a file, or use a pipe");
    }
    Ok(())
}

/// Returns true if standard output is a terminal.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Returns true if standard error is a terminal.
pub fn asides_on_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// The terminal's columns and rows; `None` if standard output is not a terminal, or has no size.
pub fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(std::io::stdout()).ok().filter(|size| size.ws_col > 0)?;
    Some((size.ws_col.into(), size.ws_row.into()))
}

/// The columns of standard output, if it is a terminal with a size.
fn columns() -> Option<usize> {
    width_of(&std::io::stdout())
}

/// The same for standard error.
fn columns_aside() -> Option<usize> {
    width_of(&std::io::stderr())
}

fn width_of(stream: &impl AsFd) -> Option<usize> {
    tcgetwinsize(stream).ok().map(|size| size.ws_col.into()).filter(|columns| *columns > 0)
}

/// Returns true if standard output shows colours, by NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM, and then by being a
/// terminal.
pub fn colours() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// The same for standard error.
pub fn colours_aside() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// Returns true for the error of a reader that has left, as in `dyntick … | head`.
pub fn reader_left(error: &anyhow::Error) -> bool {
    let io = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().map(|io| io.kind())
    };
    error.chain().any(|cause| io(cause) == Some(ErrorKind::BrokenPipe))
}

/// Returns true if anything was printed on standard output.
pub fn has_printed() -> bool {
    HAS_PRINTED.load(Relaxed)
}

static HAS_PRINTED: AtomicBool = AtomicBool::new(false);

fn put(text: &str) -> Result<()> {
    HAS_PRINTED.store(true, Relaxed);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("write to standard output")
}

fn put_aside(text: &str) -> std::io::Result<()> {
    // One write keeps the output of other processes out of it.
    std::io::stderr().lock().write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_json_has_the_same_value_and_shows_every_character() {
        let name = "a\u{1b}]0;x\u{7}\n\t\u{7f}\u{9b}\u{202e}\u{2028}µ\"\\😀";
        for text in [indented(&[name]).unwrap(), on_one_line(&[name]).unwrap()] {
            assert!(text.chars().all(|c| c == '\n' || clean(&c.to_string()).starts_with(c)), "{text:?}");
            assert_eq!(serde_json::from_str::<[String; 1]>(&text).unwrap(), [name]);
        }
        assert_eq!(on_one_line(&"\u{9b}µ").unwrap(), "\"\\u009bµ\"\n");
    }

    #[test]
    fn unwritable_file_is_reported_before_the_work() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| ensure_writable(path).map_err(|error| format!("{error:#}"));
        assert_eq!(refusal(&dir.path().join("new")), Ok(()));
        assert_eq!(refusal(Path::new("/dev/null")), Ok(()));
        assert_eq!(refusal(Path::new("-")), Ok(()));
        assert!(refusal(dir.path()).unwrap_err().contains("it is a folder"));
        assert!(refusal(&dir.path().join("no/file")).unwrap_err().contains("there is no folder"));
        assert!(!dir.path().join("new").exists(), "looking leaves nothing");
    }

    #[test]
    fn full_disk_is_reported_with_its_fix() {
        let error = file(Path::new("/dev/full"), b"x").unwrap_err().to_string();
        assert_eq!(error, "cannot write /dev/full: its disk is full: make room, or name a file elsewhere");
    }
}
