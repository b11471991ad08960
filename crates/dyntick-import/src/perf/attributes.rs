// SPDX-License-Identifier: GPL-2.0-only
//! The attributes of events (`struct perf_event_attr`), by which records are read.

use crate::ImportError;
use crate::bytes::{Cursor, Damage};
use dyntick_model::Map;

/// The kind of a tracepoint (`PERF_TYPE_TRACEPOINT`).
const TRACEPOINT: u32 = 2;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;

/// `PERF_SAMPLE_*`.
pub(super) mod sample {
    pub const IP: u64 = 1 << 0;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const IDENTIFIER: u64 = 1 << 16;
}

/// The facts in the records of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub is_tracepoint: bool,
    pub sample: u64,
    pub read_format: u64,
    /// True if records other than samples end with the same facts.
    pub id_all: bool,
    /// The number of the clock; `None` for perf's own.
    pub clock: Option<i32>,
}

#[derive(Debug, Default)]
pub(super) struct Attributes {
    all: Vec<Attribute>,
    /// The places in them by the numbers of events.
    by_id: Map<u64, usize>,
}

impl Attributes {
    /// Adds an attribute with the numbers of its events.
    pub fn add(&mut self, attribute: &[u8], ids: &[u8], at: u64) -> Result<(), ImportError> {
        let mut cursor = Cursor::new(attribute, at);
        let (kind, size) = (cursor.u32()?, cursor.u32()?);
        cursor.take(16)?; // configuration and period
        let (sample, read_format, flags) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let clock = attribute.get(92..96).filter(|_| flags & USE_CLOCKID != 0 && size >= 96);
        let clock = clock.and_then(|bytes| bytes.first_chunk()).map(|bytes| i32::from_le_bytes(*bytes));
        let id_all = flags & SAMPLE_ID_ALL != 0;
        let place = self.all.len();
        self.all.push(Attribute { is_tracepoint: kind == TRACEPOINT, sample, read_format, id_all, clock });
        for id in ids.chunks_exact(8).filter_map(|id| id.first_chunk()) {
            self.by_id.insert(u64::from_le_bytes(*id), place);
        }
        Ok(())
    }

    /// The attributes of tracepoints.
    pub fn tracepoints(&self) -> impl Iterator<Item = &Attribute> {
        self.all.iter().filter(|attribute| attribute.is_tracepoint)
    }

    /// Checks that records can be attributed: all events have the same facts, or all have their number first.
    pub fn check(&self) -> Result<(), ImportError> {
        let first = self.all.first().ok_or_else(|| Damage(0).is("it describes no events"))?;
        let is_one = self
            .all
            .iter()
            .all(|other| (other.sample, other.read_format) == (first.sample, first.read_format));
        let has_numbers = self.all.iter().all(|other| other.sample & sample::IDENTIFIER != 0);
        if !is_one && !has_numbers {
            return Err(ImportError::Unsupported(
                "its events have different facts and no numbers: record tracepoints only, or use the text of `perf \
                 script`"
                    .to_owned(),
            ));
        }
        let needed = sample::TIME | sample::CPU | sample::RAW;
        if self.tracepoints().any(|own| own.sample & needed != needed) {
            return Err(ImportError::Unsupported(
                "its samples lack the time, the CPU or the raw data: record with the command of `dyntick record --print \
                 perf`"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// The attribute of the event with this number; without one, or for an unknown one, the first.
    pub fn of(&self, id: Option<u64>) -> Option<&Attribute> {
        let known = id.and_then(|id| self.by_id.get(&id)).and_then(|place| self.all.get(*place));
        known.or(self.all.first())
    }

    /// The first attribute, by which the end of other records is read.
    pub fn first(&self) -> Option<&Attribute> {
        self.all.first()
    }
}
