// SPDX-License-Identifier: GPL-2.0-only
//! Packing pages into blocks.

use super::LEVEL;
use dyntick_trace::{Scanned, Scanner};
use std::collections::BTreeSet;
use std::io::Result;
use zstd::bulk::Compressor;

/// Packs pages, and notes what is in them.
pub(crate) struct Packer {
    packer: Compressor<'static>,
    scanner: Scanner,
    page_size: usize,
}

/// A block: pages of a CPU, packed.
pub(crate) struct Packed {
    pub cpu: u32,
    /// When its first event was, ns of CLOCK_MONOTONIC.
    pub first_ns: u64,
    /// When its last event was.
    pub last_ns: u64,
    /// How many it has.
    pub events: u64,
    pub bytes: Vec<u8>,
}

impl Packer {
    /// Of pages of this size.
    ///
    /// # Errors
    /// No memory.
    pub fn new(scanner: Scanner, page_size: usize) -> Result<Self> {
        let mut packer = Compressor::new(LEVEL)?;
        packer.include_checksum(true)?;
        Ok(Self { packer, scanner, page_size })
    }

    /// Packs complete pages of a CPU.
    ///
    /// # Errors
    /// No memory.
    pub fn pack(&mut self, cpu: u32, pages: &[u8]) -> Result<Packed> {
        let Scanned { events, first_ns, last_ns } = self.scanner.scan(pages, self.page_size);
        let bytes = self.packer.compress(pages)?;
        Ok(Packed { cpu, first_ns, last_ns, events, bytes })
    }

    /// The functions that occurred.
    pub fn addresses(&self) -> &BTreeSet<u64> {
        self.scanner.addresses()
    }
}
