// SPDX-License-Identifier: GPL-2.0-only
//! Who named the files that a kernel is built from, and so which of them are read. What a build reads it may
//! print, and a kernel hold: who wrote a study or a run is to have nothing that is its reader's alone.

use super::BuildError;
use dyntick_system::{
    InputError, NotShared, is_callers, is_readable_by_all, is_trusted, others_may_write, shared,
};
use rustix::process::geteuid;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Who named them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedBy {
    /// Nobody knows: only what every user may read is read.
    #[default]
    Unknown,
    /// A file that another user may have sent.
    File(Named),
    /// The user, who typed them.
    User,
}

/// By a file of another's, or perhaps of another's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The folder that it is in, whose own closed folders are no secret of its reader's: by its real path when
    /// that file was read, for another user's may stand at another path by now.
    folder: PathBuf,
    /// Who alone can have put it there, where that is this user.
    owner: Option<u32>,
}

impl NamedBy {
    /// A file in this folder, where that is there.
    pub fn file_in(folder: &Path) -> Self {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let real = folder.canonicalize();
        real.map_or(NamedBy::Unknown, |folder| NamedBy::File(Named { folder, owner: None }))
    }

    /// This file, as a study. Who can write one of this user's runs programs as this user, so it may name kernel
    /// sources of this user's that no other may read.
    pub fn file(path: &Path) -> Self {
        match Self::file_in(path.parent().unwrap_or(Path::new(""))) {
            NamedBy::File(named) => NamedBy::File(Named { owner: own(path), ..named }),
            other => other,
        }
    }

    /// Asks a file or folder of a source by its own mode and owner alone, for the folders that lead to it have been
    /// asked.
    ///
    /// # Errors
    /// Where other users may not read it.
    pub fn ask(&self, path: &Path) -> Result<(), BuildError> {
        let is_own = || path.symlink_metadata().is_ok_and(|found| self.owns(found.uid()));
        match *self == NamedBy::User || is_readable_by_all(path) || is_own() {
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
            NamedBy::File(named) => Some(named.folder.as_path()),
        };
        shared(from, path).map_err(|error| match error {
            NotShared::Missing => {
                let source = std::io::Error::from(rustix::io::Errno::NOENT);
                InputError::Io { path: path.to_owned(), source }.into()
            }
            NotShared::Closed(place) => BuildError::Closed(place),
        })
    }

    /// The same of a kernel's source, which may also be this user's own where a file of this user's names it.
    ///
    /// # Errors
    /// As [`NamedBy::place`].
    pub fn place_of_source(&self, path: &Path) -> Result<PathBuf, BuildError> {
        self.place(path).or_else(|error| {
            let own = || path.canonicalize().ok().filter(|real| self.owns_all(real));
            own().filter(|_| matches!(error, BuildError::Closed(_))).ok_or(error)
        })
    }

    fn owns(&self, uid: u32) -> bool {
        matches!(self, NamedBy::File(Named { owner: Some(owner), .. }) if *owner == uid)
    }

    /// Whether what stands at a real path, and each closed folder on the way, is of who wrote the file.
    fn owns_all(&self, real: &Path) -> bool {
        let is_own = |place: &Path| place.symlink_metadata().is_ok_and(|found| self.owns(found.uid()));
        is_own(real) && real.ancestors().all(|place| is_readable_by_all(place) || is_own(place))
    }
}

/// The owner of a file, where that is this user, or the one who called sudo, and no other can write the file or move
/// it.
fn own(file: &Path) -> Option<u32> {
    let real = file.canonicalize().ok()?;
    let owner = real.symlink_metadata().ok()?.uid();
    let is_own = owner == geteuid().as_raw() || is_callers(owner);
    let stays = |place: &Path| {
        const STICKY: u32 = 0o1000;
        let Ok(found) = place.symlink_metadata() else { return false };
        let is_ours = found.uid() == owner || is_trusted(found.uid());
        is_ours && (!others_may_write(place, &found) || found.is_dir() && found.mode() & STICKY != 0)
    };
    (is_own && real.ancestors().all(stays)).then_some(owner)
}
