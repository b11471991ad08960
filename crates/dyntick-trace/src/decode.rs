// SPDX-License-Identifier: GPL-2.0-only
//! Decoding: from raw pages to events.

use super::events::{OfFields, by_name_alone, read_as};
use super::fields::{Fields, Names};
use super::{Field, Format, FormatError, Lost, Recording, RingError, SymbolTable, ring};
use dyntick_model::{Event, EventKind, Map, Within};
use std::collections::{BTreeMap, BTreeSet};

/// The events of a recording and what is missing from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// All events, in order of time; of one CPU in the order in which they were recorded.
    pub events: Vec<Event>,
    /// Events that were lost, by CPU: refused by a full buffer, or missing between pages.
    pub lost: BTreeMap<u32, u64>,
    /// The number of records of each event, by CPU and `system:name`: also of events that are
    /// only counted, and also where there are none.
    pub counts: BTreeMap<(u32, String), u64>,
    /// Records of no recorded event or with impossible contents.
    pub undecoded: u64,
}

/// The reason why a recording cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// An event's layout.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A damaged page.
    #[error("CPU {cpu}: {source}")]
    Ring {
        /// The CPU of the buffer.
        cpu: u32,
        /// The damage.
        source: RingError,
    },
    /// A block of pages that cannot be unpacked.
    #[error("{0}")]
    Block(String),
    /// More events than there is memory for.
    #[error(
        "it has {events} events, but this machine has memory for only {most}: record a shorter time, or \
         fewer CPUs, or read it on a machine with more memory"
    )]
    TooMany {
        /// The number of events.
        events: u64,
        /// The limit.
        most: u64,
    },
}

impl Recording {
    /// Decodes all events, or none: the very last one may explain an interruption.
    ///
    /// # Errors
    /// Damage, and more events than `most` (see [`room_for_events`](crate::room_for_events)).
    pub fn decode(&self, most: u64) -> Result<Decoded, DecodeError> {
        let (mut events, mut count) = (Vec::new(), 0);
        let mut decoded = self.walk(&mut self.decoder()?, &mut |event| {
            count += 1;
            if count > most { events = Vec::new() } else { events.push(event) }
        })?;
        if count > most {
            return Err(DecodeError::TooMany { events: count, most });
        }
        events.sort_by_key(|event| event.ts);
        decoded.events = events;
        Ok(decoded)
    }

    /// The function addresses that occur and have no name yet. Damage is ignored; [`Recording::decode`] reports it.
    pub fn unknown_addresses(&self) -> BTreeSet<u64> {
        let Ok(mut decoder) = self.decoder() else { return BTreeSet::new() };
        let _ = self.walk(&mut decoder, &mut |_| ());
        decoder.names.symbols.into_unknown()
    }

    fn decoder(&self) -> Result<Decoder, FormatError> {
        Decoder::new(&self.metadata.formats, SymbolTable::new(&self.metadata.symbols))
    }

    /// Hands over each event, CPU by CPU. Returns all but the events.
    fn walk(&self, decoder: &mut Decoder, take: &mut dyn FnMut(Event)) -> Result<Decoded, DecodeError> {
        let mut decoded = Decoded::default();
        for (&cpu, raw) in &self.raw {
            let pages = decoder.decode(cpu, raw, self.metadata.page_size, &mut *take);
            let Pages { lost, undecoded } = pages.map_err(|source| DecodeError::Ring { cpu, source })?;
            decoded.undecoded += undecoded;
            decoded.counts.extend(decoder.take_counts().map(|(event, count)| ((cpu, event), count)));
            let refused = self.metadata.stats.get(&cpu).map_or(0, |stats| stats.lost);
            decoded.lost.insert(cpu, refused.max(lost.counted.saturating_add(lost.uncounted_places)));
        }
        Ok(decoded)
    }
}

/// Decodes pages, also while more are recorded.
pub struct Decoder {
    readers: Readers,
    names: Names,
}

/// The defects of some pages of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// The events that are missing from them.
    pub lost: Lost,
    /// Records of no known event or with impossible contents.
    pub undecoded: u64,
}

impl Decoder {
    /// Creates a decoder for events with these formats, by `system:name`; `symbols` has the names of functions.
    pub fn new(formats: &BTreeMap<String, String>, symbols: SymbolTable) -> Result<Self, FormatError> {
        Ok(Self { readers: readers(formats)?, names: Names::new(symbols) })
    }

    /// Calls `each` with the events of these pages of a CPU, in their order.
    pub fn decode(
        &mut self,
        cpu: u32,
        raw: &[u8],
        page_size: usize,
        mut each: impl FnMut(Event),
    ) -> Result<Pages, RingError> {
        let mut undecoded = 0;
        let lost = ring::for_each(raw, page_size, |ts, record| {
            let Some(reader) = reader_of(&mut self.readers, record) else {
                undecoded += 1;
                return;
            };
            reader.count += 1;
            let Some(layout) = &reader.layout else { return };
            match layout.read(ts, cpu, record, &mut self.names) {
                Some(event) => each(event),
                None => undecoded += 1,
            }
        })?;
        Ok(Pages { lost, undecoded })
    }

    /// Takes the number of records of each event since the last call, by `system:name`.
    fn take_counts(&mut self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.readers.values_mut().map(|reader| (reader.event.clone(), std::mem::take(&mut reader.count)))
    }
}

/// Reads the records of one event.
struct Reader {
    event: String,
    /// The number of records that were read.
    count: u64,
    /// None for an event that is only counted.
    layout: Option<Layout>,
}

struct Layout {
    pid: Field,
    flags: Option<Field>,
    fields: Vec<Field>,
    make: Make,
}

/// The way to make an event of a record.
enum Make {
    /// Makes the same event each time.
    Always(EventKind),
    /// Makes an event of the fields that the table names, in that order.
    Of(OfFields),
}

/// The readers by the event number in their records.
type Readers = Map<u16, Reader>;

fn readers(formats: &BTreeMap<String, String>) -> Result<Readers, FormatError> {
    let mut readers = Readers::default();
    for (event, text) in formats {
        let format = Format::parse(event, text)?;
        let field = |name: &str| {
            format
                .field(name)
                .cloned()
                .ok_or_else(|| FormatError::NoField { event: event.clone(), field: name.into() })
        };
        let layout = |fields, make| {
            let flags = format.field("common_flags").cloned();
            Ok(Layout { pid: field("common_pid")?, flags, fields, make })
        };
        let layout = match (by_name_alone(event), read_as(event)) {
            (Some(kind), _) => Some(layout(Vec::new(), Make::Always(kind))?),
            (None, Some(known)) => {
                let fields = known.fields.iter().map(|name| field(name)).collect::<Result<_, _>>()?;
                Some(layout(fields, Make::Of(known.make))?)
            }
            (None, None) => None,
        };
        readers.insert(format.id, Reader { event: event.clone(), count: 0, layout });
    }
    Ok(readers)
}

fn reader_of<'r>(readers: &'r mut Readers, record: &[u8]) -> Option<&'r mut Reader> {
    // `common_type` is the first field of every record.
    let id = u16::from_le_bytes(record.get(..2)?.try_into().ok()?);
    readers.get_mut(&id)
}

impl Layout {
    fn read(&self, ts: u64, cpu: u32, record: &[u8], names: &mut Names) -> Option<Event> {
        let pid = self.pid.number(record)? as i32;
        let flags = self.flags.as_ref().and_then(|flags| flags.number(record));
        let within = Within::of_flags(flags.unwrap_or(0));
        let kind = match &self.make {
            Make::Always(kind) => kind.clone(),
            Make::Of(make) => make(&mut Fields::new(record, &self.fields, names))?,
        };
        Some(Event { ts, cpu, pid, within, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuStats, Metadata};

    /// Two CPUs with `count` events each, of one word.
    fn recording(count: u32) -> Recording {
        let mut page = vec![0u8; 1024];
        page[8..12].copy_from_slice(&(count * 8).to_le_bytes());
        for record in page[16..].chunks_exact_mut(8).take(count as usize) {
            record.copy_from_slice(&[1, 0, 0, 0, 7, 0, 0, 0]);
        }
        let format = "ID: 7\n\tfield:int common_pid;\toffset:2;\tsize:2;\tsigned:0;\n";
        let formats = [("irq_vectors:local_timer_entry".to_owned(), format.to_owned())].into();
        let stats = [0, 1].map(|cpu| (cpu, CpuStats::default())).into();
        let metadata = Metadata { page_size: 1024, formats, stats, ..Metadata::default() };
        Recording { metadata, raw: [(0, page.clone()), (1, page)].into() }
    }

    #[test]
    fn too_many_events_are_counted_and_refused() {
        let recording = recording(100);
        assert_eq!(recording.decode(u64::MAX).unwrap().events.len(), 200);
        assert_eq!(recording.decode(200).unwrap().events.len(), 200);
        let refused = recording.decode(199).unwrap_err();
        assert_eq!(refused, DecodeError::TooMany { events: 200, most: 199 });
        assert!(refused.to_string().contains("fewer CPUs"), "{refused}");
    }
}
