// SPDX-License-Identifier: GPL-2.0-only
//! Documents of tables, findings, verdicts and timelines, for a terminal and as one HTML file.
//!
//! Nothing here knows where a number came from. The same document gives the same bytes.

mod document;
mod html;
pub mod numbers;
mod terminal;
mod timeline;

pub use document::{Align, Block, Cell, Column, Document, Failure, Finding, Ruling, Table, Verdict};
pub use html::html;
pub use terminal::terminal;
pub use timeline::{Lane, Mark, Timeline, svg};
