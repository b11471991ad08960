// SPDX-License-Identifier: GPL-2.0-only
//! Checks that a machine is set up for what its command line asks, by rules on the machine's files.
//!
//! A [`Snapshot`] holds the files, a [`Machine`] the facts in them, and each [`rules::Rule`] is a pure function of
//! both. The same snapshot gives the same findings on every machine.

mod finding;
mod machine;
mod reboot;
mod report;
pub mod rules;
mod sarif;
mod script;
pub mod shell;
mod snapshot;
pub mod sources;
pub mod tried;

pub use finding::{Evidence, Finding, Offered, Severity};
pub use machine::{IdleState, Irq, Machine, MachineError, NoLine, Task};
pub use reboot::Reboot;
pub use report::{Report, Unread};
pub use sarif::sarif;
pub use script::script;
pub use snapshot::{Content, Snapshot};
