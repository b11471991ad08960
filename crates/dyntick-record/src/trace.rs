// SPDX-License-Identifier: GPL-2.0-only
//! The trace of a record: in its file, or in memory if it is short.

use crate::stored::{BLOCK, Stored, Unpacker};
use dyntick_model::Event;
use dyntick_trace::{Blocks, DecodeError, Decoded, Merged, Metadata, Recording, merge, room_for_events};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;

/// The number of bytes that a trace in memory may take on this machine.
pub(crate) fn fits_into_memory() -> u64 {
    const OF_MEMORY: u64 = 64;
    const AT_LEAST: u64 = 64 << 20;
    (dyntick_system::memory() / OF_MEMORY).max(AT_LEAST)
}

/// The recorded trace of some CPUs.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The layout of events and pages.
    pub metadata: Metadata,
    pages: Pages,
}

#[derive(Clone, Debug)]
enum Pages {
    /// The pages by CPU.
    InMemory(BTreeMap<u32, Vec<u8>>),
    InFile(Stored),
}

impl Trace {
    /// Creates a trace in memory.
    pub fn of(recording: Recording) -> Self {
        Self { metadata: recording.metadata, pages: Pages::InMemory(recording.raw) }
    }

    pub(crate) fn stored(metadata: Metadata, stored: Stored) -> Self {
        Self { metadata, pages: Pages::InFile(stored) }
    }

    /// The number of events, if they were counted.
    pub fn count(&self) -> Option<u64> {
        match &self.pages {
            Pages::InMemory(_) => None,
            Pages::InFile(stored) => Some(stored.events),
        }
    }

    /// The file of the record.
    pub(crate) fn file(&self) -> Option<&File> {
        match &self.pages {
            Pages::InMemory(_) => None,
            Pages::InFile(stored) => Some(stored.file()),
        }
    }

    /// Calls `each` with every event in the order of time, until it breaks.
    ///
    /// # Errors
    /// A damaged trace.
    pub fn events(&self, each: impl FnMut(&Event) -> ControlFlow<()>) -> Result<Merged, DecodeError> {
        let failed = |error: std::io::Error| DecodeError::Block(error.to_string());
        let unpacker = Unpacker::new().map_err(failed)?;
        let mut reading = Reading { trace: self, unpacker, next: BTreeMap::new() };
        merge(&self.metadata, &mut reading, each)
    }
}

impl Trace {
    /// Decodes all events into memory, with the losses; they are not counted by kind.
    ///
    /// # Errors
    /// A damaged trace, or more events than [`room_for_events`].
    pub fn decode(&self) -> Result<Decoded, DecodeError> {
        let (mut events, mut count, most) = (Vec::new(), 0, room_for_events(dyntick_system::memory()));
        let missing = self.events(|event| {
            count += 1;
            if count > most {
                events = Vec::new()
            } else {
                events.push(event.clone())
            }
            ControlFlow::Continue(())
        })?;
        if count > most {
            Err(DecodeError::TooMany { events: count, most })
        } else {
            let Merged { lost, undecoded } = missing;
            Ok(Decoded { events, lost, counts: BTreeMap::new(), undecoded })
        }
    }
}

/// The position of reading a trace.
struct Reading<'a> {
    trace: &'a Trace,
    unpacker: Unpacker,
    /// The next block of each CPU, by default the first.
    next: BTreeMap<u32, usize>,
}

impl Blocks for Reading<'_> {
    fn next(&mut self, cpu: u32, pages: &mut Vec<u8>) -> Result<bool, String> {
        let number = self.next.entry(cpu).or_default();
        let found = match &self.trace.pages {
            Pages::InFile(stored) => stored.block(cpu, *number, &mut self.unpacker, pages)?,
            Pages::InMemory(raw) => {
                let block = BLOCK.max(self.trace.metadata.page_size);
                let found = raw.get(&cpu).and_then(|raw| raw.chunks(block).nth(*number));
                pages.clear();
                pages.extend(found.into_iter().flatten());
                found.is_some()
            }
        };
        *number += 1;
        Ok(found)
    }
}

#[cfg(test)]
impl Trace {
    /// All pages of a CPU.
    pub fn pages_of(&self, cpu: u32) -> Result<Vec<u8>, String> {
        let unpacker = Unpacker::new().unwrap();
        let mut reading = Reading { trace: self, unpacker, next: BTreeMap::new() };
        let (mut all, mut pages) = (Vec::new(), Vec::new());
        while reading.next(cpu, &mut pages)? {
            all.extend_from_slice(&pages);
        }
        Ok(all)
    }
}
