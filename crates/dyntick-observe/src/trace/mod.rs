// SPDX-License-Identifier: GPL-2.0-only
//! Kernel trace events by way of tracefs, read as raw ring-buffer pages.

mod decode;
pub mod events;
mod format;
mod probes;
mod recording;
mod ring;
mod room;
mod session;
mod symbols;

pub use decode::{DecodeError, Decoded, Decoder, Pages};
pub use format::{Field, Format, FormatError};
pub use probes::{IRQ_WORKS, Probe, SENDERS};
pub use recording::{CpuStats, Metadata, Recording};
pub use ring::{Lost, RingError, is_behind_a_gap, records_in};
pub use room::room_for_events;
pub use session::{RawPages, SessionError, TraceSession, remove_abandoned};
pub use symbols::{SymbolTable, addresses_of, resolve};
