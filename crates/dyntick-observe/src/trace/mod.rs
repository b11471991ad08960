// SPDX-License-Identifier: GPL-2.0-only
//! Kernel trace events by way of tracefs, taken as raw ring-buffer pages; `dyntick-trace` decodes them.

mod buffers;
mod error;
mod members;
mod probes;
mod session;

pub use buffers::Buffers;
pub use error::SessionError;
pub use session::{TraceSession, names_of, remove_abandoned};
