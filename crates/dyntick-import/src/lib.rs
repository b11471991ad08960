// SPDX-License-Identifier: GPL-2.0-only
//! Traces of other tools, as the pages and the layouts of events that `dyntick-trace` decodes. Pure: a file is read
//! through [`Bytes`], and its pages are handed to a [`Sink`] as they are read, so that memory does not grow with the
//! file.
//!
//! A file of trace-cmd has such pages. Each may come from anywhere, so every length in it is compared with
//! the file's before memory is taken, and errors name the offset.

mod bytes;
mod clock;
#[cfg(test)]
mod kept;
mod output;
mod perf;
mod survey;
mod text;
mod trace_dat;
mod unpack;

pub use bytes::{Bytes, Damage};
pub use output::{Layout, Sink};
pub use perf::read as read_perf;
pub use survey::Seen;
pub use text::read as read_text;
pub use trace_dat::read as read_trace_dat;

use dyntick_trace::CpuStats;
use std::collections::BTreeMap;

/// The kind of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file of trace-cmd.
    TraceDat,
    /// A file of perf.
    Perf,
    /// The text of a trace.
    Text,
}

/// The number of bytes by which a file is recognised.
pub const HEAD: usize = 4096;

/// Recognises a file by its first bytes, at least [`HEAD`] of them if the file has that many.
pub fn recognise(head: &[u8]) -> Option<Kind> {
    if head.starts_with(trace_dat::MAGIC) {
        return Some(Kind::TraceDat);
    }
    if head.starts_with(perf::MAGIC) {
        return Some(Kind::Perf);
    }
    text::is_text(head).then_some(Kind::Text)
}

/// The facts that a file has beside its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The format of the file and the tool that wrote it, in words.
    pub source: String,
    /// The trace clock by its name; `None` if the file does not name it.
    pub clock: Option<String>,
    /// The kernel's release, as `uname -r` prints it.
    pub release: Option<String>,
    /// The architecture, as `uname -m` prints it.
    pub architecture: Option<String>,
    /// The number of CPUs of the machine.
    pub cpus: Option<u32>,
    /// The names of tasks by number.
    pub names: BTreeMap<i32, String>,
    /// The counters of the buffers, by CPU: of all that have events or counters in the file.
    pub stats: BTreeMap<u32, CpuStats>,
    /// The text of `/proc/kallsyms`, or nothing.
    pub kallsyms: Vec<u8>,
    /// A symbol of the kernel with its address, of a file without `/proc/kallsyms`: the running kernel is the same boot
    /// of the same kernel only if it has that symbol there.
    pub kernel_text: Option<(String, u64)>,
    /// The names of functions that stand for themselves in the pages.
    pub symbols: BTreeMap<u64, String>,
    /// The contents of the pages.
    pub seen: Seen,
    /// True if the begin of some CPU's buffer was overwritten, and the file does not name the CPU.
    pub overwritten: bool,
    /// The number of events that the file has in a form that cannot be read.
    pub unreadable: u64,
    /// Remarks on what was left out or is doubtful, in words.
    pub notes: Vec<String>,
}

/// The reason for which a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file that was changed or truncated, or was never valid.
    #[error("it is damaged at byte {at}: {reason}")]
    Damaged {
        /// The offset in the file.
        at: u64,
        /// The evidence, in words.
        reason: String,
    },
    /// A valid file that lacks something, or is of another kind, with the remedy.
    #[error("{0}")]
    Unsupported(String),
    /// A failure of reading or of the sink.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
