// SPDX-License-Identifier: GPL-2.0-only
//! Profiles: from a stream of executed blocks to spans and instruction counts per kernel function. Pure: no
//! files, no clock.

mod call;
mod compare;
mod count;
mod cpu;
mod profile;
pub mod stream;
pub mod symbols;
mod walk;

pub use compare::{Difference, Rest, Row, compare};
pub use count::Counts;
pub use profile::{Key, Kind, Profile, Summary, Sums};
pub use walk::{MOST_HELD, Phase, phases, phases_with_calls};
