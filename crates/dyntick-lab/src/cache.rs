// SPDX-License-Identifier: GPL-2.0-only
//! The user's cache: kernels, QEMU, images. Entries are whole or absent.

use std::fs::File;
use std::path::{Path, PathBuf};

/// The cache folder.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// No folder can be derived.
    #[error("there is no folder for the cache: set DYNTICK_CACHE, XDG_CACHE_HOME or HOME")]
    NoFolder,
    /// The disk is full.
    #[error(
        "the disk that holds {path} is full ({free_mib} MiB free): make room, or set DYNTICK_CACHE to a folder elsewhere"
    )]
    DiskFull {
        /// What was being written.
        path: PathBuf,
        /// What is left.
        free_mib: u64,
    },
    /// A file operation failed.
    #[error("cannot write {path}: {source}")]
    Io {
        /// What was being written.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl CacheError {
    /// From a failed file operation; a full disk is told as such.
    pub fn from_io(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                CacheError::DiskFull { path: path.to_owned(), free_mib: free_bytes(path) >> 20 }
            }
            _ => CacheError::Io { path: path.to_owned(), source },
        }
    }
}

/// Free space on the disk that holds `path` or its nearest existing parent, bytes.
pub fn free_bytes(path: &Path) -> u64 {
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    rustix::fs::statvfs(existing).map(|space| space.f_bavail * space.f_frsize).unwrap_or(0)
}

impl Cache {
    /// `$DYNTICK_CACHE`, else `$XDG_CACHE_HOME/dyntick`, else `~/.cache/dyntick`.
    pub fn of_user() -> Result<Self, CacheError> {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let root = variable("DYNTICK_CACHE")
            .or_else(|| variable("XDG_CACHE_HOME").map(|dir| dir.join("dyntick")))
            .or_else(|| variable("HOME").map(|dir| dir.join(".cache/dyntick")));
        Ok(Self::at(root.ok_or(CacheError::NoFolder)?))
    }

    /// At a folder of one's own.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where an entry stands or would stand.
    pub fn path(&self, entry: &str) -> PathBuf {
        self.root.join(entry)
    }

    /// The cache's own folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of this entry, made by `make` if it is not there yet. `make` fills an empty
    /// folder beside it, which then takes the entry's name; a second process waits for the first.
    pub fn folder<E: From<CacheError>>(
        &self,
        entry: &str,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let place = self.path(entry);
        if place.exists() {
            return Ok(place);
        }
        let _lock = self.lock(entry)?;
        if !place.exists() {
            let parent = place.parent().unwrap_or(&self.root);
            let fresh = tempfile::Builder::new()
                .prefix(".new-")
                .tempdir_in(parent)
                .map_err(|error| CacheError::from_io(&place, error))?;
            make(fresh.path())?;
            std::fs::rename(fresh.keep(), &place).map_err(|error| CacheError::from_io(&place, error))?;
        }
        Ok(place)
    }

    /// Holds an entry for this process until the result is dropped.
    pub fn lock(&self, entry: &str) -> Result<File, CacheError> {
        let path = self.root.join(format!("{entry}.lock"));
        let held = || {
            std::fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
            let file = File::create(&path)?;
            rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
            Ok(file)
        };
        held().map_err(|error: std::io::Error| CacheError::from_io(&path, error))
    }
}

/// Writes a file so that it is whole under its name or not there at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CacheError> {
    let write = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, bytes)?;
        // A temporary file is private; what it becomes is as readable as any other.
        rustix::fs::fchmod(&file, rustix::fs::Mode::from_raw_mode(0o644))?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error: std::io::Error| CacheError::from_io(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_made_once_and_never_half() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let fail = |fresh: &Path| {
            std::fs::write(fresh.join("half"), "x").unwrap();
            Err(CacheError::NoFolder)
        };
        assert!(cache.folder("kernels/a", fail).is_err());
        assert!(!cache.path("kernels/a").exists(), "a failed entry leaves nothing");

        let make = |fresh: &Path| {
            std::fs::write(fresh.join("whole"), "x").map_err(|e| CacheError::from_io(fresh, e))
        };
        let place = cache.folder("kernels/a", make).unwrap();
        assert!(place.join("whole").exists());
        let never = |_: &Path| -> Result<(), CacheError> { panic!("made twice") };
        assert_eq!(cache.folder("kernels/a", never).unwrap(), place);
    }

    #[test]
    fn a_full_disk_says_so() {
        let error = CacheError::from_io(Path::new("/tmp/x"), std::io::ErrorKind::StorageFull.into());
        assert!(error.to_string().contains("is full"), "{error}");
        let written = write_whole(Path::new("/dev/full/x"), b"x");
        assert!(written.is_err());
    }
}
