// SPDX-License-Identifier: GPL-2.0-only
//! Is a machine set up for what its command line asks? Rules on the files of a machine.
//!
//! A [`Snapshot`] is what was read, a [`Machine`] the facts in it; each [`rules::Rule`] is a pure
//! function of those. The same snapshot gives the same findings, wherever it was read.

mod finding;
mod machine;
mod reboot;
mod report;
pub mod rules;
mod script;
pub mod shell;
mod snapshot;
pub mod sources;
pub mod tried;

pub use finding::{Evidence, Finding, Offered, Severity};
pub use machine::{IdleState, Irq, Machine, MachineError, NoLine, Task};
pub use reboot::Reboot;
pub use report::{Report, Unread};
pub use script::script;
pub use snapshot::{Content, Snapshot};
