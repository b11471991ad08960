// SPDX-License-Identifier: GPL-2.0-only
//! The packing of pages into blocks.

use super::LEVEL;
use dyntick_trace::{Scanned, Scanner};
use std::collections::BTreeSet;
use std::io::Result;
use zstd::bulk::Compressor;

/// A packer of pages, which notes the functions in them.
pub(crate) struct Packer {
    packer: Compressor<'static>,
    scanner: Scanner,
    page_size: usize,
}

/// A block of packed pages of a CPU.
pub(crate) struct Packed {
    pub cpu: u32,
    /// The time of its first event, ns of CLOCK_MONOTONIC.
    pub first_ns: u64,
    /// The time of its last event.
    pub last_ns: u64,
    /// The number of its events.
    pub events: u64,
    pub bytes: Vec<u8>,
}

impl Packer {
    /// Creates a packer of pages of this size.
    ///
    /// # Errors
    /// A lack of memory.
    pub fn new(scanner: Scanner, page_size: usize) -> Result<Self> {
        let mut packer = Compressor::new(LEVEL)?;
        packer.include_checksum(true)?;
        Ok(Self { packer, scanner, page_size })
    }

    /// Packs complete pages of a CPU.
    ///
    /// # Errors
    /// A lack of memory.
    pub fn pack(&mut self, cpu: u32, pages: &[u8]) -> Result<Packed> {
        let Scanned { events, first_ns, last_ns } = self.scanner.scan(pages, self.page_size);
        let bytes = self.packer.compress(pages)?;
        Ok(Packed { cpu, first_ns, last_ns, events, bytes })
    }

    /// The functions that occur in the pages.
    pub fn addresses(&self) -> &BTreeSet<u64> {
        self.scanner.addresses()
    }
}
