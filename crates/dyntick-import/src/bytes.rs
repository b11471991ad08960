// SPDX-License-Identifier: GPL-2.0-only
//! The bytes of a file: its parts by offset, and a reader of numbers and texts that counts where it is.

use crate::ImportError;
use std::io::{Error, ErrorKind};

/// The bytes of a file.
pub trait Bytes {
    /// The length of the file.
    fn length(&self) -> u64;

    /// Fills `buffer` with the bytes at an offset.
    ///
    /// # Errors
    /// A failed read, or fewer bytes in the file.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> std::io::Result<()>;
}

impl Bytes for &[u8] {
    fn length(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        let part = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..buffer.len()));
        buffer.copy_from_slice(part.ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))?);
        Ok(())
    }
}

/// Makes errors that name an offset.
#[derive(Clone, Copy, Debug)]
pub struct Damage(pub u64);

impl Damage {
    /// The error with this reason.
    pub fn is(self, reason: impl Into<String>) -> ImportError {
        ImportError::Damaged { at: self.0, reason: reason.into() }
    }
}

/// Reads `length` bytes at an offset. The file is known to have them before memory is taken.
pub(crate) fn part(file: &dyn Bytes, at: u64, length: u64) -> Result<Vec<u8>, ImportError> {
    let has = file.length();
    if at.checked_add(length).is_none_or(|end| end > has) {
        return Err(Damage(at).is(format!("{length} bytes are expected here, but the file ends at {has}")));
    }
    let mut bytes = vec![0; length as usize];
    file.read_at(at, &mut bytes)?;
    Ok(bytes)
}

/// A reader of a part in memory, e.g. a section that was unpacked.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    /// The offset in the bytes.
    pub at: usize,
    /// The offset of the bytes in the file, for errors.
    pub from: u64,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], from: u64) -> Self {
        Self { bytes, at: 0, from }
    }

    /// The place of the next byte, for errors.
    pub fn here(&self) -> Damage {
        Damage(self.from.saturating_add(self.at as u64))
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub fn take(&mut self, length: u64) -> Result<&'a [u8], ImportError> {
        let rest = self.rest();
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let taken = taken.ok_or_else(|| {
            self.here().is(format!("{length} bytes are expected here, but only {} are left", rest.len()))
        })?;
        self.at += taken.len();
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], ImportError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N as u64)?);
        Ok(bytes)
    }

    pub fn u16(&mut self) -> Result<u16, ImportError> {
        self.fixed().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, ImportError> {
        self.fixed().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, ImportError> {
        self.fixed().map(u64::from_le_bytes)
    }

    /// A text up to its NUL.
    pub fn text(&mut self) -> Result<String, ImportError> {
        let rest = self.rest();
        let end = memchr::memchr(0, rest).ok_or_else(|| self.here().is("a text has no end"))?;
        self.at += end + 1;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}

/// The text of bytes that may end with a NUL.
pub(crate) fn until_nul(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
