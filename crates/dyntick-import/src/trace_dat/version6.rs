// SPDX-License-Identifier: GPL-2.0-only
//! Version 6: one part after the other.

use super::buffers::{Buffer, CpuData, MOST_BUFFERS};
use super::contents::{Contents, MOST_CPUS};
use super::options::{self, BUFFER, DONE};
use super::{File, sections};
use crate::ImportError;
use crate::bytes::{Bytes, Cursor, Damage, part, until_nul};
use crate::clock;
use dyntick_model::text::{clean_line, shortened};

/// The maximum size of all that comes before the pages, bytes: formats of all events of a machine have 3 MiB, and names
/// of functions 15 MiB.
const MOST_BEFORE_PAGES: u64 = 256 << 20;

/// The maximum length of a clock's name, bytes.
const LONGEST_CLOCK: u64 = 64;

/// The marks before the pages: options, text of a latency tracer, and pages.
const OPTIONS: &[u8] = b"options  \0";
const LATENCY: &[u8] = b"latency  \0";
const PAGES: &[u8] = b"flyrecord\0";

/// Reads a file from behind its page size.
pub(super) fn read(file: &dyn Bytes, at: u64, page_size: u32) -> Result<File, ImportError> {
    let length = file.length().saturating_sub(at).min(MOST_BEFORE_PAGES);
    let bytes = part(file, at, length)?;
    let mut cursor = Cursor::new(&bytes, at);
    let mut read = File::default();
    let contents = &mut read.contents;
    layouts(contents, &mut cursor)?;
    let size = cursor.u32()?;
    cursor.take(size.into())?; // formats of trace_printk
    sections::command_lines(contents, &mut cursor)?;
    let here = cursor.here();
    let cpus = cursor.u32()?;
    if cpus > MOST_CPUS {
        return Err(here.is(format!("{cpus} CPUs, more than Linux has")));
    }
    contents.cpus = Some(cpus);
    let mut instances = Vec::new();
    let mut here = cursor.here();
    let mut mark = cursor.take(PAGES.len() as u64)?;
    if mark == OPTIONS {
        loop {
            let mut option = options::next(&mut cursor, false)?;
            match option.id {
                DONE => break,
                BUFFER => {
                    let (at, name) = (option.data.u64()?, option.data.text()?);
                    if instances.len() == MOST_BUFFERS {
                        return Err(here.is(format!("it has more than {MOST_BUFFERS} instances")));
                    }
                    instances.push((at, clean_line(&shortened(&name, 64))));
                }
                _ => options::keep(contents, &option)?,
            }
        }
        here = cursor.here();
        mark = cursor.take(PAGES.len() as u64)?;
    }
    if mark == LATENCY {
        return Err(latency());
    }
    if mark != PAGES {
        return Err(here.is("neither pages nor options follow"));
    }
    // The number of CPUs in the options is that of the machine, which may be another.
    read.buffers.push(buffer(&mut cursor, String::new(), cpus, page_size)?);
    for (at, name) in instances {
        let bytes = part(file, at, file.length().saturating_sub(at).min(u64::from(cpus) * 16 + 4096))?;
        let mut cursor = Cursor::new(&bytes, at);
        if cursor.take(PAGES.len() as u64)? != PAGES {
            return Err(Damage(at).is("the pages of an instance are expected here"));
        }
        read.buffers.push(buffer(&mut cursor, name, cpus, page_size)?);
    }
    Ok(read)
}

/// Reads the layouts of events and the names of functions.
pub(super) fn layouts(contents: &mut Contents, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
    for name in ["header_page", "header_event"] {
        let here = cursor.here();
        if cursor.text()? != name {
            return Err(here.is(format!("{name} is expected here")));
        }
        let size = cursor.u64()?;
        cursor.take(size)?;
    }
    sections::ftrace_events(contents, cursor)?;
    sections::event_formats(contents, cursor)?;
    sections::kallsyms(contents, cursor)?;
    Ok(())
}

/// The error of a file with the text of a latency tracer.
pub(super) fn latency() -> ImportError {
    ImportError::Unsupported(
        "it has the text of a latency tracer and no events: record with `dyntick record --print trace-cmd`"
            .to_owned(),
    )
}

/// Reads the places of the pages of each CPU. The clock follows in files of newer versions of trace-cmd.
fn buffer(cursor: &mut Cursor<'_>, name: String, cpus: u32, page_size: u32) -> Result<Buffer, ImportError> {
    let mut own = Buffer { name, page_size, ..Buffer::default() };
    for cpu in 0..cpus {
        let (at, size) = (cursor.u64()?, cursor.u64()?);
        if size > 0 {
            own.cpus.push(CpuData { cpu, at, size });
        }
    }
    own.clock = clock_behind(cursor);
    Ok(own)
}

/// The clock, if a text such as `[local]` with its length follows; in older files anything may.
fn clock_behind(cursor: &mut Cursor<'_>) -> Option<String> {
    let size = cursor.u64().ok().filter(|size| *size <= LONGEST_CLOCK)?;
    let text = until_nul(cursor.take(size).ok()?);
    text.starts_with('[').then(|| clean_line(clock::current(&text)))
}
