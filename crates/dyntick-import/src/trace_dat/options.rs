// SPDX-License-Identifier: GPL-2.0-only
//! The options of a file, which both versions have.

use super::contents::{Contents, MOST_CPUS};
use crate::ImportError;
use crate::bytes::{Cursor, until_nul};
use crate::clock::{self, Scale};
use dyntick_model::text::{clean_line, shortened};

pub(super) const DONE: u16 = 0;
const CPUSTAT: u16 = 2;
pub(super) const BUFFER: u16 = 3;
const TRACECLOCK: u16 = 4;
const UNAME: u16 = 5;
const CPUCOUNT: u16 = 8;
const VERSION: u16 = 9;
const TSC2NSEC: u16 = 14;
pub(super) const BUFFER_TEXT: u16 = 22;

/// An option: its number and its data.
pub(super) struct Choice<'a> {
    pub id: u16,
    pub data: Cursor<'a>,
}

/// Reads the next option; version 6 has no data in its last.
pub(super) fn next<'a>(cursor: &mut Cursor<'a>, last_has_data: bool) -> Result<Choice<'a>, ImportError> {
    let id = cursor.u16()?;
    if id == DONE && !last_has_data {
        return Ok(Choice { id, data: Cursor::new(&[], 0) });
    }
    let size = cursor.u32()?;
    let from = cursor.here().0;
    Ok(Choice { id, data: Cursor::new(cursor.take(size.into())?, from) })
}

/// Keeps what an option has beside places in the file. Unknown ones are skipped.
pub(super) fn keep(contents: &mut Contents, option: &Choice<'_>) -> Result<(), ImportError> {
    let text = || until_nul(option.data.rest());
    let mut data = Cursor::new(option.data.rest(), option.data.from);
    match option.id {
        CPUSTAT => contents.counters(&text()),
        TRACECLOCK => contents.clock = clean_line(&shortened(clock::current(&text()), 32)),
        UNAME => contents.uname(&text()),
        VERSION => {
            contents.tool = text().split_ascii_whitespace().next().map(|tool| shortened(tool, 32).to_string())
        }
        CPUCOUNT => contents.cpus = Some(data.u32()?).filter(|cpus| *cpus <= MOST_CPUS),
        TSC2NSEC => {
            let (multiplier, shift) = (data.u32()?, data.u32()?);
            contents.cycles = (multiplier > 0).then_some(Scale::Cycles { multiplier, shift });
        }
        _ => {}
    }
    Ok(())
}
