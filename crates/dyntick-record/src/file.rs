// SPDX-License-Identifier: GPL-2.0-only
//! A record as one file.

use crate::foreign::{self, Refused};
use crate::stored::{self, Stored};
use crate::trouble::Trouble;
use crate::{Record, Trace};
use dyntick_import::ImportError;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// An error of keeping or reading a record.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read or written.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// The failed operation.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause of the failure.
        source: std::io::Error,
    },
    /// A file that is not a record.
    #[error(
        "{0} is not a record of `dyntick record`, and no trace of a known tool (trace.dat, perf.data, or the text of \
         tracefs, trace-cmd report or perf script)"
    )]
    Foreign(PathBuf),
    /// A trace of another tool that cannot be read.
    #[error("cannot read {path}: {source}")]
    Import {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ImportError,
    },
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
    /// A record that was truncated or changed.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The evidence of the damage.
        reason: String,
    },
}

impl Record {
    /// Keeps the record under the name that a user gave. A regular file appears complete and replaces one of the same
    /// name; a device or a pipe is written into; `-` is standard output.
    ///
    /// # Errors
    /// A failed write, or a record that was not recorded here.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        self.keep(path, dyntick_system::keep_private)
    }

    /// Keeps the record under a generated name, which a link or another user's file may already have.
    ///
    /// # Errors
    /// The errors of [`Record::save`].
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

    /// Opens a record in a file. Its trace is not read before it is explained; that of another tool is read into a
    /// temporary file.
    ///
    /// # Errors
    /// A file that cannot be read, is not a record, is damaged, or has another format.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let io = |source: std::io::Error| FileError::Io { what: "open", path: path.to_owned(), source };
        let file = dyntick_system::open_named(path).map_err(io)?;
        if !file.metadata().map_err(io)?.is_file() {
            return Self::read_from(file, path);
        }
        Self::of_any_tool(file, path)
    }

    /// Opens a record, or the trace of another tool.
    fn of_any_tool(file: File, path: &Path) -> Result<Self, FileError> {
        let own = |path: &Path| path.to_owned();
        match foreign::read(&file) {
            Ok(Some(record)) => Ok(record),
            Ok(None) => Self::stored(file).map_err(|trouble| trouble.at(path)),
            Err(Refused::Io(what, source)) => Err(FileError::Io { what, path: own(path), source }),
            Err(Refused::Import(source)) => Err(FileError::Import { path: own(path), source }),
            Err(Refused::Record(trouble)) => Err(trouble.at(path)),
        }
    }

    /// Reads a record from its bytes, e.g. from a pipe, through an unnamed file. `path` is for messages.
    ///
    /// # Errors
    /// The errors of [`Record::open`].
    pub fn read_from(mut source: impl Read, path: &Path) -> Result<Self, FileError> {
        let io = |source: std::io::Error| FileError::Io { what: "read", path: path.to_owned(), source };
        let mut file = dyntick_system::unnamed_in(&std::env::temp_dir()).map_err(io)?;
        std::io::copy(&mut source, &mut file).map_err(io)?;
        Self::of_any_tool(file, path)
    }

    /// Opens a record whose trace stays in the file.
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
