// SPDX-License-Identifier: GPL-2.0-only
//! Version 7: sections anywhere, to which options refer.

use super::buffers::{Buffer, CpuData, MOST_BUFFERS};
use super::contents::MOST_CPUS;
use super::options::{self, BUFFER, BUFFER_TEXT, DONE};
use super::{File, sections, version6};
use crate::ImportError;
use crate::bytes::{Bytes, Cursor, Damage, part};
use crate::unpack::Algorithm;
use dyntick_model::text::{clean_line, shortened};
use std::collections::BTreeSet;

/// The size of the header of a section: its number, flags, description and size.
const SECTION: u64 = 16;
/// The flag of a compressed section.
const COMPRESSED: u16 = 1;
/// The maximum size of a section without pages when it is unpacked, bytes; the largest has the names of functions.
const MOST_OF_SECTION: u32 = 256 << 20;
/// The maximum size of options when they are unpacked, bytes: some hundred for each CPU.
const MOST_OF_OPTIONS: u32 = 16 << 20;
/// The maximum number of sections with options: trace-cmd writes one for each instance, and one more.
const MOST_OPTIONS: usize = 2048;

const FTRACE_EVENTS: u16 = 17;
const EVENT_FORMATS: u16 = 18;
const KALLSYMS: u16 = 19;
const CMDLINES: u16 = 21;

/// Reads a file; `head` is behind the page size.
pub(super) fn read(file: &dyn Bytes, head: &mut Cursor<'_>) -> Result<File, ImportError> {
    let here = head.here();
    let algorithm = Algorithm::named(&head.text()?, here)?;
    head.text()?;
    let mut read = File { algorithm, ..File::default() };
    let (mut next, mut seen, mut sections) = (head.u64()?, BTreeSet::new(), BTreeSet::new());
    while next != 0 {
        if !seen.insert(next) || seen.len() > MOST_OPTIONS {
            return Err(Damage(next).is("the options here were read before, or there are too many"));
        }
        let options = section(file, next, DONE, algorithm)?;
        let mut cursor = Cursor::new(&options, next);
        next = 0;
        while !cursor.is_at_end() {
            let mut option = options::next(&mut cursor, true)?;
            match option.id {
                DONE => {
                    next = option.data.u64()?;
                    break;
                }
                BUFFER => {
                    let here = cursor.here();
                    let own = buffer(file, &mut option.data)?;
                    if read.buffers.len() == MOST_BUFFERS {
                        return Err(here.is(format!("it has more than {MOST_BUFFERS} instances")));
                    }
                    read.buffers.push(own);
                }
                BUFFER_TEXT => return Err(version6::latency()),
                FTRACE_EVENTS | EVENT_FORMATS | KALLSYMS | CMDLINES => {
                    let at = option.data.u64()?;
                    if !sections.insert(option.id) {
                        return Err(Damage(at).is(format!("section {} occurs twice", option.id)));
                    }
                    let bytes = section(file, at, option.id, algorithm)?;
                    let (contents, cursor) = (&mut read.contents, &mut Cursor::new(&bytes, at));
                    match option.id {
                        FTRACE_EVENTS => sections::ftrace_events(contents, cursor)?,
                        EVENT_FORMATS => sections::event_formats(contents, cursor)?,
                        KALLSYMS => sections::kallsyms(contents, cursor)?,
                        _ => sections::command_lines(contents, cursor)?,
                    }
                }
                _ => options::keep(&mut read.contents, &option)?,
            }
        }
    }
    Ok(read)
}

/// The header of a section: its flags and its size.
struct Header {
    is_compressed: bool,
    size: u64,
}

fn header(file: &dyn Bytes, at: u64, expected: u16) -> Result<Header, ImportError> {
    let bytes = part(file, at, SECTION)?;
    let mut cursor = Cursor::new(&bytes, at);
    let id = cursor.u16()?;
    if id != expected {
        return Err(Damage(at).is(format!("section {expected} is expected here, not {id}")));
    }
    let flags = cursor.u16()?;
    cursor.u32()?; // its description
    Ok(Header { is_compressed: flags & COMPRESSED != 0, size: cursor.u64()? })
}

/// Reads a section without pages.
fn section(
    file: &dyn Bytes,
    at: u64,
    expected: u16,
    algorithm: Option<Algorithm>,
) -> Result<Vec<u8>, ImportError> {
    let header = header(file, at, expected)?;
    let begin = at.saturating_add(SECTION);
    let most = if expected == DONE { MOST_OF_OPTIONS } else { MOST_OF_SECTION };
    if !header.is_compressed {
        return if header.size <= most.into() {
            part(file, begin, header.size)
        } else {
            Err(Damage(at).is(format!("a section of {} bytes is larger than any", header.size)))
        };
    }
    let algorithm =
        algorithm.ok_or_else(|| Damage(at).is("it is compressed, but the file names no algorithm"))?;
    let sizes = part(file, begin, 8)?;
    let mut sizes = Cursor::new(&sizes, begin);
    let (packed, size) = (sizes.u32()?, sizes.u32()?);
    if size > most {
        return Err(Damage(begin).is(format!("a section of {size} bytes is larger than any")));
    }
    let packed = part(file, begin.saturating_add(8), packed.into())?;
    algorithm.unpack(&packed, size as usize, Damage(begin))
}

/// Reads the option of an instance.
fn buffer(file: &dyn Bytes, data: &mut Cursor<'_>) -> Result<Buffer, ImportError> {
    let section = data.u64()?;
    let is_compressed = header(file, section, BUFFER)?.is_compressed;
    let name = clean_line(&shortened(&data.text()?, 64));
    let clock = clean_line(&shortened(&data.text()?, 32));
    let page_size = data.u32()?;
    let here = data.here();
    let count = data.u32()?;
    if count > MOST_CPUS {
        return Err(here.is(format!("{count} CPUs, more than Linux has")));
    }
    let clock = Some(clock).filter(|clock| !clock.is_empty());
    let mut own = Buffer { name, clock, page_size, is_compressed, cpus: Vec::new() };
    let mut cpus = BTreeSet::new();
    for _ in 0..count {
        let here = data.here();
        let (cpu, at, size) = (data.u32()?, data.u64()?, data.u64()?);
        if cpu >= MOST_CPUS || !cpus.insert(cpu) {
            return Err(here.is(format!("CPU {cpu} is beyond those of Linux, or occurs twice")));
        }
        if size > 0 {
            own.cpus.push(CpuData { cpu, at, size });
        }
    }
    Ok(own)
}
