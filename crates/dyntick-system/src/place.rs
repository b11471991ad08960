// SPDX-License-Identifier: GPL-2.0-only
//! What stands at a path, looked at before it is opened: to open a device is to do something to it. A watchdog starts and
//! resets the machine, a tape is rewound, whatever the flags are.

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use std::fs::File;
use std::io::Result;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// To find what stands at a path without opening it (`O_PATH` of open(2)).
pub const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// What is found at a path that somebody else named or filled.
pub enum Found {
    /// A regular file, open for reading.
    Regular(File),
    /// Anything else, which was not opened.
    Other(FileType),
}

/// What stands at a path; a symbolic link is followed.
///
/// # Errors
/// Those of open(2), as EAGAIN where another user has leased the file.
pub fn at(path: &Path) -> Result<Found> {
    of(open(path, PLACE, Mode::empty())?)
}

/// What a descriptor stands for that was opened with [`PLACE`].
///
/// # Errors
/// As [`at`].
pub fn of(place: impl AsFd) -> Result<Found> {
    Ok(match kind(&place)? {
        FileType::RegularFile => Found::Regular(reopened(place, OFlags::empty())?),
        other => Found::Other(other),
    })
}

/// What kind of file a descriptor stands for.
///
/// # Errors
/// Those of fstat(2).
pub fn kind(place: impl AsFd) -> Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(place)?.st_mode))
}

/// Opens for reading, with these further flags, what a descriptor stands for.
///
/// # Errors
/// As [`at`].
pub fn reopened(place: impl AsFd, flags: OFlags) -> Result<File> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", place.as_fd().as_raw_fd());
    Ok(open(path, flags, Mode::empty())?.into())
}
