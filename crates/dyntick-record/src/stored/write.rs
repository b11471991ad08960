// SPDX-License-Identifier: GPL-2.0-only
//! Writing a record while it is recorded.

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

/// Why nothing more was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It has as many bytes as it may have.
    MaxSize,
    /// The file system has no room.
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
    /// Where the next member begins.
    end: u64,
    most: u64,
    blocks: Vec<Block>,
    /// How many blocks each CPU has.
    numbers: BTreeMap<u32, u32>,
    ended: Option<Ended>,
}

/// A block that was written.
struct Block {
    cpu: u32,
    at: u64,
    first_ns: u64,
    events: u64,
}

impl Writer {
    /// Begins a record of at most `most` bytes, and of what is known at the end.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn new(file: File, most: u64) -> Result<Self> {
        let (blocks, numbers) = (Vec::new(), BTreeMap::new());
        let mut writer = Self { file, end: 0, most, blocks, numbers, ended: None };
        writer.put(VERSION_PIECE, VERSION.as_bytes())?;
        Ok(writer)
    }

    /// Why nothing more is written, where that is so.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Writes a block of a CPU, behind its earlier ones. Where there is no room for it, and from then on, nothing is
    /// written.
    ///
    /// # Errors
    /// Where the file cannot be written for another reason than that it is full.
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

    /// Writes what is known at the end. Where the disk has no room for that, the last blocks give way, and the record
    /// ends before what was in them.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(mut self, mut about: About, metadata: &Metadata) -> Result<File> {
        loop {
            let end = self.end;
            about.ended = self.ended;
            match self.put_end(&about, metadata) {
                Ok(()) => {
                    // What an attempt without room has left.
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

    /// Appends a member; where that fails the end stays where it was.
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

/// Whether a file could not grow: for lack of room, by a quota, or by a limit on files.
pub(crate) fn is_full(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
