// SPDX-License-Identifier: GPL-2.0-only
//! Reading files by names from users and from other files. A user on a command line may name a pipe; a file from
//! elsewhere may name regular files only, for a FIFO would hang its reader and a device has no end (invariant 4).

use crate::place::{self, Found};
use dyntick_model::text::shown;
use rustix::fs::{FileType, SeekFrom, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Seek};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The reason why a named file was not read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file system refused.
    #[error("cannot read {}: {}", shown(path), self.reason())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A device, a FIFO, a socket, a folder, or one of the kernel's own files.
    #[error("cannot read {}: {}", shown(path), self.reason())]
    NotRegular {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: &'static str,
    },
    /// More than such a file ever holds.
    #[error("cannot read {}: {}", shown(path), self.reason())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read, bytes.
        limit: u64,
    },
    /// A text was wanted.
    #[error("cannot read {}: {}", shown(path), self.reason())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A file that is large in name only.
    #[error("cannot read {}: {}", shown(path), self.reason())]
    Hole {
        /// The file.
        path: PathBuf,
    },
}

impl InputError {
    /// The reason, without the path: the caller may know the file by another.
    pub fn reason(&self) -> String {
        match self {
            InputError::Io { source, .. } => source.to_string(),
            InputError::NotRegular { kind, .. } => format!("it is {kind}, but a regular file is required"),
            InputError::TooLarge { limit, .. } => {
                format!("it is larger than {}, the limit for such a file", size(*limit))
            }
            InputError::NotText { .. } => "it is not UTF-8 text".to_owned(),
            InputError::Hole { .. } => {
                "most of it is a hole, unlike any program, kernel or profile".to_owned()
            }
        }
    }
}

/// Opens a regular file that another file names; anything else is not even opened.
///
/// # Errors
/// If it cannot be opened or is no regular file.
pub fn open_regular(path: &Path) -> Result<File, InputError> {
    let path = || path.to_owned();
    match place::at(&path()) {
        Ok(Found::Regular(file)) => Ok(file),
        Ok(Found::Other(kind)) => Err(InputError::NotRegular { path: path(), kind }),
        Err(source) => Err(InputError::Io { path: path(), source }),
    }
}

/// Reads a regular file that another file names, of at most `limit` bytes.
///
/// # Errors
/// If it cannot be read, is no regular file, or is larger.
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    read(open_regular(path)?, path, limit)
}

/// Reads a program or a kernel that another file names, of at most `limit` bytes. A hole would be copied byte by byte.
///
/// # Errors
/// The same as [`read_regular`], or if most of it is a hole.
pub fn read_solid(path: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    read_open(&open_regular(path)?, path, limit)
}

/// Reads a regular file that is open, from its beginning: what was read once by a path may be another file
/// the next time.
///
/// # Errors
/// The same as [`read_solid`].
pub fn read_open(mut file: &File, path: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    ensure_solid(file, path)?;
    file.rewind().map_err(|source| InputError::Io { path: path.to_owned(), source })?;
    read(file, path, limit)
}

/// Refuses a file that is large in name only: an archive of some bytes can have any number of them. What is written as
/// zeros is no hole, nor is what the file system compresses.
///
/// # Errors
/// If less than half of it is data.
pub fn ensure_solid(file: &File, path: &Path) -> Result<(), InputError> {
    const SHARE: u64 = 2;
    const SMALL: u64 = 1 << 20;
    let io = |source| InputError::Io { path: path.to_owned(), source };
    let length = file.metadata().map_err(io)?.len();
    let wanted = length / SHARE;
    if length <= SMALL || has_data(file, wanted).map_err(|error| io(error.into()))? {
        Ok(())
    } else {
        Err(InputError::Hole { path: path.to_owned() })
    }
}

/// True if a file has this many bytes of data, by lseek(2). The position is then the beginning.
fn has_data(file: &File, wanted: u64) -> Result<bool, Errno> {
    let (mut found, mut at) = (0, 0);
    while found < wanted {
        let from = match seek(file, SeekFrom::Data(at)) {
            // There is no more.
            Err(Errno::NXIO) => break,
            from => from?,
        };
        at = seek(file, SeekFrom::Hole(from))?;
        found += at - from;
    }
    seek(file, SeekFrom::Start(0))?;
    Ok(found >= wanted)
}

/// Reads a regular file in an untrusted folder, of at most `limit` bytes, through no symbolic link.
///
/// # Errors
/// If the path leads through a link or out of the folder, it is no regular file, or it is larger.
pub fn read_beneath(folder: &Path, inner: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    let path = folder.join(inner);
    let opened = crate::open_beneath(folder, inner);
    read(opened.map_err(|source| InputError::Io { path: path.clone(), source })?, &path, limit)
}

/// Opens a file that a user named on the command line, which may be a pipe; another user may have put something
/// else there.
///
/// # Errors
/// The errors of open(2), or if it is neither a regular file nor a pipe.
pub fn open_named(path: &Path) -> std::io::Result<File> {
    let place = rustix::fs::open(path, place::PLACE, rustix::fs::Mode::empty())?;
    if place::kind(&place)? == FileType::Fifo {
        return File::open(format!("/proc/self/fd/{}", place.as_raw_fd()));
    }
    match place::of(&place)? {
        Found::Regular(file) => Ok(file),
        Found::Other(kind) => {
            Err(Error::new(ErrorKind::InvalidInput, format!("it is {kind}, but a file is required")))
        }
    }
}

/// Reads a text that a user named on the command line, of at most `limit` bytes; it may be a pipe.
///
/// # Errors
/// If it cannot be read, is larger, or is not UTF-8.
pub fn read_named(path: &Path, limit: u64) -> Result<String, InputError> {
    String::from_utf8(read_named_bytes(path, limit)?)
        .map_err(|_| InputError::NotText { path: path.to_owned() })
}

/// Reads a file that a user named on the command line, as [`read_named`] does, of any bytes.
///
/// # Errors
/// If it cannot be read, or is larger.
pub fn read_named_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    let file = open_named(path).map_err(|source| InputError::Io { path: path.to_owned(), source })?;
    read(file, path, limit)
}

/// Reads a file of the kernel's, as in /proc: names of tasks and control groups need not be UTF-8, and what is not
/// is replaced (U+FFFD).
///
/// # Errors
/// Any of the kernel.
pub fn read_lossy(path: &Path) -> std::io::Result<String> {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn read(file: impl Read, path: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|source| InputError::Io { path: path.to_owned(), source })?;
    if bytes.len() as u64 > limit {
        Err(InputError::TooLarge { path: path.to_owned(), limit })
    } else {
        Ok(bytes)
    }
}

/// A limit in words.
fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mib => format!("{mib} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::Mode;

    #[test]
    fn special_files_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        let told = |path: &Path| read_regular(path, 10).unwrap_err().to_string();
        assert!(told(&fifo).ends_with("it is a FIFO, but a regular file is required"), "{}", told(&fifo));
        assert!(told(Path::new("/dev/zero")).contains("a device"));
        assert!(told(dir.path()).contains("a folder"));
        // To open it would have failed: what is no regular file is not opened.
        let socket = dir.path().join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(told(&socket).contains("it is a socket"), "{}", told(&socket));
    }

    #[test]
    fn sparse_files_are_refused() {
        use std::io::{Seek, Write};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        let mut file = File::create(&path).unwrap();
        file.set_len(4 << 20).unwrap();
        let refused = read_solid(&path, 1 << 30).unwrap_err();
        assert!(matches!(refused, InputError::Hole { .. }), "{refused}");
        // Data in two places, half of it together.
        file.write_all(&[1; 1 << 20]).unwrap();
        file.seek(std::io::SeekFrom::Start(2 << 20)).unwrap();
        file.write_all(&[1; 1 << 20]).unwrap();
        let read = read_solid(&path, 1 << 30).unwrap();
        assert_eq!((read.len(), read[0], read[1 << 20]), (4 << 20, 1, 0));
    }

    #[test]
    fn limits_have_suitable_units() {
        assert_eq!((size(64 << 10), size(16 << 20)), ("64 KiB".to_owned(), "16 MiB".to_owned()));
    }

    #[test]
    fn a_file_is_read_up_to_its_limit_and_a_pipe_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_regular(&path, 10).unwrap(), b"0123456789");
        assert!(matches!(read_regular(&path, 9), Err(InputError::TooLarge { .. })));
        assert_eq!(read_named(&path, 10).unwrap(), "0123456789");
        let device = read_named(Path::new("/dev/zero"), 1000).unwrap_err().to_string();
        assert!(device.ends_with("it is a device, but a file is required"), "{device}");
        let (read, write) = rustix::pipe::pipe().unwrap();
        rustix::io::write(&write, b"0123456789").unwrap();
        drop(write);
        let pipe = PathBuf::from(format!("/dev/fd/{}", read.as_raw_fd()));
        assert_eq!(read_named(&pipe, 10).unwrap(), "0123456789");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(read_named(&path, 10), Err(InputError::NotText { .. })));
    }
}
