// SPDX-License-Identifier: GPL-2.0-only
//! Kernel trace events by way of tracefs, read as raw ring-buffer pages.

mod buffers;
mod decode;
mod error;
pub mod events;
mod fields;
mod format;
mod merge;
mod probes;
mod recording;
mod ring;
mod room;
mod scan;
mod session;
mod symbols;
mod user_stacks;

pub use buffers::Buffers;
pub use decode::{DecodeError, Decoded, Decoder, Pages};
pub use error::SessionError;
pub use format::{Field, Format, FormatError};
pub use merge::{Blocks, Merged, merge};
pub use probes::{IRQ_WORKS, Probe, SENDERS};
pub use recording::{CpuStats, Metadata, Recording};
pub use ring::{Lost, RingError, is_behind_a_gap};
pub use room::room_for_events;
pub use scan::{Scanned, Scanner};
pub use session::{TraceSession, names_of, remove_abandoned};
pub use symbols::{SymbolTable, addresses_of, resolve};
pub use user_stacks::UserStacks;
