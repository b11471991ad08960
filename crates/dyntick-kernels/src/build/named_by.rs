// SPDX-License-Identifier: GPL-2.0-only
//! Who named the files that a kernel is built from, and so which of them are read. What a build reads it may
//! print, and a kernel hold: who wrote a study or a run is to have nothing that is its reader's alone.

use super::BuildError;
use dyntick_system::{InputError, NotShared, is_readable_by_all, shared};
use std::path::{Path, PathBuf};

/// Who named them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedBy {
    /// Nobody knows: only what every user may read is read.
    #[default]
    Unknown,
    /// A file in this folder, whose own closed folders are no secret of its reader's: by its real path when
    /// that file was read, for somebody else's may stand at another path by now.
    FileIn(PathBuf),
    /// The user, who typed them.
    User,
}

impl NamedBy {
    /// A file in this folder, where that is there.
    pub fn file_in(folder: &Path) -> Self {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        folder.canonicalize().map_or(NamedBy::Unknown, NamedBy::FileIn)
    }

    /// Asks a file or folder by its own mode alone, for the folders that lead to it have been asked.
    ///
    /// # Errors
    /// Where other users may not read it.
    pub fn ask(&self, path: &Path) -> Result<(), BuildError> {
        match *self == NamedBy::User || is_readable_by_all(path) {
            true => Ok(()),
            false => Err(BuildError::Closed(path.to_owned())),
        }
    }

    /// The path by which what is named is read, at the moment when it is read: the real one, where not the
    /// user named it.
    ///
    /// # Errors
    /// Where nothing is there, or other users may not read it.
    pub fn place(&self, path: &Path) -> Result<PathBuf, BuildError> {
        let from = match self {
            NamedBy::User => return Ok(path.to_owned()),
            NamedBy::Unknown => None,
            NamedBy::FileIn(folder) => Some(folder.as_path()),
        };
        shared(from, path).map_err(|error| match error {
            NotShared::Missing => {
                let source = std::io::Error::from(rustix::io::Errno::NOENT);
                InputError::Io { path: path.to_owned(), source }.into()
            }
            NotShared::Closed(place) => BuildError::Closed(place),
        })
    }
}
