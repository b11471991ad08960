// SPDX-License-Identifier: GPL-2.0-only
//! Documents of tables, findings, verdicts, timelines and plots, for a terminal, a mail and as one HTML file.
//!
//! Nothing here knows the origin of a number. The same document gives the same bytes.

mod align;
mod cell;
mod document;
mod draw;
mod flame;
mod html;
mod mail;
pub mod numbers;
mod palette;
pub mod perfetto;
mod plot;
mod plot_svg;
mod terminal;
mod timeline;
mod timeline_data;
mod timeline_svg;
mod words;

pub use cell::Cell;
pub use document::{
    Align, Block, Column, Document, Failure, Finding, Level, Origin, Ruling, Table, Verdict, score,
};
pub use flame::Flame;
pub use html::html;
pub use mail::{COLUMNS as MAIL_COLUMNS, mail};
pub use plot::{Axis, Plot, Series, Shape};
pub use plot_svg::plot_svg;
pub use terminal::{is_beside, terminal};
pub use timeline::{Lane, Mark, Timeline};
pub use timeline_svg::svg;
pub use words::message;
