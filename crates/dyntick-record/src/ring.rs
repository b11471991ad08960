// SPDX-License-Identifier: GPL-2.0-only
//! A ring of the last seconds: packed blocks in segments, each an unnamed file, of which the oldest are dropped. Disk
//! use is bounded by the ring's size; memory use by a block of each CPU and the list of blocks.

use crate::About;
use crate::stored::{BLOCK, MOST_OF_BLOCK, Packed, Packer, Writer, is_full};
use dyntick_trace::Metadata;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// The approximate number of segments of a ring. It keeps one more than its seconds, or loses one of its bytes.
const SEGMENTS: u64 = 8;

/// The size of a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// The age, ns, up to which events are kept.
    pub ns: u64,
    /// The additional age, ns, up to which they are not dropped: the reason for a snapshot is known some time after it
    /// happened.
    pub more_ns: u64,
    /// The maximum number of bytes.
    pub bytes: u64,
}

/// The last seconds of a trace.
pub(crate) struct Ring<'a> {
    folder: &'a Path,
    keep: Keep,
    packer: Packer,
    /// The pages that do not fill a block yet, by CPU.
    pending: BTreeMap<u32, Vec<u8>>,
    /// The complete segments, the oldest first.
    segments: VecDeque<Arc<Segment>>,
    current: Segment,
    /// The number of events that each CPU has lost so far.
    lost: &'a (dyn Fn() -> BTreeMap<u32, u64> + Sync),
    begin_ns: u64,
    /// The time from which on the trace is complete, if something was dropped.
    given_up_ns: Option<u64>,
}

/// A file of consecutive blocks.
struct Segment {
    file: File,
    end: u64,
    begin_ns: u64,
    last_ns: u64,
    blocks: Vec<Block>,
    /// The number of events that each CPU had lost when it began.
    lost: BTreeMap<u32, u64>,
}

struct Block {
    cpu: u32,
    first_ns: u64,
    last_ns: u64,
    events: u64,
    at: u64,
    bytes: usize,
}

/// The contents of a ring at one moment. It does not change while the ring goes on.
pub(crate) struct Kept {
    segments: Vec<Arc<Segment>>,
    /// The begin and end of the complete trace, ns of CLOCK_MONOTONIC.
    pub window_ns: (u64, u64),
    /// The number of events that each CPU had lost before.
    pub lost_before: BTreeMap<u32, u64>,
    /// True if it begins late, because it has reached its maximum size.
    pub is_cut: bool,
    /// The functions that occur.
    pub addresses: BTreeSet<u64>,
}

impl<'a> Ring<'a> {
    /// Creates an empty ring with files in this folder.
    ///
    /// # Errors
    /// A failure to create a file there.
    pub fn new(
        folder: &'a Path,
        keep: Keep,
        packer: Packer,
        lost: &'a (dyn Fn() -> BTreeMap<u32, u64> + Sync),
        begin_ns: u64,
    ) -> Result<Self> {
        let current = Segment::new(folder, begin_ns, lost())?;
        let (pending, segments) = (BTreeMap::new(), VecDeque::new());
        Ok(Self { folder, keep, packer, pending, segments, current, lost, begin_ns, given_up_ns: None })
    }

    /// Adds complete pages of a CPU after its earlier ones.
    ///
    /// # Errors
    /// A failed write to a file that dropping older segments does not cure.
    pub fn take(&mut self, cpu: u32, pages: &[u8], now_ns: u64) -> Result<()> {
        let own = self.pending.entry(cpu).or_default();
        if own.len() + pages.len() > MOST_OF_BLOCK {
            let full = std::mem::take(own);
            self.store(cpu, &full, now_ns)?;
        }
        let own = self.pending.entry(cpu).or_default();
        own.extend_from_slice(pages);
        if own.len() >= BLOCK {
            let full = std::mem::take(own);
            self.store(cpu, &full, now_ns)?;
        }
        Ok(())
    }

    /// Takes a snapshot; of the time before `since_ns` it has only what is to be kept.
    ///
    /// # Errors
    /// The errors of [`Ring::take`].
    pub fn kept(&mut self, since_ns: u64, now_ns: u64) -> Result<Kept> {
        for (cpu, pages) in std::mem::take(&mut self.pending) {
            self.store(cpu, &pages, now_ns)?;
        }
        self.seal(now_ns)?;
        self.give_up_old(now_ns);
        let oldest = since_ns.saturating_sub(self.keep.ns);
        let begin = self.begin_ns.max(oldest).max(self.given_up_ns.unwrap_or(0)).min(now_ns);
        Ok(Kept {
            window_ns: (begin, now_ns),
            lost_before: self.segments.front().map(|segment| segment.lost.clone()).unwrap_or_default(),
            is_cut: self.given_up_ns.is_some_and(|given_up| given_up > oldest),
            segments: self.segments.iter().cloned().collect(),
            addresses: self.packer.addresses().clone(),
        })
    }

    fn store(&mut self, cpu: u32, pages: &[u8], now_ns: u64) -> Result<()> {
        if pages.is_empty() {
            return Ok(());
        }
        let packed = self.packer.pack(cpu, pages)?;
        loop {
            match self.current.add(&packed) {
                Ok(()) => break,
                Err(error) if is_full(&error) && self.give_up_oldest() => {}
                Err(error) => return Err(error),
            }
        }
        let age_ns = now_ns.saturating_sub(self.current.begin_ns);
        if self.current.end >= self.keep.bytes / SEGMENTS || age_ns >= self.keep.ns / SEGMENTS {
            self.seal(now_ns)?;
            self.give_up_old(now_ns);
        }
        Ok(())
    }

    fn seal(&mut self, now_ns: u64) -> Result<()> {
        let next = Segment::new(self.folder, now_ns, (self.lost)())?;
        let sealed = std::mem::replace(&mut self.current, next);
        if !sealed.blocks.is_empty() {
            self.segments.push_back(Arc::new(sealed));
        }
        Ok(())
    }

    fn give_up_old(&mut self, now_ns: u64) {
        let oldest = now_ns.saturating_sub(self.keep.ns.saturating_add(self.keep.more_ns));
        while self.segments.front().is_some_and(|segment| segment.last_ns < oldest) {
            self.give_up_oldest();
        }
        let bytes = |segment: &Arc<Segment>| segment.end;
        let mut all: u64 = self.segments.iter().map(bytes).sum();
        while all > self.keep.bytes && self.segments.len() > 1 {
            all -= self.segments.front().map_or(0, bytes);
            self.give_up_oldest();
        }
    }

    fn give_up_oldest(&mut self) -> bool {
        let oldest = self.segments.pop_front();
        self.given_up_ns = self.given_up_ns.max(oldest.as_ref().map(|segment| segment.last_ns));
        oldest.is_some()
    }
}

impl Segment {
    fn new(folder: &Path, begin_ns: u64, lost: BTreeMap<u32, u64>) -> Result<Self> {
        let file = dyntick_system::unnamed_in(folder)?;
        Ok(Self { file, end: 0, begin_ns, last_ns: 0, blocks: Vec::new(), lost })
    }

    fn add(&mut self, packed: &Packed) -> Result<()> {
        self.file.write_all_at(&packed.bytes, self.end)?;
        let Packed { cpu, first_ns, last_ns, events, .. } = *packed;
        let (at, bytes) = (self.end, packed.bytes.len());
        self.blocks.push(Block { cpu, first_ns, last_ns, events, at, bytes });
        self.end += bytes as u64;
        self.last_ns = self.last_ns.max(last_ns);
        Ok(())
    }
}

impl Kept {
    /// Writes it as a record.
    ///
    /// # Errors
    /// A failed write to the file.
    pub fn write(&self, file: File, about: About, metadata: &Metadata) -> Result<File> {
        let mut writer = Writer::new(file, u64::MAX)?;
        for segment in &self.segments {
            for block in &segment.blocks {
                writer.block(&segment.read(block)?)?;
            }
        }
        writer.finish(about, metadata)
    }
}

impl Segment {
    fn read(&self, block: &Block) -> Result<Packed> {
        let Block { cpu, first_ns, last_ns, events, at, bytes } = *block;
        let mut packed = vec![0; bytes];
        let read = self.file.read_exact_at(&mut packed, at);
        read.map_err(|error| Error::new(error.kind(), format!("the ring of the last seconds: {error}")))?;
        Ok(Packed { cpu, first_ns, last_ns, events, bytes: packed })
    }
}

#[cfg(test)]
mod tests;
