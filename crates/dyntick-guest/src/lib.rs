// SPDX-License-Identifier: GPL-2.0-only
//! The protocol of host and guest: what they say to each other, and the memory through which they say it (invariant 3).
//!
//! The host writes a [`Job`] into the [`Mailbox`] before the guest starts. The guest answers with an
//! [`Archive`] of [`pieces`], which are read through [`received`] alone.

mod archive;
pub mod console;
mod files;
mod job;
mod mailbox;
pub mod names;
pub mod pieces;
pub mod received;

pub use archive::{Archive, ArchiveError};
pub use files::{Moment, name_of_file, piece_of_file};
pub use job::{
    Job, Outcome, Partition, Policy, SHELL_STATUS, Script, ScriptResult, Settled, Shell, Task, Work,
};
pub use mailbox::{MAILBOX_AT, MAILBOX_BYTES, Mailbox, MailboxError, Stage};
