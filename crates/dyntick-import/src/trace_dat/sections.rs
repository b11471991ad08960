// SPDX-License-Identifier: GPL-2.0-only
//! The parts of a file that both versions have in the same form: formats of events, names of functions and of tasks.

use super::contents::Contents;
use crate::ImportError;
use crate::bytes::Cursor;

/// The formats of ftrace's own events: their number, and each with its length.
pub(super) fn ftrace_events(contents: &mut Contents, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
    for _ in 0..cursor.u32()? {
        format(contents, "ftrace", cursor)?;
    }
    Ok(())
}

/// The formats of the other events, by their systems.
pub(super) fn event_formats(contents: &mut Contents, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
    for _ in 0..cursor.u32()? {
        let system = cursor.text()?;
        for _ in 0..cursor.u32()? {
            format(contents, &system, cursor)?;
        }
    }
    Ok(())
}

fn format(contents: &mut Contents, system: &str, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
    let size = cursor.u64()?;
    contents.format(system, &String::from_utf8_lossy(cursor.take(size)?));
    Ok(())
}

/// The text of `/proc/kallsyms`.
pub(super) fn kallsyms(contents: &mut Contents, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
    let size = cursor.u32()?;
    contents.kallsyms = cursor.take(size.into())?.to_vec();
    Ok(())
}

/// The text of `saved_cmdlines`.
pub(super) fn command_lines(contents: &mut Contents, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
    let size = cursor.u64()?;
    contents.command_lines(cursor.take(size)?);
    Ok(())
}
