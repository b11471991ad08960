// SPDX-License-Identifier: GPL-2.0-only
//! The reader of a record: it finds the blocks, and reads one at a time. A record may be an untrusted file.

use super::{ABOUT, INDEX, Index, MOST_OF_BLOCK, TAR_END, TAR_UNIT, VERSION, VERSION_PIECE};
use crate::About;
use crate::accept::{Accept, accept_size};
use crate::trouble::{LONGEST_TEXT, LONGEST_VERSION, Trouble, json};
use dyntick_model::text::{clean_line, shortened};
use dyntick_trace::Metadata;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use zstd::bulk::Decompressor;

/// The position of packed bytes in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: u64,
    bytes: u64,
}

/// The pages of a record, in its file.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    file: Arc<File>,
    blocks: BTreeMap<u32, Vec<Place>>,
    /// The number of events according to the index.
    pub events: u64,
}

/// A decompressor of blocks.
pub(crate) struct Unpacker {
    unpacker: Decompressor<'static>,
    packed: Vec<u8>,
}

/// The bytes that a gzipped file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The maximum window for unpacking texts, as a power of two; `Writer` uses level 1, whose window is smaller.
const WINDOW_LOG: u32 = 23;

impl Stored {
    /// Opens a record, and finds its members.
    ///
    /// # Errors
    /// A file that is not a record, cannot be read, or was truncated or changed.
    pub fn open(file: File) -> Result<(About, Metadata, Self), Trouble> {
        let mut members = Members::default();
        members.find(&file)?;
        let missing = |name: &str| Trouble::Damaged(format!("{name} is missing"));
        let about = members.about.ok_or_else(|| missing(ABOUT))?;
        let index = members.index.ok_or_else(|| missing(INDEX))?;
        let damaged = |name: &'static str| move |reason| Trouble::Damaged(format!("{name}: {reason}"));
        let about = text(&file, about).map_err(damaged(ABOUT))?;
        accept_size(&about).map_err(damaged(ABOUT))?;
        let about = json(&about).map_err(damaged(ABOUT))?;
        let index: Index = json(&text(&file, index).map_err(damaged(INDEX))?).map_err(damaged(INDEX))?;
        let found = members.blocks.iter().map(|(cpu, blocks)| (*cpu, blocks.len() as u64));
        let indexed = index.blocks.iter().map(|(cpu, count)| (*cpu, u64::from(*count)));
        if !found.eq(indexed.filter(|(_, count)| *count > 0)) {
            let reason = "the blocks of the trace in it are not those that the file has".to_owned();
            return Err(damaged(INDEX)(reason));
        }
        if let Some(cpu) = members.blocks.keys().find(|cpu| !index.metadata.stats.contains_key(cpu)) {
            return Err(damaged(INDEX)(format!("stats: CPU {cpu}, which has a trace, is missing")));
        }
        let Index { metadata, events, .. } = index;
        Ok((about, metadata, Self { file: Arc::new(file), blocks: members.blocks, events }))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Replaces `pages` by a block of a CPU, from number 0. Returns false after the last one.
    ///
    /// # Errors
    /// A block that was changed or cannot be read.
    pub fn block(
        &self,
        cpu: u32,
        number: usize,
        unpacker: &mut Unpacker,
        pages: &mut Vec<u8>,
    ) -> Result<bool, String> {
        let Some(place) = self.blocks.get(&cpu).and_then(|blocks| blocks.get(number)) else {
            return Ok(false);
        };
        let Unpacker { unpacker, packed } = unpacker;
        let damaged = |reason: std::io::Error| format!("block {number} of CPU {cpu}: {reason}");
        packed.resize(place.bytes as usize, 0);
        self.file.read_exact_at(packed, place.at).map_err(damaged)?;
        pages.clear();
        pages.reserve(MOST_OF_BLOCK);
        unpacker.decompress_to_buffer(packed, pages).map_err(damaged)?;
        Ok(true)
    }
}

impl Unpacker {
    /// Creates a decompressor for any block.
    ///
    /// # Errors
    /// A lack of memory.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { unpacker: Decompressor::new()?, packed: Vec::new() })
    }
}

/// The positions of the members.
#[derive(Default)]
struct Members {
    about: Option<Place>,
    index: Option<Place>,
    blocks: BTreeMap<u32, Vec<Place>>,
}

impl Members {
    fn find(&mut self, mut file: &File) -> Result<(), Trouble> {
        let failed = |error: std::io::Error| Trouble::Damaged(error.to_string());
        let mut begin = [0; 2];
        if file.read_exact_at(&mut begin, 0).is_ok() && begin == GZIP {
            return Err(Trouble::Gzip);
        }
        let length = file.metadata().map_err(failed)?.len();
        file.rewind().map_err(failed)?;
        let mut archive = tar::Archive::new(file);
        let mut end = 0;
        let mut count = 0;
        // Raw: extensions of tar are not interpreted.
        for entry in archive.entries_with_seek().map_err(|_| Trouble::Foreign)?.raw(true) {
            let mut entry = entry.map_err(|_| broken(count))?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let place = Place { at: entry.raw_file_position(), bytes: entry.size() };
            let shown = shortened(&clean_line(&name), 120);
            if count == 0 && name != VERSION_PIECE {
                return Err(Trouble::Foreign);
            }
            let kind = entry.header().entry_type();
            if kind != tar::EntryType::Regular {
                return Err(Trouble::Damaged(format!("{shown}: only regular files are read")));
            }
            end = place.at.saturating_add(place.bytes).div_ceil(TAR_UNIT).saturating_mul(TAR_UNIT);
            if end > length {
                return Err(Trouble::Damaged(format!("{shown}: the file ends before it does")));
            }
            match count {
                0 => version(&mut entry)?,
                _ => self
                    .take(&name, place)
                    .map_err(|reason| Trouble::Damaged(format!("{shown}: {reason}")))?,
            }
            count += 1;
        }
        let mut zeros = [1; TAR_END];
        let complete = length == end + TAR_END as u64
            && file.read_exact_at(&mut zeros, end).is_ok()
            && zeros.iter().all(|byte| *byte == 0);
        match (count, complete) {
            (0, _) => Err(Trouble::Foreign),
            (_, true) => Ok(()),
            (_, false) => Err(Trouble::Damaged(format!("it does not end after its entry {count}"))),
        }
    }

    fn take(&mut self, name: &str, place: Place) -> Result<(), String> {
        match name {
            ABOUT => once(&mut self.about, place, LONGEST_TEXT),
            INDEX => once(&mut self.index, place, LONGEST_TEXT),
            _ => {
                let (cpu, number) =
                    block_of(name).ok_or_else(|| "it does not belong to such a record".to_owned())?;
                let blocks = self.blocks.entry(cpu).or_default();
                if number as usize != blocks.len() {
                    return Err(format!("block {} of CPU {cpu} is expected here", blocks.len()));
                }
                let most = zstd::zstd_safe::compress_bound(MOST_OF_BLOCK) as u64;
                if place.bytes > most {
                    return Err(format!("it has {} bytes; the limit is {most}", place.bytes));
                }
                blocks.push(place);
                Ok(())
            }
        }
    }
}

/// The CPU and the number of the block with this name.
fn block_of(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.strip_prefix("trace.cpu")?.strip_suffix(".zst")?.splitn(3, '.');
    let mut number = || parts.next()?.parse::<u32>().ok();
    let (cpu, number) = (number()?, number()?);
    let (first, last) = parts.next()?.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let same = name == format!("trace.cpu{cpu}.{number}.{first}-{last}.zst");
    (same && cpu < crate::accept::MOST_CPUS).then_some((cpu, number))
}

/// The error of an unreadable entry after `count` others.
fn broken(count: usize) -> Trouble {
    match count {
        0 => Trouble::Foreign,
        _ => Trouble::Damaged(format!("it is damaged after its entry {count}")),
    }
}

/// Notes the place of a member that occurs once and has at most `most` bytes.
fn once(found: &mut Option<Place>, place: Place, most: u64) -> Result<(), String> {
    if found.replace(place).is_some() {
        return Err("it occurs twice".to_owned());
    }
    if place.bytes > most {
        return Err(format!("it has {} bytes; the limit is {most}", place.bytes));
    }
    Ok(())
}

fn version(entry: &mut impl Read) -> Result<(), Trouble> {
    let mut version = String::new();
    let read = entry.take(LONGEST_VERSION).read_to_string(&mut version);
    match (read, version.as_str()) {
        (Ok(_), VERSION) => Ok(()),
        _ => Err(Trouble::Version(clean_line(&shortened(&version, 20)))),
    }
}

fn text(file: &File, place: Place) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut packed = vec![0; place.bytes as usize];
    file.read_exact_at(&mut packed, place.at).map_err(failed)?;
    let mut unpacked = zstd::stream::Decoder::new(&packed[..]).map_err(failed)?;
    unpacked.window_log_max(WINDOW_LOG).map_err(failed)?;
    let mut text = Vec::new();
    unpacked.take(LONGEST_TEXT + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > LONGEST_TEXT {
        Err(format!("it unpacks to more than {} MiB, the limit", LONGEST_TEXT >> 20))
    } else {
        Ok(text)
    }
}

impl Accept for Index {
    fn accept(&self) -> Result<(), String> {
        self.metadata.accept()
    }
}
