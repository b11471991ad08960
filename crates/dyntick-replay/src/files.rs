// SPDX-License-Identifier: GPL-2.0-only
//! Temporary files without a name, and reading them in pieces: what grows with the trace is there and not in memory.

use rustix::fs::OFlags;
use std::fs::File;
use std::io::Result;
use std::os::unix::fs::FileExt;

/// A file in `$TMPDIR`.
pub(crate) fn temporary() -> Result<File> {
    dyntick_system::unnamed_in(&std::env::temp_dir())
}

/// The same file for reading alone, so that what it is handed on to cannot change it.
pub(crate) fn only_readable(file: &File) -> Result<File> {
    dyntick_system::place::reopened(file, OFlags::empty())
}

/// Elements of a file that have the same size, one after another.
pub(crate) struct Elements<'a, const N: usize> {
    file: &'a File,
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    done: usize,
}

impl<'a, const N: usize> Elements<'a, N> {
    /// The elements from this byte on.
    pub fn new(file: &'a File, at: u64, count: u64) -> Self {
        Self { file, at, end: at + count * N as u64, buffer: Vec::new(), done: 0 }
    }

    /// The next one; none at the end.
    pub fn next(&mut self) -> Result<Option<&[u8; N]>> {
        const MOST: u64 = 1 << 18;
        if self.done == self.buffer.len() {
            let bytes = (self.end - self.at).min(MOST / N as u64 * N as u64);
            self.buffer.resize(bytes as usize, 0);
            self.file.read_exact_at(&mut self.buffer, self.at)?;
            self.at += bytes;
            self.done = 0;
        }
        let element = self.buffer[self.done..].first_chunk();
        self.done += if element.is_some() { N } else { 0 };
        Ok(element)
    }
}
