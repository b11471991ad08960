// SPDX-License-Identifier: GPL-2.0-only
//! Samples of tracepoints as records of the ring buffer, in the order of time on each CPU.

use super::attributes::{Attribute, Attributes, sample};
use super::contents::Contents;
use super::records::{COMM, FINISHED_ROUND, LOST, LOST_SAMPLES, MMAP, Record, SAMPLE};
use super::short;
use crate::ImportError;
use crate::bytes::Cursor;
use crate::output::Output;
use dyntick_model::Set;
use dyntick_trace::Format;
use std::collections::BTreeMap;

/// The maximum memory of records that wait for those before them, bytes. perf ends a round after it has emptied all
/// buffers once.
const MOST_WAITING: usize = 64 << 20;
/// The memory of a record that waits, besides its bytes.
const BESIDE: usize = 64;
/// CPU numbers end before this (`NR_CPUS` on x86 is at most 8192).
const MOST_CPUS: u32 = 8192;

/// `PERF_FORMAT_*` of `read_format`.
const TOTAL_TIME_ENABLED: u64 = 1 << 0;
const TOTAL_TIME_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

pub(super) struct Samples {
    attributes: Attributes,
    /// The numbers of events whose layout is known.
    known: Set<u16>,
    waiting: BTreeMap<u32, Vec<Waiting>>,
    waiting_bytes: usize,
    /// The latest time in this round and in the one before, ns.
    latest: (u64, u64),
    /// The number of lost events by CPU.
    pub lost: BTreeMap<u32, u64>,
    /// The number of samples that cannot be read.
    pub unreadable: u64,
    /// The name of the clock.
    pub clock: &'static str,
}

struct Waiting {
    ns: u64,
    what: What,
}

enum What {
    Record(Vec<u8>),
    Lost(u64),
}

/// The facts of a sample.
#[derive(Default)]
struct Sample<'a> {
    ns: u64,
    cpu: u32,
    raw: &'a [u8],
}

impl Samples {
    pub fn new(attributes: Attributes, formats: &BTreeMap<String, String>) -> Result<Self, ImportError> {
        attributes.check()?;
        let ids = formats.iter().filter_map(|(event, text)| Some(Format::parse(event, text).ok()?.id));
        let clock = match attributes.first().and_then(|first| first.clock) {
            None => "perf",
            Some(0) => "realtime",
            Some(1) => "mono",
            Some(4) => "mono_raw",
            Some(7) => "boot",
            Some(11) => "tai",
            Some(_) => "another",
        };
        Ok(Self {
            known: ids.collect(),
            attributes,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            latest: (0, 0),
            lost: BTreeMap::new(),
            unreadable: 0,
            clock,
        })
    }

    pub fn take(
        &mut self,
        record: &Record,
        contents: &mut Contents,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        match record.kind {
            SAMPLE => self.sample(record)?,
            LOST => {
                let count = Cursor::new(record.bytes.get(8..).unwrap_or_default(), record.at).u64()?;
                self.lose(record, count);
            }
            LOST_SAMPLES => {
                let count = Cursor::new(&record.bytes, record.at).u64()?;
                self.lose(record, count);
            }
            COMM => contents.comm(record)?,
            MMAP => contents.mapping(record)?,
            FINISHED_ROUND => {
                self.flush(self.latest.0, output)?;
                self.latest.0 = self.latest.1;
            }
            _ => {}
        }
        if self.waiting_bytes > MOST_WAITING {
            self.flush(u64::MAX, output)?;
        }
        Ok(())
    }

    fn sample(&mut self, record: &Record) -> Result<(), ImportError> {
        let id = record.bytes.first_chunk().map(|id| u64::from_le_bytes(*id));
        let Some(attribute) = self.attributes.of(id).filter(|attribute| attribute.is_tracepoint) else {
            return Ok(());
        };
        let Sample { ns, cpu, raw } = parse(record, attribute)?;
        let id = raw.first_chunk().map(|id| u16::from_le_bytes(*id));
        if cpu >= MOST_CPUS || !id.is_some_and(|id| self.known.contains(&id)) {
            self.unreadable += 1;
            return Ok(());
        }
        self.wait(cpu, ns, What::Record(raw.to_vec()));
        Ok(())
    }

    /// Notes lost events. The CPU and the time are in the end of the record, if it has one.
    fn lose(&mut self, record: &Record, count: u64) {
        let end =
            self.attributes.first().filter(|first| first.id_all).and_then(|first| end_of(record, first));
        let (ns, cpu) = end.unwrap_or((self.latest.1, 0));
        let lost = self.lost.entry(cpu).or_default();
        *lost = lost.saturating_add(count);
        self.wait(cpu, ns, What::Lost(count));
    }

    fn wait(&mut self, cpu: u32, ns: u64, what: What) {
        self.latest.1 = self.latest.1.max(ns);
        let bytes = if let What::Record(record) = &what { record.len() } else { 0 };
        self.waiting_bytes += bytes + BESIDE;
        self.waiting.entry(cpu).or_default().push(Waiting { ns, what });
    }

    /// Hands over what is not later than a time.
    fn flush(&mut self, until: u64, output: &mut Output<'_>) -> Result<(), ImportError> {
        for (cpu, waiting) in &mut self.waiting {
            waiting.sort_by_key(|one| one.ns);
            let done = waiting.partition_point(|one| one.ns <= until);
            for Waiting { ns, what } in waiting.drain(..done) {
                self.waiting_bytes -= BESIDE;
                match what {
                    What::Record(record) => {
                        self.waiting_bytes -= record.len();
                        if !output.record(*cpu, ns, &record)? {
                            self.unreadable += 1;
                        }
                    }
                    What::Lost(count) => output.lose(*cpu, count)?,
                }
            }
        }
        Ok(())
    }

    /// Hands over all that waits.
    pub fn finish(&mut self, output: &mut Output<'_>) -> Result<(), ImportError> {
        self.flush(u64::MAX, output)
    }
}

/// Reads the facts of a sample, in the order of `perf_event_open(2)`.
fn parse<'a>(record: &'a Record, attribute: &Attribute) -> Result<Sample<'a>, ImportError> {
    let (mut sample, mut cursor) = (Sample::default(), Cursor::new(&record.bytes, record.at));
    let has = |bit: u64| attribute.sample & bit != 0;
    let skip_if = |cursor: &mut Cursor<'a>, bits: &[u64]| -> Result<(), ImportError> {
        bits.iter().filter(|bit| has(**bit)).try_for_each(|_| cursor.take(8).map(drop))
    };
    skip_if(&mut cursor, &[sample::IDENTIFIER, sample::IP, sample::TID])?;
    if has(sample::TIME) {
        sample.ns = cursor.u64()?;
    }
    skip_if(&mut cursor, &[sample::ADDR, sample::ID, sample::STREAM_ID])?;
    if has(sample::CPU) {
        (sample.cpu, _) = (cursor.u32()?, cursor.u32()?);
    }
    skip_if(&mut cursor, &[sample::PERIOD])?;
    if has(sample::READ) {
        skip_counters(&mut cursor, attribute.read_format)?;
    }
    if has(sample::CALLCHAIN) {
        let count = cursor.u64()?;
        cursor.take(count.checked_mul(8).ok_or_else(|| short(record.at))?)?;
    }
    if has(sample::RAW) {
        let size = cursor.u32()?;
        sample.raw = cursor.take(size.into())?;
    }
    Ok(sample)
}

fn skip_counters(cursor: &mut Cursor<'_>, read_format: u64) -> Result<(), ImportError> {
    let has = |bit: u64| u64::from(read_format & bit != 0);
    let times = has(TOTAL_TIME_ENABLED) + has(TOTAL_TIME_RUNNING);
    let of_each = 1 + has(READ_ID) + has(READ_LOST);
    let values = match has(GROUP) {
        0 => times + of_each,
        _ => {
            let here = cursor.here();
            let count = cursor.u64()?;
            count
                .checked_mul(of_each)
                .and_then(|values| values.checked_add(times))
                .ok_or_else(|| short(here.0))?
        }
    };
    let here = cursor.here();
    cursor.take(values.checked_mul(8).ok_or_else(|| short(here.0))?).map(drop)
}

/// The time and the CPU in the end of a record that is no sample.
fn end_of(record: &Record, attribute: &Attribute) -> Option<(u64, u32)> {
    let facts = [sample::TID, sample::TIME, sample::ID, sample::STREAM_ID, sample::CPU, sample::IDENTIFIER];
    let own: Vec<u64> = facts.into_iter().filter(|bit| attribute.sample & bit != 0).collect();
    let end = record.bytes.get(record.bytes.len().checked_sub(8 * own.len())?..)?;
    let fact = |bit: u64| {
        let place = own.iter().position(|own| *own == bit)?;
        Some(u64::from_le_bytes(*end.get(8 * place..)?.first_chunk()?))
    };
    let cpu = fact(sample::CPU)? as u32;
    Some((fact(sample::TIME)?, cpu)).filter(|_| cpu < MOST_CPUS)
}
