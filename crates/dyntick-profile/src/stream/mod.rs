// SPDX-License-Identifier: GPL-2.0-only
//! The stream of executed blocks, as the plugin writes it.

pub mod format;
mod read;
mod write;

pub use read::{Error, Reader, Record};
pub use write::Writer;
