// SPDX-License-Identifier: GPL-2.0-only
//! The writer of a record during the recording.

use super::{ABOUT, INDEX, Index, LEVEL, Packed, TAR_END, TAR_UNIT, VERSION, VERSION_PIECE};
use crate::About;
use dyntick_trace::Metadata;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use zstd::bulk::Compressor;

/// The reason for an early end of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The record has reached its maximum size.
    MaxSize,
    /// The file system is full.
    DiskFull,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ended::MaxSize => "the record reached its size limit (record --max-size)",
            Ended::DiskFull => "the disk is full",
        })
    }
}

/// A record that is being written.
pub(crate) struct Writer {
    file: File,
    /// The position of the next member.
    end: u64,
    most: u64,
    blocks: Vec<Block>,
    /// The number of blocks of each CPU.
    numbers: BTreeMap<u32, u32>,
    ended: Option<Ended>,
}

/// A written block.
struct Block {
    cpu: u32,
    at: u64,
    first_ns: u64,
    events: u64,
}

impl Writer {
    /// Begins a record of at most `most` bytes, without the members at its end.
    ///
    /// # Errors
    /// A failed write to the file.
    pub fn new(file: File, most: u64) -> Result<Self> {
        let (blocks, numbers) = (Vec::new(), BTreeMap::new());
        let mut writer = Self { file, end: 0, most, blocks, numbers, ended: None };
        writer.put(VERSION_PIECE, VERSION.as_bytes())?;
        Ok(writer)
    }

    /// The reason for which nothing more is written, if so.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Writes a block of a CPU after its earlier ones. If there is no space for it, nothing more is written.
    ///
    /// # Errors
    /// A failed write for another reason than a lack of space.
    pub fn block(&mut self, block: &Packed) -> Result<()> {
        if self.ended.is_some() {
            return Ok(());
        }
        if self.end + block.bytes.len() as u64 > self.most {
            self.ended = Some(Ended::MaxSize);
            return Ok(());
        }
        let Packed { cpu, first_ns, last_ns, events, .. } = *block;
        let number = self.numbers.get(&cpu).copied().unwrap_or(0);
        let at = self.end;
        match self.put(&format!("trace.cpu{cpu}.{number}.{first_ns}-{last_ns}.zst"), &block.bytes) {
            Ok(()) => {
                self.blocks.push(Block { cpu, at, first_ns, events });
                self.numbers.insert(cpu, number + 1);
            }
            Err(error) if is_full(&error) => self.ended = Some(Ended::DiskFull),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Writes the members at the end. If the disk is full, they replace the last blocks, and the record ends before the
    /// events of those.
    ///
    /// # Errors
    /// A failed write to the file.
    pub fn finish(mut self, mut about: About, metadata: &Metadata) -> Result<File> {
        loop {
            let end = self.end;
            about.ended = self.ended;
            match self.put_end(&about, metadata) {
                Ok(()) => {
                    // Removes the rest of a failed attempt.
                    self.file.set_len(self.end)?;
                    return Ok(self.file);
                }
                Err(error) if is_full(&error) => {
                    self.ended = Some(Ended::DiskFull);
                    self.end = end;
                    let Some(last) = self.blocks.pop() else { return Err(error) };
                    self.end = last.at;
                    self.numbers.entry(last.cpu).and_modify(|number| *number -= 1);
                    self.file.set_len(self.end)?;
                    about.window_ns.1 = about.window_ns.1.min(last.first_ns).max(about.window_ns.0);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn put_end(&mut self, about: &About, metadata: &Metadata) -> Result<()> {
        let events = self.blocks.iter().map(|block| block.events).sum();
        let index = Index { metadata: metadata.clone(), blocks: self.numbers.clone(), events };
        let (about, index) = (serde_json::to_vec_pretty(about)?, serde_json::to_vec_pretty(&index)?);
        let mut packer = Compressor::new(LEVEL)?;
        packer.include_checksum(true)?;
        for (name, text) in [(ABOUT, about), (INDEX, index)] {
            let packed = packer.compress(&text)?;
            self.put(name, &packed)?;
        }
        self.file.write_all_at(&[0; TAR_END], self.end)?;
        self.end += TAR_END as u64;
        Ok(())
    }

    /// Appends a member; if that fails, the end does not move.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_path(name)?;
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        let mut member = header.as_bytes().to_vec();
        member.extend_from_slice(bytes);
        member.resize(member.len().next_multiple_of(TAR_UNIT as usize), 0);
        self.file.write_all_at(&member, self.end)?;
        self.end += member.len() as u64;
        Ok(())
    }
}

/// Returns true if a file could not grow because of a full disk, a quota, or a limit on the size of files.
pub(crate) fn is_full(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
