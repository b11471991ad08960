// SPDX-License-Identifier: GPL-2.0-only
//! The records of a file one after another, also those that are compressed (`perf record -z`).

use super::header::Place;
use crate::ImportError;
use crate::bytes::{Bytes, Cursor, Damage, part};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// The kinds of records: `PERF_RECORD_*`, and perf's own from 64 on (`tools/lib/perf/include/perf/event.h`).
pub(super) const MMAP: u32 = 1;
pub(super) const LOST: u32 = 2;
pub(super) const COMM: u32 = 3;
pub(super) const SAMPLE: u32 = 9;
pub(super) const LOST_SAMPLES: u32 = 13;
pub(super) const HEADER_ATTR: u32 = 64;
pub(super) const TRACING_DATA: u32 = 66;
pub(super) const FINISHED_ROUND: u32 = 68;
const AUXTRACE: u32 = 71;
pub(super) const FEATURE: u32 = 80;
pub(super) const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;

/// The size of the head of a record: its kind, flags and size.
const HEAD: usize = 8;
/// The bytes of the file that are read at once.
const AT_ONCE: u64 = 1 << 20;
/// The maximum size of the layouts of events in a pipe, bytes.
const MOST_BEHIND: u64 = 64 << 20;
/// The bytes that are unpacked at once.
const UNPACKED_AT_ONCE: usize = 256 << 10;
/// The maximum of unpacked bytes for each byte of compressed records.
const MOST_UNPACKED: u64 = 2000;

/// A record without its head.
pub(super) struct Record {
    pub kind: u32,
    /// The place of the record in the file, or of the compressed one that has it.
    pub at: u64,
    pub bytes: Vec<u8>,
    /// The data that follows the record, of the kinds that have some.
    pub behind: Vec<u8>,
}

/// The records of a file.
pub(super) struct Data<'a> {
    file: &'a dyn Bytes,
    at: u64,
    end: u64,
    /// Bytes of the file that were read already, and the number of them that are done.
    buffer: Vec<u8>,
    done: usize,
    unpacker: Option<Decoder<'static>>,
    /// Unpacked bytes, and the number of them that are done.
    unpacked: Vec<u8>,
    unpacked_done: usize,
    unpacked_at: u64,
    left_to_unpack: u64,
    /// The place of a record that the end of the file cuts.
    pub is_cut: Option<u64>,
}

impl<'a> Data<'a> {
    pub fn new(file: &'a dyn Bytes, place: Place) -> Self {
        Self {
            file,
            at: place.at,
            end: place.at.saturating_add(place.size).min(file.length()),
            buffer: Vec::new(),
            done: 0,
            unpacker: None,
            unpacked: Vec::new(),
            unpacked_done: 0,
            unpacked_at: 0,
            left_to_unpack: place.size.saturating_mul(MOST_UNPACKED),
            is_cut: None,
        }
    }

    /// Reads the next record; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Record>, ImportError> {
        loop {
            if let Some(record) = self.next_unpacked()? {
                return Ok(Some(record));
            }
            let Some(record) = self.next_plain()? else { return Ok(None) };
            match record.kind {
                COMPRESSED => self.unpack(&record.bytes, record.at)?,
                COMPRESSED2 => {
                    let mut cursor = Cursor::new(&record.bytes, record.at);
                    let size = cursor.u64()?;
                    self.unpack(cursor.take(size)?, record.at)?;
                }
                _ => return Ok(Some(record)),
            }
        }
    }

    fn next_plain(&mut self) -> Result<Option<Record>, ImportError> {
        let at = self.at;
        let Some(head) = self.bytes(HEAD)? else { return Ok(None) };
        let Head { kind, size } = Head::of(&head);
        if size < HEAD {
            return Err(Damage(at).is(format!("a record of {size} bytes")));
        }
        let Some(bytes) = self.bytes(size - HEAD)? else { return Ok(None) };
        let behind = match kind {
            TRACING_DATA | AUXTRACE => {
                let mut cursor = Cursor::new(&bytes, at);
                let size = if kind == TRACING_DATA { u64::from(cursor.u32()?) } else { cursor.u64()? };
                self.behind(kind, size, at)?
            }
            _ => Vec::new(),
        };
        Ok(Some(Record { kind, at, bytes, behind }))
    }

    /// Reads the data behind a record, or skips it.
    fn behind(&mut self, kind: u32, size: u64, at: u64) -> Result<Vec<u8>, ImportError> {
        let from = self.at;
        let behind = match kind {
            TRACING_DATA if size <= MOST_BEHIND => part(self.file, from, size)?,
            TRACING_DATA => {
                return Err(Damage(at).is(format!("{size} bytes of layouts, more than any machine has")));
            }
            _ => Vec::new(),
        };
        // The layouts are padded to 8 bytes.
        let padded = size.checked_next_multiple_of(8).unwrap_or(u64::MAX);
        (self.at, self.done) = (from.saturating_add(padded), 0);
        self.buffer.clear();
        Ok(behind)
    }

    /// Takes the next bytes of the file; `None` if it ends before.
    fn bytes(&mut self, size: usize) -> Result<Option<Vec<u8>>, ImportError> {
        if self.buffer.len() - self.done < size {
            self.buffer.drain(..self.done);
            self.done = 0;
            let from = self.at + self.buffer.len() as u64;
            let more = self.end.saturating_sub(from).min(AT_ONCE);
            self.buffer.extend(part(self.file, from, more)?);
        }
        let Some(bytes) = self.buffer.get(self.done..self.done + size) else {
            if self.buffer.len() > self.done || size != HEAD {
                self.is_cut = Some(self.at);
            }
            return Ok(None);
        };
        let bytes = bytes.to_vec();
        self.done += size;
        self.at += size as u64;
        Ok(Some(bytes))
    }

    /// Unpacks more records; a record may go on in the next compressed one.
    fn unpack(&mut self, packed: &[u8], at: u64) -> Result<(), ImportError> {
        let wrong = |error: std::io::Error| Damage(at).is(format!("it cannot be unpacked: {error}"));
        if self.unpacker.is_none() {
            self.unpacker = Some(Decoder::new().map_err(wrong)?);
        }
        let Some(unpacker) = &mut self.unpacker else { return Ok(()) };
        self.unpacked.drain(..self.unpacked_done);
        (self.unpacked_done, self.unpacked_at) = (0, at);
        let mut input = InBuffer::around(packed);
        let mut piece = vec![0; UNPACKED_AT_ONCE];
        loop {
            let mut output = OutBuffer::around(&mut piece[..]);
            unpacker.run(&mut input, &mut output).map_err(wrong)?;
            let written = output.pos();
            self.left_to_unpack = self.left_to_unpack.checked_sub(written as u64).ok_or_else(|| {
                Damage(at).is(format!("it unpacks to more than {MOST_UNPACKED} times its size, the limit"))
            })?;
            self.unpacked.extend_from_slice(&piece[..written]);
            if input.pos() == packed.len() && written < UNPACKED_AT_ONCE {
                return Ok(());
            }
        }
    }

    fn next_unpacked(&mut self) -> Result<Option<Record>, ImportError> {
        let left = self.unpacked.get(self.unpacked_done..).unwrap_or_default();
        let Some(head) = left.get(..HEAD) else { return Ok(None) };
        let at = self.unpacked_at;
        let Head { kind, size } = Head::of(head);
        if size < HEAD || [TRACING_DATA, AUXTRACE, COMPRESSED, COMPRESSED2].contains(&kind) {
            return Err(Damage(at).is(format!("a compressed record of kind {kind} and {size} bytes")));
        }
        let Some(bytes) = left.get(HEAD..size) else { return Ok(None) };
        let record = Record { kind, at, bytes: bytes.to_vec(), behind: Vec::new() };
        self.unpacked_done += size;
        Ok(Some(record))
    }
}

/// The head of a record.
struct Head {
    kind: u32,
    /// The size of the record with its head.
    size: usize,
}

impl Head {
    fn of(bytes: &[u8]) -> Self {
        let kind = bytes.first_chunk().map_or(0, |kind| u32::from_le_bytes(*kind));
        let size = bytes.last_chunk().map_or(0, |size| u16::from_le_bytes(*size));
        Self { kind, size: size.into() }
    }
}
