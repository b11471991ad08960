// SPDX-License-Identifier: GPL-2.0-only
//! Replays idle governors on recorded idle periods. A governor is the kernel's own file, compiled as it is against a
//! header that stands in for the kernel's, and run in a confined child.

mod child;
mod compile;
mod decision;
mod error;
mod governor;
mod layout;
mod recorded;
mod score;
mod spec;

pub use child::Input;
pub use compile::{Program, compile};
pub use decision::{Decision, Part};
pub use error::ReplayError;
pub use governor::{Define, Governor, SourceFile};
pub use recorded::{Assumed, Facts, Recorded, Timers, decisions};
pub use score::{Ground, Score, chosen};
pub use spec::{Spec, sweep};

#[cfg(test)]
mod tests;
