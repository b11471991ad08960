// SPDX-License-Identifier: GPL-2.0-only
//! A lock on a folder says that its process lives. Process numbers would not: in two containers they are
//! the same.

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The folder, locked for as long as the result lives, through no symbolic link.
///
/// # Errors
/// `WOULDBLOCK` where another has it, and whatever opening a folder says.
pub fn locked(folder: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty())?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}
