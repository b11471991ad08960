// SPDX-License-Identifier: GPL-2.0-only
//! What host and guest say to each other, and the memory through which they say it (invariant 3).

mod archive;
pub mod console;
mod files;
mod job;
mod mailbox;
pub mod pieces;
pub mod received;

pub use archive::{Archive, ArchiveError};
pub use files::{Moment, name_of_file, piece_of_file};
pub use job::{
    DISK_FOLDER, Job, Outcome, Partition, Policy, SHELL_STATUS, Script, ScriptResult, Settled, Task, Work,
};
pub use mailbox::{MAILBOX_AT, MAILBOX_BYTES, Mailbox, MailboxError, Stage};
