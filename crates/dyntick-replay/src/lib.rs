// SPDX-License-Identifier: GPL-2.0-only
//! Replays idle governors on recorded idle periods. A governor is the kernel's own file, compiled as it is against a
//! header that stands in for the kernel's, and run in a confined child.

mod child;
mod compile;
mod decision;
mod error;
mod governor;
mod layout;

pub use child::Input;
pub use compile::{Program, compile};
pub use decision::{Decision, Part};
pub use error::ReplayError;
pub use governor::{Define, Governor, SourceFile};

#[cfg(test)]
mod tests;
