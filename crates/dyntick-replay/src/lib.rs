// SPDX-License-Identifier: GPL-2.0-only
//! Replays idle governors on recorded idle periods. A governor is the kernel's own file, compiled as it is against a
//! header that stands in for the kernel's, and run in a confined child.
//!
//! Decisions and choices are in temporary files, made once for all governors, so that memory does not grow with the
//! length of a recording.

mod child;
mod compile;
mod decision;
mod error;
mod files;
mod governor;
mod input;
mod layout;
mod outcome;
mod reason;
mod recorded;
mod score;
mod sorter;
mod spec;

pub use compile::{Compiler, Program};
pub use decision::{Decision, Lengths, Part};
pub use error::ReplayError;
pub use governor::{Define, Governor, SourceFile};
pub use input::{Input, Inputs};
pub use layout::{Record, Setting, Settings};
pub use outcome::Outcome;
pub use reason::Reason;
pub use recorded::{Assumed, Decider, Facts};
pub use score::{Ground, Rule, Ruled, Score};
pub use sorter::Sorter;
pub use spec::{Spec, sweep};

#[cfg(test)]
mod tests;
