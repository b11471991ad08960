// SPDX-License-Identifier: GPL-2.0-only
//! A ring of the last seconds: packed blocks in segments, each a file without a name, of which the oldest are given up.
//! Disk is bounded by the ring's size, memory by a block of each CPU and the list of blocks.

use crate::About;
use crate::stored::{BLOCK, MOST_OF_BLOCK, Packed, Packer, Writer, is_full};
use dyntick_trace::Metadata;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A ring has about so many segments: what it keeps beyond its seconds, or loses of its bytes, is one of them.
const SEGMENTS: u64 = 8;

/// How much a ring keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// What is older, ns, is not wanted …
    pub ns: u64,
    /// … but it is given up only so much later, ns: what a snapshot is taken for is known a while after it happened.
    pub more_ns: u64,
    /// So many bytes are kept at most.
    pub bytes: u64,
}

/// The last seconds of a trace.
pub(crate) struct Ring<'a> {
    folder: &'a Path,
    keep: Keep,
    packer: Packer,
    /// Pages that fill no block yet, by CPU.
    pending: BTreeMap<u32, Vec<u8>>,
    /// Those that are complete, the oldest first.
    segments: VecDeque<Arc<Segment>>,
    current: Segment,
    /// How many events each CPU has lost up to now.
    lost: &'a (dyn Fn() -> BTreeMap<u32, u64> + Sync),
    begin_ns: u64,
    /// All that is younger than this is there, where something was given up.
    given_up_ns: Option<u64>,
}

/// Blocks one behind the other.
struct Segment {
    file: File,
    end: u64,
    begin_ns: u64,
    last_ns: u64,
    blocks: Vec<Block>,
    /// How many events each CPU had lost when it began.
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

/// What a ring had at one moment. It stays as it is while the ring goes on.
pub(crate) struct Kept {
    segments: Vec<Arc<Segment>>,
    /// From when to when all is there, ns of CLOCK_MONOTONIC.
    pub window_ns: (u64, u64),
    /// How many events each CPU had lost before.
    pub lost_before: BTreeMap<u32, u64>,
    /// Whether it begins later than it was to, because it has as many bytes as it may have.
    pub is_cut: bool,
    /// The functions that occur.
    pub addresses: BTreeSet<u64>,
}

impl<'a> Ring<'a> {
    /// An empty one, with files in this folder.
    ///
    /// # Errors
    /// Where no file can be made there.
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

    /// Takes complete pages of a CPU, those behind its earlier ones.
    ///
    /// # Errors
    /// Where a file cannot be written, and giving up what is older does not help.
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

    /// What it has now, and of what was before `since_ns` no more than it is to keep.
    ///
    /// # Errors
    /// As [`Ring::take`].
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
    /// Where the file cannot be written.
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
