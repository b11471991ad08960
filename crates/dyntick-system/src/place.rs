// SPDX-License-Identifier: GPL-2.0-only
//! The file at a path, judged before it is opened: to open a device has an effect. A
//! watchdog starts and resets the machine, a tape is rewound, whatever the flags are. So it is with the
//! kernel's own files, which look regular: to close tracefs's `free_buffer` throws the trace away, to read
//! `/proc/kmsg` takes from the log.

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, StatFs, fstat, fstatfs, open, openat2};
use std::fs::File;
use std::io::Result;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// The flags that find a file without opening it (`O_PATH` of open(2)).
pub const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The file at an untrusted path.
pub enum Found {
    /// A regular file, open for reading.
    Regular(File),
    /// Anything else, which was not opened: what it is.
    Other(&'static str),
}

/// Finds the file at a path; a symbolic link is followed, but none of /proc that leads into another process:
/// there the path of one's own file may be that of another.
///
/// # Errors
/// The errors of openat2(2), as ELOOP at such a link, or EAGAIN where another user has leased the file.
pub fn at(path: &Path) -> Result<Found> {
    of(openat2(CWD, path, PLACE, Mode::empty(), ResolveFlags::NO_MAGICLINKS)?)
}

/// Finds the file of a descriptor that was opened with [`PLACE`].
///
/// # Errors
/// The same as [`at`].
pub fn of(place: impl AsFd) -> Result<Found> {
    Ok(match kind(&place)? {
        FileType::RegularFile if is_kernels(&fstatfs(&place)?) => {
            Found::Other("a pseudo file of the kernel, as in /proc and /sys")
        }
        FileType::RegularFile => Found::Regular(reopened(place, OFlags::empty())?),
        FileType::Directory => Found::Other("a folder"),
        FileType::Fifo => Found::Other("a FIFO"),
        FileType::Socket => Found::Other("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Found::Other("a device"),
        _ => Found::Other("of an unknown type"),
    })
}

/// True if a file system's files are made by the kernel as they are read: such a one has no room at all
/// (`simple_statfs` of fs/libfs.c). So have those that are in memory without a limit, and what FUSE and 9p do
/// not say.
fn is_kernels(found: &StatFs) -> bool {
    const EFIVARFS: u32 = 0xde5e_81e4;
    const TMPFS: u32 = 0x0102_1994;
    const RAMFS: u32 = 0x8584_58f6;
    const FUSE: u32 = 0x6573_5546;
    const V9FS: u32 = 0x0102_1997;
    // The kernel's magic numbers have 32 bits.
    let magic = found.f_type as u32;
    magic == EFIVARFS || (found.f_blocks == 0 && ![TMPFS, RAMFS, FUSE, V9FS].contains(&magic))
}

/// The kind of a descriptor's file.
///
/// # Errors
/// The errors of fstat(2).
pub fn kind(place: impl AsFd) -> Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(place)?.st_mode))
}

/// Opens the file of a descriptor for reading, with these further flags.
///
/// # Errors
/// The same as [`at`].
pub fn reopened(place: impl AsFd, flags: OFlags) -> Result<File> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", place.as_fd().as_raw_fd());
    Ok(open(path, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_into_other_processes_are_refused() {
        let path = format!("/proc/self/root{}", std::env::current_exe().unwrap().display());
        assert_eq!(at(Path::new(&path)).err().unwrap().raw_os_error(), Some(libc::ELOOP));
    }

    #[test]
    fn pseudo_files_are_not_opened() {
        for path in ["/proc/self/status", "/proc/sys/kernel/osrelease", "/sys/kernel/notes"] {
            if !Path::new(path).exists() {
                continue;
            }
            let Found::Other(kind) = at(Path::new(path)).unwrap() else { panic!("{path} was opened") };
            assert!(kind.starts_with("a pseudo file"), "{kind}");
        }
        assert!(matches!(at(&std::env::current_exe().unwrap()).unwrap(), Found::Regular(_)));
    }
}
