// SPDX-License-Identifier: GPL-2.0-only
//! A record as one file, whichever format it has.

use crate::stored::{self, Stored};
use crate::trouble::Trouble;
use crate::{Record, Trace, format1};
use std::fs::File;
use std::io::{Cursor, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// With what gzip begins, and so records of format 1.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why a record could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read or written.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something else than a record.
    #[error("{0} is not a record of `dyntick record`")]
    Foreign(PathBuf),
    /// A record of a newer dyntick.
    #[error(
        "{path} has format {version}, but this dyntick reads {} and older: use the dyntick version that \
         recorded it",
        stored::VERSION
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: String,
    },
    /// A record that was cut short or changed.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How that was seen.
        reason: String,
    },
}

impl Record {
    /// Keeps it under the name that a user gave: a regular file appears when it is complete and replaces one of the
    /// same name, a device or a pipe is written into, `-` is standard output.
    ///
    /// # Errors
    /// Where it cannot be written, or was not recorded here.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        self.keep(path, dyntick_system::keep_private)
    }

    /// Keeps it under a name that nobody typed, which a link or another user's file may have.
    ///
    /// # Errors
    /// As [`Record::save`].
    pub fn save_unasked(&self, path: &Path) -> Result<(), FileError> {
        self.keep(path, dyntick_system::keep_unasked)
    }

    fn keep(
        &self,
        path: &Path,
        keep: impl FnOnce(&Path, &File) -> std::io::Result<()>,
    ) -> Result<(), FileError> {
        let io = |source: std::io::Error| FileError::Io { what: "write", path: path.to_owned(), source };
        let file =
            self.trace.file().ok_or_else(|| io(std::io::Error::other("it was not recorded into a file")))?;
        keep(path, file).map_err(io)
    }

    /// Reads it from a file, of which the trace stays where it is until it is explained.
    ///
    /// # Errors
    /// Where it cannot be read, is no record, is damaged, or is of another format.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let io = |source: std::io::Error| FileError::Io { what: "open", path: path.to_owned(), source };
        let file = dyntick_system::open_named(path).map_err(io)?;
        if !file.metadata().map_err(io)?.is_file() {
            return Self::read_from(file, path);
        }
        let mut begin = [0; 2];
        let read = file.read_at(&mut begin, 0).map_err(io)?;
        let record = match begin[..read] == GZIP {
            true => format1::read(file),
            false => Self::stored(file),
        };
        record.map_err(|trouble| trouble.at(path))
    }

    /// Reads it from its bytes, as out of a pipe; `path` is for messages. They are copied into a file without a name.
    ///
    /// # Errors
    /// As [`Record::open`].
    pub fn read_from(mut source: impl Read, path: &Path) -> Result<Self, FileError> {
        let io = |source: std::io::Error| FileError::Io { what: "read", path: path.to_owned(), source };
        let mut begin = Vec::new();
        source.by_ref().take(GZIP.len() as u64).read_to_end(&mut begin).map_err(io)?;
        let is_old = begin == GZIP;
        let mut source = Cursor::new(begin).chain(source);
        let record = match is_old {
            true => format1::read(source),
            false => {
                let mut file = dyntick_system::unnamed_in(&std::env::temp_dir()).map_err(io)?;
                std::io::copy(&mut source, &mut file).map_err(io)?;
                Self::stored(file)
            }
        };
        record.map_err(|trouble| trouble.at(path))
    }

    /// A record in its own format, of which the trace stays in the file.
    pub(crate) fn stored(file: File) -> Result<Self, Trouble> {
        let (about, metadata, stored) = Stored::open(file)?;
        Ok(Self { about, trace: Trace::stored(metadata, stored) })
    }
}

impl Trouble {
    pub fn at(self, path: &Path) -> FileError {
        let path = path.to_owned();
        match self {
            Trouble::Foreign => FileError::Foreign(path),
            Trouble::Damaged(reason) => FileError::Damaged { path, reason },
            Trouble::Version(version) => FileError::Version { path, version },
        }
    }
}
