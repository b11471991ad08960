// SPDX-License-Identifier: GPL-2.0-only
//! The folder that the runs and the report of a study are written to.

use dyntick_system::confine::ensure_outside_system;
use dyntick_system::{chmod, is_callers, is_sticky, is_trusted, make_folders, others_may_write};
use rustix::fs::Access;
use std::fs::{Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The folder of all results that are given no name.
const DEFAULT: &str = "out";

/// The reason for which runs are not written to a folder.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Its place or its owner, with the remedy.
    #[error("{0}")]
    Unfit(String),
    /// A file operation.
    #[error("{what}")]
    Io {
        /// The operation, with the remedy.
        what: String,
        /// The error.
        source: io::Error,
    },
}

/// The folders of the runs and the report.
pub struct Place {
    folder: PathBuf,
    is_typed: bool,
}

impl Place {
    /// The folder that was typed, or that of this study.
    pub fn of(typed: Option<&Path>, study: &str) -> Self {
        let folder = typed.map_or_else(|| Path::new(DEFAULT).join(study), Path::to_owned);
        Self { folder, is_typed: typed.is_some() }
    }

    /// The folder of the report.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the runs.
    pub fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    /// Refuses a folder that could not be written, before anything is fetched, built or booted for it; and one into
    /// which another user has put something that leads elsewhere.
    pub(crate) fn ensure_usable(&self) -> Result<(), PlaceError> {
        ensure_outside_system(&self.folder).map_err(|error| unfit(format!("{error}: {OTHERWISE}")))?;
        self.ensure_unmoved()?;
        for folder in [&self.folder, &self.runs()] {
            ensure_writable(folder)?;
        }
        Ok(())
    }

    /// Makes the folder of the runs. Other users may not enter it: what a study names, and what its kernels print, is
    /// in its runs.
    pub(crate) fn make_runs(&self) -> Result<PathBuf, PlaceError> {
        let runs = self.runs();
        // Before, so that no folder is made through a link, and after, when other users can put none there.
        self.ensure_unmoved()?;
        make_folders(&runs).map_err(failed(format!("cannot make {}: {OTHERWISE}", runs.display())))?;
        self.ensure_unmoved()?;
        shut(&runs)
            .map_err(failed(format!("cannot close {} to other users: {OTHERWISE}", runs.display())))?;
        Ok(runs)
    }

    /// Refuses symbolic links of other users, runs of other users, and folders that every user may write.
    fn ensure_unmoved(&self) -> Result<(), PlaceError> {
        let runs = self.runs();
        let above = Some(Path::new(DEFAULT)).filter(|_| !self.is_typed);
        for folder in above.into_iter().chain([&*self.folder, &runs]) {
            let Ok(found) = folder.symlink_metadata() else { continue };
            if found.is_symlink() {
                ensure_own_link(folder, &found)?;
            }
            let Ok(found) = folder.metadata() else { continue };
            if folder == runs && !is_ours(found.uid()) {
                return Err(unfit(format!(
                    "{} belongs to user {}, and so would all runs in it: {OTHERWISE}",
                    folder.display(),
                    found.uid()
                )));
            }
            ensure_not_everybodys(folder, &found)?;
        }
        self.above().into_iter().try_for_each(|(folder, found)| ensure_not_everybodys(&folder, &found))
    }

    /// The folders above those of a name that was not typed.
    fn above(&self) -> Vec<(PathBuf, Metadata)> {
        let there = |folder: &Path| Some((folder.to_owned(), folder.metadata().ok()?));
        match std::path::absolute(&self.folder) {
            Ok(whole) if !self.is_typed => whole.ancestors().filter_map(there).collect(),
            _ => Vec::new(),
        }
    }

    /// A note about the first other user who could move what is written while the guests run.
    pub(crate) fn note_of_owners(&self) -> Option<String> {
        let own = || Some((self.folder.clone(), self.folder.metadata().ok()?));
        for (folder, found) in own().into_iter().chain(self.above()) {
            let who = match is_ours(found.uid()) {
                false => format!("belongs to user {}", found.uid()),
                true if is_sticky(&found) || !others_may_write(&folder, &found) => continue,
                true => format!("may be written by group {}", found.gid()),
            };
            let folder = folder.display();
            return Some(format!("{folder} {who}, who could move what is written while the guests run"));
        }
        None
    }
}

/// The end of each refusal.
const OTHERWISE: &str = "name a folder of your own with --out DIR";

fn unfit(why: String) -> PlaceError {
    PlaceError::Unfit(why)
}

fn failed(what: String) -> impl FnOnce(io::Error) -> PlaceError {
    |source| PlaceError::Io { what, source }
}

fn is_ours(uid: u32) -> bool {
    is_trusted(uid) || is_callers(uid)
}

/// A link of this user's, or of root's, is a wish, as for a larger disk.
fn ensure_own_link(link: &Path, found: &Metadata) -> Result<(), PlaceError> {
    let name = link.display();
    if !is_ours(found.uid()) {
        let why = format!(
            "{name} is a symbolic link of user {}, who decides where it leads: {OTHERWISE}",
            found.uid()
        );
        return Err(unfit(why));
    }
    if !link.exists() {
        let target = std::fs::read_link(link).unwrap_or_default();
        return Err(unfit(format!(
            "{name} is a symbolic link to {}, which is not there: make that folder, or remove the link",
            target.display()
        )));
    }
    Ok(())
}

fn ensure_not_everybodys(folder: &Path, found: &Metadata) -> Result<(), PlaceError> {
    const WORLD: u32 = 0o002;
    if found.mode() & WORLD == 0 || is_sticky(found) {
        return Ok(());
    }
    let close = chmod("o-w", folder).map_or(String::new(), |close| format!("{close}, or "));
    let folder = folder.display();
    Err(unfit(format!(
        "{folder} may be written by all users, who could move what is written while the guests run: {close}{OTHERWISE}"
    )))
}

/// Refuses a folder in which this process could write nothing, or in whose nearest folder above it could make none.
fn ensure_writable(folder: &Path) -> Result<(), PlaceError> {
    let whole = std::path::absolute(folder).map_err(failed(format!("cannot find {}", folder.display())))?;
    let Some(there) = whole.ancestors().find(|above| above.symlink_metadata().is_ok()) else { return Ok(()) };
    let refused = |why: String| unfit(format!("cannot write {}: {why}: {OTHERWISE}", there.display()));
    if !there.is_dir() {
        return Err(refused("it is not a folder".to_owned()));
    }
    rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| refused(io::Error::from(error).to_string()))
}

fn shut(folder: &Path) -> io::Result<()> {
    match folder.metadata()?.mode() & 0o077 {
        0 => Ok(()),
        _ => std::fs::set_permissions(folder, Permissions::from_mode(0o700)),
    }
}
