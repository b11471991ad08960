// SPDX-License-Identifier: GPL-2.0-only
//! trace.dat, the file of trace-cmd, in its versions 6 and 7 (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5), and
//! `lib/trace-cmd/trace-input.c` of 3.1 for what they leave out).

mod buffers;
mod contents;
mod options;
mod sections;
mod version6;
mod version7;

use crate::bytes::{Bytes, Cursor, Damage, part};
use crate::clock::{self, Scale};
use crate::output::{Layout, Output, Sink};
use crate::unpack::Algorithm;
use crate::{ImportError, Imported};
use buffers::Buffer;
use contents::Contents;
use std::collections::{BTreeMap, BTreeSet};

/// The bytes that a file begins with.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The number of bytes that hold the header: magic, version, byte order, size of a long, page size, and the name and
/// the version of the compression.
const HEADER: u64 = 256;

/// The maximum size of a page, bytes (sub-buffers of the ring buffer).
const MOST_OF_PAGE: u32 = 1 << 20;

/// A file that was read up to its pages.
#[derive(Debug, Default)]
struct File {
    contents: Contents,
    buffers: Vec<Buffer>,
    algorithm: Option<Algorithm>,
}

/// Reads a file.
///
/// # Errors
/// Damage, a machine of 32 bits or another byte order, a clock without time, and failures of the sink.
pub fn read(file: &dyn Bytes, sink: &mut dyn Sink) -> Result<Imported, ImportError> {
    let head = part(file, 0, file.length().min(HEADER))?;
    let mut head = Cursor::new(&head, 0);
    if head.take(MAGIC.len() as u64)? != MAGIC {
        return Err(Damage(0).is("it does not begin as a file of trace-cmd"));
    }
    let version = head.text()?;
    let order = head.take(2)?;
    if order != [0, 8] {
        return Err(ImportError::Unsupported(
            "it was recorded on a machine of 32 bits or with big-endian numbers, whose traces are not read: use the \
             text of `trace-cmd report`"
                .to_owned(),
        ));
    }
    let page_size = head.u32()?;
    let read = match version.as_str() {
        "6" => version6::read(file, head.at as u64, page_size)?,
        "7" => version7::read(file, &mut head)?,
        _ => {
            return Err(ImportError::Unsupported(format!(
                "it has version {} of trace-cmd's files, but versions 6 and 7 are read: use the text of \
                 `trace-cmd report`",
                dyntick_model::text::clean_line(&dyntick_model::text::shortened(&version, 20))
            )));
        }
    };
    import(file, sink, read, &version)
}

/// The layouts of events and the names of functions.
pub(crate) struct Layouts {
    pub formats: BTreeMap<String, String>,
    pub kallsyms: Vec<u8>,
    pub notes: Vec<String>,
}

/// Reads the layouts of events, as version 6 has them, from behind the page size.
pub(crate) fn layouts(cursor: &mut Cursor<'_>) -> Result<Layouts, ImportError> {
    let mut contents = Contents::default();
    version6::layouts(&mut contents, cursor)?;
    Ok(Layouts { formats: contents.formats, kallsyms: contents.kallsyms, notes: contents.notes })
}

fn import(file: &dyn Bytes, sink: &mut dyn Sink, read: File, version: &str) -> Result<Imported, ImportError> {
    let File { mut contents, mut buffers, algorithm } = read;
    buffers.retain(|buffer| !buffer.cpus.is_empty());
    let named = |buffer: &Buffer| buffer.clock.clone().unwrap_or_else(|| contents.clock.clone());
    let clocks: BTreeSet<String> = buffers.iter().map(named).collect();
    if clocks.len() > 1 {
        // Times of different clocks cannot be put in order.
        let first = buffers.first().map(named).unwrap_or_default();
        contents.notes.push(format!(
            "its instances have different trace clocks ({}): only those with {first} are used",
            clocks.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        ));
        buffers.retain(|buffer| named(buffer) == first);
    }
    let clock = buffers.first().map(named).unwrap_or_default();
    let scale = clock::scale(&clock, contents.cycles)?;
    let page_size = buffers.first().map_or(4096, |buffer| buffer.page_size);
    if !page_size.is_power_of_two() || !(1 << 10..=MOST_OF_PAGE).contains(&page_size) {
        return Err(Damage(0).is(format!("{page_size} is not a valid trace page size")));
    }
    let layout = Layout { page_size: page_size as usize, formats: std::mem::take(&mut contents.formats) };
    let mut output = Output::new(sink, &layout)?;
    let reader = buffers::Reader { file, algorithm, page_size: page_size as usize };
    match buffers.as_slice() {
        [one] if scale == Scale::Nanoseconds => reader.pages(one, &mut output)?,
        [] => {}
        several => {
            let names: Vec<&str> =
                several.iter().map(|buffer| buffer.name.as_str()).filter(|name| !name.is_empty()).collect();
            if several.iter().any(|buffer| buffer.page_size != page_size) {
                return Err(ImportError::Unsupported(
                    "its instances have pages of different sizes: record with one instance".to_owned(),
                ));
            }
            if several.len() > 1 {
                contents.notes.push(format!(
                    "it has several trace instances (the top one and {}): an event that several recorded is taken from \
                     the first of them",
                    names.join(", ")
                ));
            }
            reader.merged(several, scale, &mut output)?;
        }
    }
    contents.notes.extend(clock::doubt(&clock));
    let seen = output.finish()?;
    contents.stats_of(seen.times.keys());
    let tool = contents.tool.as_ref().map_or(String::new(), |tool| format!(" {tool}"));
    Ok(Imported {
        source: format!("a file of trace-cmd{tool} (trace.dat, version {version})"),
        clock: Some(clock).filter(|clock| !clock.is_empty()),
        release: contents.release,
        architecture: contents.architecture,
        cpus: contents.cpus,
        names: contents.names,
        stats: contents.stats,
        kallsyms: contents.kallsyms,
        seen,
        unreadable: 0,
        notes: contents.notes,
        ..Imported::default()
    })
}

#[cfg(test)]
mod tests;
