// SPDX-License-Identifier: GPL-2.0-only
//! Reading files that somebody named. A user on a command line may name a pipe; a file that came by
//! mail may name regular files only, for a FIFO would hang its reader and a device has no end.

use rustix::fs::{Mode, OFlags};
use std::fs::{File, FileType};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a named file was not read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file system refused.
    #[error("cannot read {path}: {}", self.reason())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A device, a FIFO, a socket or a folder.
    #[error("cannot read {path}: {}", self.reason())]
    NotRegular {
        /// The file.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// More than such a file ever holds.
    #[error("cannot read {path}: {}", self.reason())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read, bytes.
        limit: u64,
    },
    /// A text was wanted.
    #[error("cannot read {path}: {}", self.reason())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A file that is large in name only.
    #[error("cannot read {path}: {}", self.reason())]
    Hole {
        /// The file.
        path: PathBuf,
    },
}

impl InputError {
    /// Why, without the path: the caller may know the file by another.
    pub fn reason(&self) -> String {
        match self {
            InputError::Io { source, .. } => source.to_string(),
            InputError::NotRegular { kind, .. } => format!("it is {kind}, and a regular file is wanted"),
            InputError::TooLarge { limit, .. } => {
                format!("it has more than {}, the most that is read of such a file", size(*limit))
            }
            InputError::NotText { .. } => "it is not UTF-8 text".to_owned(),
            InputError::Hole { .. } => {
                "nearly all of it is a hole, so that it is neither a program nor a kernel".to_owned()
            }
        }
    }
}

/// Opens a regular file that another file names, without waiting for a FIFO's writer.
///
/// # Errors
/// Where it cannot be opened or is no regular file.
pub fn open_regular(path: &Path) -> Result<File, InputError> {
    let io = |source| InputError::Io { path: path.to_owned(), source };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(|error| io(error.into()))?);
    let kind = file.metadata().map_err(io)?.file_type();
    match kind.is_file() {
        true => Ok(file),
        false => Err(InputError::NotRegular { path: path.to_owned(), kind: name_of(kind) }),
    }
}

/// Reads a regular file that another file names, of at most `limit` bytes.
///
/// # Errors
/// Where it cannot be read, is no regular file, or is larger.
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    read(open_regular(path)?, path, limit)
}

/// Reads a program or a kernel that another file names, of at most `limit` bytes. One with all its debug information
/// shrinks to a fourth where the file system compresses it; a hole would be copied byte by byte.
///
/// # Errors
/// As [`read_regular`], and where the file takes far less of its disk than it has bytes.
pub fn read_solid(path: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    const SHRINKS: u64 = 16;
    const BLOCK: u64 = 512;
    let file = open_regular(path)?;
    let found = file.metadata().map_err(|source| InputError::Io { path: path.to_owned(), source })?;
    if found.len() > 1 << 20 && found.blocks() * BLOCK < found.len() / SHRINKS {
        return Err(InputError::Hole { path: path.to_owned() });
    }
    read(file, path, limit)
}

/// Reads a regular file in a folder that somebody else filled, of at most `limit` bytes, through no symbolic link.
///
/// # Errors
/// Where the path leads through a link or out of the folder, it is no regular file, or it is larger.
pub fn read_beneath(folder: &Path, inner: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    let path = folder.join(inner);
    let opened = crate::open_beneath(folder, inner);
    read(opened.map_err(|source| InputError::Io { path: path.clone(), source })?, &path, limit)
}

/// Reads a text that a user named on the command line, of at most `limit` bytes; it may be a pipe.
///
/// # Errors
/// Where it cannot be read, is larger, or is not UTF-8.
pub fn read_named(path: &Path, limit: u64) -> Result<String, InputError> {
    let file = File::open(path).map_err(|source| InputError::Io { path: path.to_owned(), source })?;
    String::from_utf8(read(file, path, limit)?).map_err(|_| InputError::NotText { path: path.to_owned() })
}

/// Reads a file of the kernel's, as in /proc: names of tasks and control groups need not be UTF-8, and what is not
/// is replaced (U+FFFD).
///
/// # Errors
/// Whatever the kernel says.
pub fn read_lossy(path: &Path) -> std::io::Result<String> {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn read(file: File, path: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|source| InputError::Io { path: path.to_owned(), source })?;
    match bytes.len() as u64 > limit {
        true => Err(InputError::TooLarge { path: path.to_owned(), limit }),
        false => Ok(bytes),
    }
}

/// A limit in words.
fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mib => format!("{mib} MiB"),
    }
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "no regular file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_files_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        let told = |path: &Path| read_regular(path, 10).unwrap_err().to_string();
        assert!(told(&fifo).ends_with("it is a FIFO, and a regular file is wanted"), "{}", told(&fifo));
        assert!(told(Path::new("/dev/zero")).contains("a device"));
        assert!(told(dir.path()).contains("a folder"));
    }

    #[test]
    fn a_limit_is_told_in_the_unit_that_it_has() {
        assert_eq!((size(64 << 10), size(16 << 20)), ("64 KiB".to_owned(), "16 MiB".to_owned()));
    }

    #[test]
    fn a_file_is_read_up_to_its_limit_and_a_device_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_regular(&path, 10).unwrap(), b"0123456789");
        assert!(matches!(read_regular(&path, 9), Err(InputError::TooLarge { .. })));
        assert_eq!(read_named(&path, 10).unwrap(), "0123456789");
        assert!(matches!(read_named(Path::new("/dev/zero"), 1000), Err(InputError::TooLarge { .. })));
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(read_named(&path, 10), Err(InputError::NotText { .. })));
    }
}
