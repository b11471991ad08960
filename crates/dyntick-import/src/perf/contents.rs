// SPDX-License-Identifier: GPL-2.0-only
//! The features of a file, which are records of their own in a pipe.

use super::attributes::Attributes;
use super::header::Feature;
use super::records::Record;
use super::short;
use crate::ImportError;
use crate::bytes::{Bytes, Cursor, Damage, part, until_nul};
use crate::trace_dat::{self, MAGIC};
use dyntick_model::text::{clean_line, shortened};
use std::collections::BTreeMap;

/// The features (`tools/perf/util/header.h`).
const TRACING_DATA: u64 = 1;
const OSRELEASE: u64 = 4;
const VERSION: u64 = 5;
const ARCH: u64 = 6;
const NRCPUS: u64 = 7;

/// The maximum size of the layouts of events, bytes.
const MOST_OF_LAYOUTS: u64 = 64 << 20;
const LONGEST_NAME: usize = 120;
/// The maximum number of names of tasks that are kept.
const MOST_NAMES: usize = 1 << 18;
const MOST_CPUS: u32 = 8192;

#[derive(Debug, Default)]
pub(super) struct Contents {
    pub formats: BTreeMap<String, String>,
    pub kallsyms: Vec<u8>,
    /// The address of the symbol `_text` or `_stext` of the running kernel.
    pub kernel_text: Option<(String, u64)>,
    pub release: Option<String>,
    pub architecture: Option<String>,
    pub tool: Option<String>,
    pub cpus: Option<u32>,
    pub names: BTreeMap<i32, String>,
    pub notes: Vec<String>,
}

impl Contents {
    /// Reads a feature.
    pub fn feature(&mut self, file: &dyn Bytes, feature: &Feature) -> Result<(), ImportError> {
        let place = feature.place;
        match feature.number {
            TRACING_DATA if place.size > MOST_OF_LAYOUTS => {
                Err(Damage(place.at)
                    .is(format!("{} bytes of layouts, more than any machine has", place.size)))
            }
            TRACING_DATA => self.layouts(&part(file, place.at, place.size)?, place.at),
            OSRELEASE | VERSION | ARCH | NRCPUS => {
                let bytes = part(file, place.at, place.size.min(4096))?;
                self.fact(feature.number, &bytes, place.at)
            }
            _ => Ok(()),
        }
    }

    fn fact(&mut self, number: u64, bytes: &[u8], at: u64) -> Result<(), ImportError> {
        let mut cursor = Cursor::new(bytes, at);
        let length = cursor.u32()?;
        if number == NRCPUS {
            cursor.u32()?; // those that are online
            self.cpus = Some(length).filter(|cpus| *cpus <= MOST_CPUS);
            return Ok(());
        }
        let text = until_nul(cursor.take(length.into())?);
        let text = Some(clean_line(&shortened(&text, LONGEST_NAME)));
        match number {
            OSRELEASE => self.release = text,
            VERSION => self.tool = text,
            _ => self.architecture = text,
        }
        Ok(())
    }

    /// Reads the layouts of events: the begin of a file of trace-cmd, of version 0.6.
    fn layouts(&mut self, bytes: &[u8], at: u64) -> Result<(), ImportError> {
        let mut cursor = Cursor::new(bytes, at);
        let here = cursor.here();
        if cursor.take(MAGIC.len() as u64)? != MAGIC {
            return Err(here.is("the layouts of events are expected here"));
        }
        cursor.text()?; // version
        let order = cursor.take(2)?;
        if order != [0, 8] {
            return Err(ImportError::Unsupported(
                "it was recorded on a machine of 32 bits or with big-endian numbers, whose traces are not read: use the \
                 text of `perf script`"
                    .to_owned(),
            ));
        }
        cursor.u32()?; // page size
        let layouts = trace_dat::layouts(&mut cursor)?;
        self.formats = layouts.formats;
        self.kallsyms = layouts.kallsyms;
        self.notes.extend(layouts.notes);
        Ok(())
    }

    /// Reads the attributes and features at the begin of a pipe. Returns true after the last.
    pub fn of_pipe(&mut self, record: &Record, attributes: &mut Attributes) -> Result<bool, ImportError> {
        use super::records::{FEATURE, HEADER_ATTR, SAMPLE, TRACING_DATA};
        let bytes = &record.bytes[..];
        match record.kind {
            HEADER_ATTR => {
                // The attribute has its size in its second word; numbers of events follow it.
                let size =
                    bytes.get(4..8).and_then(|size| size.first_chunk()).ok_or_else(|| short(record.at))?;
                let size = u32::from_le_bytes(*size) as usize;
                let (attribute, ids) = bytes.split_at_checked(size).ok_or_else(|| short(record.at))?;
                attributes.add(attribute, ids, record.at)?;
            }
            TRACING_DATA => self.layouts(&record.behind, record.at)?,
            FEATURE => {
                let mut cursor = Cursor::new(bytes, record.at);
                let number = cursor.u64()?;
                if [OSRELEASE, VERSION, ARCH, NRCPUS].contains(&number) {
                    self.fact(number, cursor.rest(), record.at)?;
                }
            }
            SAMPLE => return Ok(true),
            _ => {}
        }
        Ok(false)
    }

    /// Notes the name of a task: `PERF_RECORD_COMM`.
    pub fn comm(&mut self, record: &Record) -> Result<(), ImportError> {
        let mut cursor = Cursor::new(&record.bytes, record.at);
        let (_, tid) = (cursor.u32()?, cursor.u32()?);
        let comm = clean_line(&shortened(&until_nul(cursor.rest()), LONGEST_NAME));
        if self.names.len() < MOST_NAMES {
            self.names.insert(tid as i32, comm);
        }
        Ok(())
    }

    /// Notes where the kernel is, of which perf writes one `PERF_RECORD_MMAP`: `[kernel.kallsyms]_text`, whose offset
    /// is the address of that symbol.
    pub fn mapping(&mut self, record: &Record) -> Result<(), ImportError> {
        let mut cursor = Cursor::new(&record.bytes, record.at);
        cursor.take(8 + 16)?; // task, begin and length
        let address = cursor.u64()?;
        let name = until_nul(cursor.rest());
        if let Some(symbol) = name.strip_prefix("[kernel.kallsyms]").filter(|symbol| !symbol.is_empty()) {
            self.kernel_text = Some((clean_line(&shortened(symbol, LONGEST_NAME)), address));
        }
        Ok(())
    }
}
