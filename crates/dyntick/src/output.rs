// SPDX-License-Identifier: GPL-2.0-only
//! Standard output that can fail, as on a full disk, without a panic.

use anyhow::{Context, Result};
use rustix::termios::tcgetwinsize;
use std::fmt::Display;
use std::io::Write;

/// Prints a text as it is.
pub fn text(text: impl Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).context("write to standard output")
}

/// Prints a line.
pub fn line(line: impl Display) -> Result<()> {
    text(format_args!("{line}\n"))
}

/// Prints a value as JSON, indented.
pub fn json(value: &impl serde::Serialize) -> Result<()> {
    line(serde_json::to_string_pretty(value)?)
}

/// Tells something beside the result, on standard error.
pub fn note(text: impl Display) {
    eprintln!("dyntick: {text}");
}

/// How wide standard output is: a terminal's columns within reason, else what a log can take.
pub fn columns() -> usize {
    const LOG: usize = 100;
    let terminal = tcgetwinsize(std::io::stdout()).map(|size| usize::from(size.ws_col));
    terminal.ok().filter(|columns| *columns > 0).map_or(LOG, |columns| columns.clamp(60, 140))
}
