// SPDX-License-Identifier: GPL-2.0-only
//! A record in its file, format 2: a tar of members that are each packed with zstd.
//!
//! ```text
//! dyntick-record                    the format's number, "2", not packed
//! trace.cpuN.K.FIRST-LAST.zst …     whole pages of CPU N's ring buffer, its K-th block; ns of its events
//! about.json.zst                    what, when and where (`About`)
//! trace.json.zst                    how to read the pages, and how many blocks each CPU has (`Index`)
//! ```
//!
//! Blocks come in the order in which they were recorded, so the file is written while that goes on; what is known at
//! the end stands at the end, and a file that lacks it is refused. It is read by looking up where members are and
//! unpacking one block of each CPU at a time.

mod pack;
mod read;
mod write;

pub(crate) use pack::{Packed, Packer};
pub(crate) use read::{Stored, Unpacker};
pub use write::Ended;
pub(crate) use write::{Writer, is_full};

use dyntick_trace::Metadata;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Changes whenever an older dyntick could not read the file.
pub(crate) const VERSION: &str = "2";
pub(crate) const VERSION_PIECE: &str = "dyntick-record";
const ABOUT: &str = "about.json.zst";
const INDEX: &str = "trace.json.zst";

/// A block has so many bytes of pages, but at least a page.
pub(crate) const BLOCK: usize = 256 << 10;

/// And not more than this: the largest page (`Metadata::problem`).
pub(crate) const MOST_OF_BLOCK: usize = 1 << 20;

/// The fastest of libzstd's ordinary levels; the next ones take twice the time for a tenth of the size.
const LEVEL: i32 = 1;

/// The unit of a tar.
const TAR_UNIT: u64 = 512;
/// Zeros at its end.
const TAR_END: usize = 1024;

/// How to read the pages.
#[derive(Serialize, Deserialize)]
struct Index {
    metadata: Metadata,
    /// How many blocks each CPU has.
    blocks: BTreeMap<u32, u32>,
    /// How many events they have.
    events: u64,
}

#[cfg(test)]
pub(crate) mod tests;
