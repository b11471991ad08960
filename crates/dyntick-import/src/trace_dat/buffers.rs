// SPDX-License-Identifier: GPL-2.0-only
//! The pages of a file: of each instance and CPU, plain or in compressed chunks.

use crate::ImportError;
use crate::bytes::{Bytes, Cursor, Damage, part};
use crate::clock::Scale;
use crate::output::{Output, damaged};
use crate::unpack::Algorithm;
use dyntick_trace::{Lost, for_each_record};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The maximum number of instances; each has its own folder in tracefs.
pub(super) const MOST_BUFFERS: usize = 1024;

/// The bytes of plain pages that are read at once.
const AT_ONCE: usize = 256 << 10;

/// The maximum size of a chunk when it is unpacked, bytes; trace-cmd writes pages of some hundred KiB in each.
const MOST_OF_CHUNK: u32 = 16 << 20;

/// The maximum of unpacked bytes for each byte of the file. Pages of real traces shrink to a tenth, and those that are
/// all alike to a thousandth.
const MOST_UNPACKED: u64 = 2000;

/// An instance of the ring buffer.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// Its name; empty for the top one.
    pub name: String,
    pub clock: Option<String>,
    pub page_size: u32,
    pub is_compressed: bool,
    pub cpus: Vec<CpuData>,
}

/// The place of a CPU's pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuData {
    pub cpu: u32,
    pub at: u64,
    pub size: u64,
}

pub(super) struct Reader<'a> {
    pub file: &'a dyn Bytes,
    pub algorithm: Option<Algorithm>,
    pub page_size: usize,
}

/// Pages of one CPU, one block after another.
struct Blocks<'a> {
    file: &'a dyn Bytes,
    page_size: usize,
    /// The algorithm, and the number of chunks that follow.
    packed: Option<(Algorithm, u32)>,
    at: u64,
    end: u64,
    left_to_unpack: u64,
}

/// A block of pages with its place in the file.
struct Block {
    place: Damage,
    pages: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn blocks(&self, buffer: &Buffer, data: CpuData) -> Result<Blocks<'a>, ImportError> {
        let CpuData { cpu, mut at, size } = data;
        let length = self.file.length();
        let mut end = at.checked_add(size).filter(|end| *end <= length).ok_or_else(|| {
            Damage(at).is(format!("CPU {cpu} has {size} bytes of pages here, but the file ends at {length}"))
        })?;
        let mut packed = None;
        if buffer.is_compressed {
            let algorithm = self.algorithm.ok_or_else(|| Damage(at).is("it names no compression"))?;
            let count = part(self.file, at, 4)?;
            packed = Some((algorithm, Cursor::new(&count, at).u32()?));
            // The size is that of the chunks, without their number.
            at += 4;
            end = end.saturating_add(4).min(length);
        }
        let left_to_unpack = size.saturating_mul(MOST_UNPACKED);
        Ok(Blocks { file: self.file, page_size: self.page_size, packed, at, end, left_to_unpack })
    }

    /// Hands over all pages of an instance as they are.
    pub fn pages(&self, buffer: &Buffer, output: &mut Output<'_>) -> Result<(), ImportError> {
        for data in &buffer.cpus {
            let mut blocks = self.blocks(buffer, *data)?;
            while let Some(Block { place, pages }) = blocks.next()? {
                output.pages(data.cpu, &pages, place)?;
            }
        }
        Ok(())
    }

    /// Hands over the records of several instances in the order of time, or of one whose clock counts no ns. An event
    /// that several instances have is taken from the first.
    pub fn merged(
        &self,
        buffers: &[Buffer],
        scale: Scale,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        let owners = if buffers.len() > 1 { self.owners(buffers)? } else { BTreeMap::new() };
        let cpus: BTreeSet<u32> =
            buffers.iter().flat_map(|buffer| &buffer.cpus).map(|data| data.cpu).collect();
        for cpu in cpus {
            let mut streams = Vec::new();
            for (number, buffer) in buffers.iter().enumerate() {
                for data in buffer.cpus.iter().filter(|data| data.cpu == cpu) {
                    let blocks = self.blocks(buffer, *data)?;
                    streams.push(Stream { number, blocks, records: VecDeque::new(), lost: 0 });
                }
            }
            loop {
                streams.iter_mut().try_for_each(Stream::fill)?;
                let filled = streams.iter_mut().filter(|stream| !stream.records.is_empty());
                let Some(first) =
                    filled.min_by_key(|stream| stream.records.front().map(|record| record.time))
                else {
                    break;
                };
                let number = first.number;
                let Some(Record { time, bytes, lost }) = first.records.pop_front() else { break };
                if lost > 0 {
                    output.lose(cpu, lost)?;
                }
                let is_own = owners.get(&id(&bytes)).is_none_or(|owner| *owner == number);
                if is_own && !output.record(cpu, scale.ns(time), &bytes)? {
                    output.lose(cpu, 1)?;
                }
            }
            let lost = streams.iter().map(|stream| stream.lost).fold(0, u64::saturating_add);
            if lost > 0 {
                output.lose(cpu, lost)?;
            }
        }
        Ok(())
    }

    /// The first instance that has an event, by the event's number.
    fn owners(&self, buffers: &[Buffer]) -> Result<BTreeMap<u16, usize>, ImportError> {
        let mut owners = BTreeMap::new();
        for (number, buffer) in buffers.iter().enumerate() {
            for data in &buffer.cpus {
                let mut blocks = self.blocks(buffer, *data)?;
                while let Some(Block { place, pages }) = blocks.next()? {
                    let each = |_, record: &[u8]| _ = owners.entry(id(record)).or_insert(number);
                    for_each_record(&pages, self.page_size, each).map_err(|error| damaged(&error, place))?;
                }
            }
        }
        Ok(owners)
    }
}

/// The number of the event of a record.
fn id(record: &[u8]) -> u16 {
    record.first_chunk().map_or(0, |id| u16::from_le_bytes(*id))
}

/// The records of one CPU of an instance.
struct Stream<'a> {
    number: usize,
    blocks: Blocks<'a>,
    records: VecDeque<Record>,
    /// The number of events that were lost after the last record.
    lost: u64,
}

struct Record {
    /// The time, in the units of its clock.
    time: u64,
    bytes: Vec<u8>,
    /// The number of events that were lost before it.
    lost: u64,
}

impl Stream<'_> {
    /// Makes sure that the next record is there, if there is one.
    fn fill(&mut self) -> Result<(), ImportError> {
        let page_size = self.blocks.page_size;
        while self.records.is_empty() {
            let Some(Block { place, pages }) = self.blocks.next()? else { break };
            for (number, page) in pages.chunks(page_size).enumerate() {
                let before = self.records.len();
                let records = &mut self.records;
                let each =
                    |time, bytes: &[u8]| records.push_back(Record { time, bytes: bytes.to_vec(), lost: 0 });
                let place = Damage(place.0.saturating_add((number * page_size) as u64));
                let lost = for_each_record(page, page_size, each).map_err(|error| damaged(&error, place))?;
                let Lost { counted, uncounted_places } = lost;
                self.lost = self.lost.saturating_add(counted).saturating_add(uncounted_places);
                if let Some(first) = self.records.get_mut(before) {
                    first.lost = std::mem::take(&mut self.lost);
                }
            }
        }
        Ok(())
    }
}

impl Blocks<'_> {
    fn next(&mut self) -> Result<Option<Block>, ImportError> {
        let Some((algorithm, chunks)) = self.packed else { return self.plain() };
        let place = Damage(self.at);
        let Some(left) = chunks.checked_sub(1) else { return Ok(None) };
        let sizes = part(self.file, self.at, 8)?;
        let mut sizes = Cursor::new(&sizes, self.at);
        let (packed, size) = (sizes.u32()?, sizes.u32()?);
        if size > MOST_OF_CHUNK {
            return Err(place.is(format!("a chunk of {size} bytes is larger than any")));
        }
        self.left_to_unpack = self.left_to_unpack.checked_sub(size.into()).ok_or_else(|| {
            place.is(format!("it unpacks to more than {MOST_UNPACKED} times its size, the limit"))
        })?;
        let begin = self.at.saturating_add(8);
        let end = begin.saturating_add(packed.into());
        if end > self.end {
            return Err(place.is(format!("a chunk ends at {end}, behind its CPU's pages")));
        }
        let pages = algorithm.unpack(&part(self.file, begin, packed.into())?, size as usize, place)?;
        if pages.len() % self.page_size != 0 {
            return Err(place.is(format!("a chunk of {size} bytes has no whole pages of {}", self.page_size)));
        }
        self.at = end;
        self.packed = Some((algorithm, left));
        Ok(Some(Block { place, pages }))
    }

    fn plain(&mut self) -> Result<Option<Block>, ImportError> {
        let left = self.end.saturating_sub(self.at);
        let at_once = AT_ONCE.max(self.page_size) as u64;
        let size = left.min(at_once);
        if size == 0 {
            return Ok(None);
        }
        let place = Damage(self.at);
        if size % self.page_size as u64 != 0 {
            return Err(place.is(format!("{size} bytes are no whole pages of {}", self.page_size)));
        }
        let pages = part(self.file, self.at, size)?;
        self.at += size;
        Ok(Some(Block { place, pages }))
    }
}
