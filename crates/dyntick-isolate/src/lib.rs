// SPDX-License-Identifier: GPL-2.0-only
//! Makes CPUs quiet while a command runs, and restores every setting.
//!
//! The pure part decides the changes ([`plan`]), describes each [`Change`], and decides its restoration ([`judge`],
//! [`affinity`]). The other part executes them: [`apply`] and [`restore`] on a [`System`], with a [`Journal`] of each
//! change before it is made.

pub mod affinity;
pub mod apply;
mod change;
mod command;
mod facts;
mod guarded;
mod guardian;
mod isolation;
mod journal;
mod judge;
mod machine;
mod places;
mod plan;
mod record;
mod restore;
mod signals;
mod subject;
mod system;

pub use change::{Change, Format, PartitionKind};
pub use command::{Placement, Running, group_outside};
pub use facts::{Facts, FactsError};
pub use guardian::{GUARD_COMMAND, guard};
pub use isolation::{IsolateError, Isolation};
pub use journal::{Journal, JournalError};
pub use judge::{Verdict, judge};
pub use machine::ensure_on_machine;
pub use plan::{Plan, Request, Step, plan};
pub use record::{Contents, Header, Record};
pub use restore::{Restored, restore, restore_leftover};
pub use signals::{keep_signals, received};
pub use subject::Subject;
pub use system::{Live, System, Task, TaskId};
