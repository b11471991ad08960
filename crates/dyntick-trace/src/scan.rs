// SPDX-License-Identifier: GPL-2.0-only
//! The scan of pages while they are recorded: the number of their events, the first and the last time, and the
//! functions in them. Their names are looked up at the end, without decoding.

use super::events::{KERNEL_STACK, read_as};
use super::{Field, Format, FormatError, ring};
use std::collections::{BTreeMap, BTreeSet};

/// The fields of events that are addresses of functions (`Fields::function`).
const FUNCTIONS: [&str; 5] = ["function", "func", "callsite", "callback", "handler"];

/// The functions that occurred last: nearly all that occur again.
const RECENT: usize = 256;

/// The contents of some pages of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// The number of records.
    pub events: u64,
    /// The time of the first, ns on the trace clock; 0 without records.
    pub first_ns: u64,
    /// The time of the last.
    pub last_ns: u64,
}

/// Looks through pages.
pub struct Scanner {
    /// The fields with functions, by the number of the event.
    fields: Vec<Vec<Field>>,
    /// The number of the event with a call stack, and its fields with the functions and their number.
    stack: Option<(usize, Field, Field)>,
    recent: [u64; RECENT],
    seen: BTreeSet<u64>,
}

impl Scanner {
    /// Creates a scanner of events with these formats, by `system:name`.
    ///
    /// # Errors
    /// A format without a number.
    pub fn new(formats: &BTreeMap<String, String>) -> Result<Self, FormatError> {
        let (mut fields, mut stack, mut stack_id) = (Vec::<Vec<Field>>::new(), None, 0);
        for (event, text) in formats {
            let format = Format::parse(event, text)?;
            let known = read_as(event).map_or(&[][..], |known| known.fields);
            let functions = known.iter().filter(|name| FUNCTIONS.contains(name));
            let id = usize::from(format.id);
            fields.resize_with(fields.len().max(id + 1), Vec::new);
            if event == KERNEL_STACK {
                stack = format.field("caller").cloned().zip(format.field("size").cloned());
                stack_id = id;
            }
            fields[id] = functions.filter_map(|name| format.field(name).cloned()).collect();
        }
        let stack = stack.map(|(caller, size)| (stack_id, caller, size));
        Ok(Self { fields, stack, recent: [0; RECENT], seen: BTreeSet::new() })
    }

    /// Scans pages of one CPU, up to the first damage: explaining the trace reports that.
    pub fn scan(&mut self, pages: &[u8], page_size: usize) -> Scanned {
        let mut scanned = Scanned::default();
        let _ = ring::for_each(pages, page_size, |ts, record| {
            scanned.first_ns = if scanned.events == 0 { ts } else { scanned.first_ns };
            scanned.last_ns = ts;
            scanned.events += 1;
            let id = record.first_chunk().map_or(0, |id| usize::from(u16::from_le_bytes(*id)));
            let Self { fields, stack, recent, seen } = self;
            let mut see = |address: u64| {
                // Functions begin at multiples of 16.
                let recent = &mut recent[(address >> 4) as usize % RECENT];
                if *recent != address {
                    *recent = address;
                    seen.insert(address);
                }
            };
            let own = fields.get(id).into_iter().flatten();
            own.filter_map(|field| field.number(record)).for_each(&mut see);
            if let Some((_, caller, size)) = stack.as_ref().filter(|(stack, ..)| *stack == id) {
                let count = size.number(record).unwrap_or(0) as usize;
                caller.words_from(record).into_iter().flatten().take(count).for_each(see);
            }
        });
        scanned
    }

    /// The function addresses that occurred.
    pub fn addresses(&self) -> &BTreeSet<u64> {
        &self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::EVENTS;
    use crate::{Metadata, Recording};

    /// One page with a record of each event, whose fields are all different numbers.
    fn recording() -> Recording {
        let (mut formats, mut data) = (BTreeMap::new(), Vec::new());
        for (id, event) in EVENTS.iter().enumerate() {
            let mut text = format!("ID: {id}\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n");
            let mut record = vec![0u8; 8];
            record[..2].copy_from_slice(&(id as u16).to_le_bytes());
            for (at, name) in event.fields.iter().enumerate() {
                text += &format!("\tfield:u64 {name};\toffset:{};\tsize:8;\tsigned:0;\n", 8 + 8 * at);
                // A softirq or a dependency is a small number; a text is any bytes.
                let value =
                    if FUNCTIONS.contains(name) { 0xffff_0000 + (id * 64 + at * 16) as u64 } else { 1 };
                record.extend(value.to_le_bytes());
            }
            formats.insert(event.name.to_owned(), text);
            data.extend(((record.len() / 4) as u32).to_le_bytes());
            data.extend(record);
        }
        let mut page = 1000u64.to_le_bytes().to_vec();
        page.extend((data.len() as u64).to_le_bytes());
        page.extend(data);
        page.resize(4096, 0);
        Recording {
            metadata: Metadata { page_size: 4096, formats, ..Metadata::default() },
            raw: [(0, page)].into(),
        }
    }

    #[test]
    fn scan_finds_the_functions_that_decoding_needs() {
        let recording = recording();
        let mut scanner = Scanner::new(&recording.metadata.formats).unwrap();
        let scanned = scanner.scan(&recording.raw[&0], 4096);
        assert_eq!(scanned, Scanned { events: EVENTS.len() as u64, first_ns: 1000, last_ns: 1000 });
        let found = scanner.addresses();
        assert_eq!(*found, recording.unknown_addresses());
        let fields = EVENTS.iter().flat_map(|event| event.fields);
        assert_eq!(found.len(), fields.filter(|name| FUNCTIONS.contains(name)).count(), "{found:x?}");
    }

    #[test]
    fn damage_and_unknown_events_are_skipped() {
        let mut scanner = Scanner::new(&BTreeMap::new()).unwrap();
        assert_eq!(scanner.scan(&[0xff; 4096], 4096), Scanned::default());
        assert_eq!(scanner.scan(&recording().raw[&0], 4096).events, EVENTS.len() as u64);
        assert!(scanner.addresses().is_empty());
    }
}
