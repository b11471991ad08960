// SPDX-License-Identifier: GPL-2.0-only
//! A record as one file.

use crate::stored::{self, Stored};
use crate::trouble::Trouble;
use crate::{Record, Trace};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

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
    /// A record of another version of dyntick.
    #[error(
        "{path} has format {version}, but this dyntick reads format {}: use the dyntick version that \
         recorded it",
        stored::VERSION
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: String,
    },
    /// A file that is compressed with gzip.
    #[error(
        "cannot read {path}: it is compressed with gzip, as records of format 1 were, but this dyntick reads \
         format {}: record again",
        stored::VERSION
    )]
    Gzip {
        /// The file.
        path: PathBuf,
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
        Self::stored(file).map_err(|trouble| trouble.at(path))
    }

    /// Reads it from its bytes, as out of a pipe; `path` is for messages. They are copied into a file without a name.
    ///
    /// # Errors
    /// As [`Record::open`].
    pub fn read_from(mut source: impl Read, path: &Path) -> Result<Self, FileError> {
        let io = |source: std::io::Error| FileError::Io { what: "read", path: path.to_owned(), source };
        let mut file = dyntick_system::unnamed_in(&std::env::temp_dir()).map_err(io)?;
        std::io::copy(&mut source, &mut file).map_err(io)?;
        Self::stored(file).map_err(|trouble| trouble.at(path))
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
            Trouble::Gzip => FileError::Gzip { path },
        }
    }
}
