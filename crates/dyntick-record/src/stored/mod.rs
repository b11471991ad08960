// SPDX-License-Identifier: GPL-2.0-only
//! The file format 2 of a record: a tar of members that are each packed with zstd.
//!
//! ```text
//! dyntick-record                    the format's number, "2", not packed
//! trace.cpuN.K.FIRST-LAST.zst …     full pages of CPU N's ring buffer, its K-th block; ns of its events
//! about.json.zst                    what, when and where (`About`)
//! trace.json.zst                    how to read the pages, and how many blocks each CPU has (`Index`)
//! ```
//!
//! Blocks are in the order in which they were recorded, so the file is written during the recording. The other members
//! are at the end, and a file without them is refused. A reader finds the members, then unpacks one block of each CPU
//! at a time.

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

/// The version of the format. It changes whenever an older dyntick could not read the file.
pub(crate) const VERSION: &str = "2";
pub(crate) const VERSION_PIECE: &str = "dyntick-record";
const ABOUT: &str = "about.json.zst";
const INDEX: &str = "trace.json.zst";

/// The size of the pages in a block, bytes; a block has at least one page.
pub(crate) const BLOCK: usize = 256 << 10;

/// The maximum size of a block, bytes: that of the largest page (`Metadata::problem`).
pub(crate) const MOST_OF_BLOCK: usize = 1 << 20;

/// The compression level: the fastest of libzstd's regular ones. The next take twice the time to save a tenth.
const LEVEL: i32 = 1;

/// The unit of a tar.
const TAR_UNIT: u64 = 512;
/// The number of zeros at its end.
const TAR_END: usize = 1024;

/// The index, which is needed to read the pages.
#[derive(Serialize, Deserialize)]
struct Index {
    metadata: Metadata,
    /// The number of blocks of each CPU.
    blocks: BTreeMap<u32, u32>,
    /// The number of events in them.
    events: u64,
}

#[cfg(test)]
pub(crate) mod tests;
