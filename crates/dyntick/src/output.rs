// SPDX-License-Identifier: GPL-2.0-only
//! The one place where this program prints, and where it writes the files that its user names (invariant 5).
//!
//! Names of tasks, words of guests, keys of studies and arguments may hold anything, so every text is
//! cleaned here ([`clean`]) unless it goes through [`rendered`], whose name says who has done it then.
//! Standard output that cannot be written, as on a full disk, is an error. Standard error that cannot be
//! written keeps nobody from their work: there is nobody left to tell.

mod page;
mod target;

pub use page::{Sheet, comments, page};
pub use target::Target;

use crate::json::{Printed, named};
use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result, bail};
use dyntick_model::text::clean;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use serde_json::Value;
use std::fmt::{Display, Write as _};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// Prints a text.
pub fn text(text: impl Display) -> Result<()> {
    put(&clean(&text.to_string()))
}

/// Prints a line.
pub fn line(line: impl Display) -> Result<()> {
    text(format_args!("{line}\n"))
}

/// Prints what has colours, moves the cursor or has tabs between its columns on purpose. Whoever lays
/// such a text out has cleaned every name in it.
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

/// Prints what only dyntick's own tests read, as one line of JSON.
pub fn unnamed_json_line(value: &Value) -> Result<()> {
    put(&on_one_line(value)?)
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

/// JSON of which a terminal shows every character. JSON's own rules have C0 escaped only; DEL, C1 and
/// what changes the direction of a text can stand in strings alone, where an escape means the same.
pub fn harmless_json(json: &str) -> String {
    let mut harmless = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' => harmless.push(c),
            c if clean(c.encode_utf8(&mut [0; 4])).starts_with(c) => harmless.push(c),
            // All of these are of the Basic Multilingual Plane.
            c => drop(write!(harmless, "\\u{:04x}", u32::from(c))),
        }
    }
    harmless
}

/// Says something beside the result, on standard error.
pub fn note(text: impl Display) {
    aside(format_args!("dyntick: {text}\n"));
}

/// Says what is being done, on standard error.
pub fn step(text: impl Display) {
    aside(format_args!("  {text}\n"));
}

/// Prints a text on standard error, if that can be.
pub fn aside(text: impl Display) {
    let _ = put_aside(&clean(&text.to_string()));
}

/// What [`rendered`] is, on standard error.
///
/// # Errors
/// Where it cannot be written, for those to whom it is all that they do.
pub fn rendered_aside(text: impl Display) -> Result<()> {
    put_aside(&text.to_string()).context("write to standard error")
}

/// Where a screen is drawn on. What it shows was cleaned when it was laid out.
pub fn screen() -> std::io::Stdout {
    std::io::stdout()
}

/// Writes a file that the user named; `-` is standard output.
pub fn file(path: &Path, bytes: &[u8]) -> Result<()> {
    written(path, dyntick_system::write_named(path, |to| to.write_all(bytes)).map(drop))
}

/// The same for a file that is written again and again: whoever is killed meanwhile leaves none beside it.
pub fn file_again(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // What is no file of this user's needs no room in its folder.
    let unnamed =
        dyntick_system::unnamed_in(folder).ok().filter(|_| !dyntick_system::is_standard_output(path));
    let Some(mut unnamed) = unnamed else { return file(path, bytes) };
    written(path, unnamed.write_all(bytes).and_then(|()| dyntick_system::keep_named(path, &unnamed)))
}

fn written(path: &Path, result: std::io::Result<()>) -> Result<()> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            bail!("cannot write {}: its disk is full: make room, or name a file elsewhere", path.display())
        }
        Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
    }
}

/// Refuses a file that cannot be written, before the work is done whose result it is to hold.
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
    let (needed, rights) = match is_new {
        true => (folder, Access::WRITE_OK | Access::EXEC_OK),
        false => (path, Access::WRITE_OK),
    };
    // Rights are those of the effective user, as with the write that follows.
    accessat(CWD, needed, rights, AtFlags::EACCESS)
        .map_err(std::io::Error::from)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Refuses to print what no terminal can show.
pub fn ensure_no_terminal(path: &Path, what: &str) -> Result<()> {
    if dyntick_system::is_standard_output(path) && is_terminal() {
        bail!("{what} is binary data, which a terminal cannot show: name a file, or use a pipe");
    }
    Ok(())
}

/// Whether standard output is a terminal.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether standard error is a terminal.
pub fn asides_on_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// The terminal's columns and rows; none where standard output is no terminal, or one without a size.
pub fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(std::io::stdout()).ok().filter(|size| size.ws_col > 0)?;
    Some((size.ws_col.into(), size.ws_row.into()))
}

/// The columns of standard output, where it is a terminal that has a size.
fn columns() -> Option<usize> {
    width_of(&std::io::stdout())
}

/// The same of standard error.
fn columns_aside() -> Option<usize> {
    width_of(&std::io::stderr())
}

fn width_of(stream: &impl AsFd) -> Option<usize> {
    tcgetwinsize(stream).ok().map(|size| size.ws_col.into()).filter(|columns| *columns > 0)
}

/// Whether standard output shows colours: NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM are asked, then whether
/// it is a terminal.
pub fn colours() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// The same of standard error.
pub fn colours_aside() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// Whether an error is that a reader has left, as in `dyntick … | head`.
pub fn reader_left(error: &anyhow::Error) -> bool {
    let io = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().map(|io| io.kind())
    };
    error.chain().any(|cause| io(cause) == Some(ErrorKind::BrokenPipe))
}

fn put(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("write to standard output")
}

fn put_aside(text: &str) -> std::io::Result<()> {
    // In one write, so that what other processes say does not come in between.
    std::io::stderr().lock().write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_same_value_and_shows_every_character() {
        let name = "a\u{1b}]0;x\u{7}\n\t\u{7f}\u{9b}\u{202e}\u{2028}µ\"\\😀";
        for text in [indented(&[name]).unwrap(), on_one_line(&[name]).unwrap()] {
            assert!(text.chars().all(|c| c == '\n' || clean(&c.to_string()).starts_with(c)), "{text:?}");
            assert_eq!(serde_json::from_str::<[String; 1]>(&text).unwrap(), [name]);
        }
        assert_eq!(on_one_line(&"\u{9b}µ").unwrap(), "\"\\u009bµ\"\n");
    }

    #[test]
    fn what_cannot_be_written_is_told_before() {
        let dir = tempfile::tempdir().unwrap();
        let told = |path: &Path| ensure_writable(path).map_err(|error| format!("{error:#}"));
        assert_eq!(told(&dir.path().join("new")), Ok(()));
        assert_eq!(told(Path::new("/dev/null")), Ok(()));
        assert_eq!(told(Path::new("-")), Ok(()));
        assert!(told(dir.path()).unwrap_err().contains("it is a folder"));
        assert!(told(&dir.path().join("no/file")).unwrap_err().contains("there is no folder"));
        assert!(!dir.path().join("new").exists(), "looking leaves nothing");
    }

    #[test]
    fn a_full_disk_is_told_with_what_fixes_it() {
        let error = file(Path::new("/dev/full"), b"x").unwrap_err().to_string();
        assert_eq!(error, "cannot write /dev/full: its disk is full: make room, or name a file elsewhere");
    }
}
