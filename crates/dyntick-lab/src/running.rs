// SPDX-License-Identifier: GPL-2.0-only
//! Folders of runs in progress, each locked by its process.

use dyntick_kernels::cache::CacheError;
use dyntick_kernels::remove::remove_tree;
use dyntick_system::locked;
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = ".running-";

/// A folder that is removed when this is dropped, and by the next dyntick where this one is killed.
pub struct RunningFolder {
    folder: TempDir,
    _lock: File,
}

impl RunningFolder {
    /// Makes one in `place`.
    pub fn new(place: &Path) -> Result<Self, CacheError> {
        let made = || {
            std::fs::create_dir_all(place)?;
            /// Another process that may open the folder could hold its lock each time.
            const TRIES: u32 = 100;
            for _ in 0..TRIES {
                // QEMU writes there from behind walls, which take real paths only.
                let folder = tempfile::Builder::new()
                    .prefix(PREFIX)
                    .permissions(Permissions::from_mode(0o755))
                    .tempdir_in(place.canonicalize()?)?;
                // Another dyntick may have taken it for abandoned before the lock was held.
                match locked(folder.path()).map(File::from) {
                    Ok(lock) if is_at(&lock, folder.path()) => return Ok(Self { folder, _lock: lock }),
                    Ok(_) | Err(Errno::WOULDBLOCK | Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            Err(std::io::Error::other("another process locks each new folder"))
        };
        made().map_err(|error: std::io::Error| CacheError::from_io(place, error))
    }

    /// The path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives it its final name.
    pub fn rename(self, place: &Path) -> Result<PathBuf, CacheError> {
        std::fs::rename(self.path(), place).map_err(|error| CacheError::from_io(place, error))?;
        let _ = self.folder.keep();
        Ok(place.to_owned())
    }
}

/// Removes the folders whose process is gone; nothing in them is complete.
pub fn remove_abandoned(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // The lock is held until all is gone, so that its maker sees it go.
            if let Ok(_lock) = locked(&entry.path()) {
                let _ = remove_tree(&entry.path());
            }
        }
    }
}

fn is_at(lock: &File, path: &Path) -> bool {
    let same = |a: std::fs::Metadata, b: std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    lock.metadata().is_ok_and(|held| path.symlink_metadata().is_ok_and(|named| same(held, named)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_run_stays_and_an_abandoned_one_goes() {
        let place = tempfile::tempdir().unwrap();
        let living = RunningFolder::new(place.path()).unwrap();
        let abandoned = place.path().join(".running-1");
        std::fs::create_dir(&abandoned).unwrap();
        std::fs::write(abandoned.join("console.log"), "half").unwrap();
        let other = place.path().join("a.0.123456789abc");
        std::fs::create_dir(&other).unwrap();
        remove_abandoned(place.path());
        assert!(living.path().exists() && other.exists() && !abandoned.exists());

        let kept = living.rename(&place.path().join("b")).unwrap();
        remove_abandoned(place.path());
        assert!(kept.exists());
        drop(RunningFolder::new(place.path()).unwrap());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_link_is_not_followed() {
        let (place, precious) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(precious.path().join("file"), "x").unwrap();
        std::os::unix::fs::symlink(precious.path(), place.path().join(".running-2")).unwrap();
        remove_abandoned(place.path());
        assert!(precious.path().join("file").exists());
    }
}
