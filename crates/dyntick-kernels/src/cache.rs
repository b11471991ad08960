// SPDX-License-Identifier: GPL-2.0-only
//! The user's cache: kernels, QEMU, images. An entry is complete or absent.

pub mod contents;
mod owner;
mod tag;
pub mod unused;

use crate::hash::Contents;
use crate::remove::remove_tree;
use dyntick_system::NotMine;
use dyntick_system::confine::NotSeen;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The cache folder.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// The reason why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// No folder can be derived.
    #[error("no folder is set for the cache: set DYNTICK_CACHE, XDG_CACHE_HOME or HOME")]
    NoFolder,
    /// It would be in the current folder, which may come with a study.
    #[error("DYNTICK_CACHE is {0}, and files of a cache are executed: give an absolute path")]
    Relative(PathBuf),
    /// The disk is full.
    #[error("the disk of {path} is full ({free_mib} MiB free): free some space, or {}", elsewhere(path))]
    DiskFull {
        /// The file that was being written.
        path: PathBuf,
        /// The free space.
        free_mib: u64,
    },
    /// The disk has less room than what comes will take.
    #[error(
        "{path} needs {needed_mib} MiB, and its disk has {free_mib} MiB free: free some space, or set DYNTICK_CACHE to a folder on another disk"
    )]
    TooLittleSpace {
        /// The file that is to be written.
        path: PathBuf,
        /// The space that it takes.
        needed_mib: u64,
        /// The free space.
        free_mib: u64,
    },
    /// A path that lists of paths cannot have.
    #[error(
        "{0} has a colon, a semicolon, a dollar sign or white space in its path, with which its libraries cannot be found: set DYNTICK_CACHE to a folder without"
    )]
    Unlistable(PathBuf),
    /// A folder of the system.
    #[error("{0}: set DYNTICK_CACHE to a folder elsewhere")]
    OfSystem(#[from] NotSeen),
    /// A folder with something else in it.
    #[error(
        "{0} has other files, and a cache's are removed when they are old: set DYNTICK_CACHE to a folder of its own, as {0}/dyntick"
    )]
    Foreign(PathBuf),
    /// It belongs to another user, and cannot be written.
    #[error(
        "{path} belongs to user {owner}, and user {} may not write it: no two users share a cache, so set DYNTICK_CACHE to a folder of your own, or unset it",
        rustix::process::geteuid().as_raw()
    )]
    ReadOnly {
        /// The folder.
        path: PathBuf,
        /// The number of its owner.
        owner: u32,
    },
    /// Another user could have put a file there.
    #[error("{reason}, and files of a cache are executed: {fix}")]
    NotOurs {
        /// The file or folder, and its owner or mode.
        reason: NotMine,
        /// The remedy.
        fix: &'static str,
    },
    /// A file that was just written has other contents.
    #[error("{0} changed while it was used, or its disk is failing: remove it and try again")]
    Unsteady(PathBuf),
    /// A file operation failed.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file that was being written.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

impl CacheError {
    /// From a failed file operation; a full disk is reported as such.
    pub fn from_io(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                CacheError::DiskFull { path: path.to_owned(), free_mib: free_bytes(path) >> 20 }
            }
            _ => CacheError::Io { path: path.to_owned(), source },
        }
    }
}

/// The folder that the environment names; nothing is made or looked at.
fn named_by_user() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    // A relative path of XDG's is invalid, and to be ignored.
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    variable("DYNTICK_CACHE")
        .or_else(|| absolute("XDG_CACHE_HOME").map(|dir| dir.join("dyntick")))
        .or_else(|| absolute("HOME").map(|dir| dir.join(".cache/dyntick")))
}

/// The way to move a file to another disk: a file that is not in the cache is a result.
fn elsewhere(path: &Path) -> &'static str {
    match named_by_user().and_then(|root| root.canonicalize().ok()) {
        Some(root) if path.starts_with(&root) => "set DYNTICK_CACHE to a folder on another disk",
        _ if is_temporary(path) => "set TMPDIR to a folder on another disk",
        _ => "name a folder on another disk (--out)",
    }
}

/// True for a temporary folder of this process; a result may be below `/tmp`, too.
fn is_temporary(path: &Path) -> bool {
    let inner = path.strip_prefix(std::env::temp_dir()).unwrap_or(Path::new(""));
    // As the crate tempfile calls them.
    inner.components().next().is_some_and(|first| first.as_os_str().as_bytes().starts_with(b".tmp"))
}

/// True if programs in a folder, or in its nearest existing parent, cannot be started (mount(8): noexec).
pub fn is_noexec(folder: &Path) -> bool {
    let existing = folder.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    let flags = rustix::fs::statvfs(existing).map(|space| space.f_flag);
    flags.is_ok_and(|flags| flags.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}

/// Free space on the disk that holds `path` or its nearest existing parent, bytes.
pub fn free_bytes(path: &Path) -> u64 {
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    rustix::fs::statvfs(existing).map(|space| space.f_bavail * space.f_frsize).unwrap_or(0)
}

/// Refuses to begin what the disk that holds `path` has no room for.
pub fn ensure_space(path: &Path, needed_bytes: u64) -> Result<(), CacheError> {
    let free = free_bytes(path);
    if free >= needed_bytes {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Err(CacheError::TooLittleSpace {
        path: path.to_owned(),
        needed_mib: mib(needed_bytes),
        free_mib: free >> 20,
    })
}

impl Cache {
    /// `$DYNTICK_CACHE`, else `$XDG_CACHE_HOME/dyntick`, else `~/.cache/dyntick`.
    ///
    /// # Errors
    /// If there is no folder, or one that another user may write: its files are executed.
    pub fn of_user() -> Result<Self, CacheError> {
        let root = named_by_user().ok_or(CacheError::NoFolder)?;
        if root.is_relative() {
            return Err(CacheError::Relative(root));
        }
        Ok(Self::at(owner::settled(&root)?))
    }

    /// The same for reading: a cache that is absent is not made, and is found empty.
    pub fn of_user_as_it_is() -> Result<Self, CacheError> {
        let root = named_by_user().ok_or(CacheError::NoFolder)?;
        if root.exists() || root.is_relative() { Self::of_user() } else { Ok(Self::at(root)) }
    }

    /// At a folder of one's own.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The path of an entry, present or absent.
    pub fn path(&self, entry: &str) -> PathBuf {
        self.root.join(entry)
    }

    /// The cache's own folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of this entry, made by `make` if it is not there yet. `make` fills an empty
    /// folder in the same place, which then takes the entry's name; a second process waits for the first.
    pub fn folder<E: From<CacheError>>(
        &self,
        entry: &str,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        self.folder_after(entry, None, make)
    }

    /// The same; `waiting` is called again and again while another process makes it.
    pub fn folder_after<E: From<CacheError>>(
        &self,
        entry: &str,
        waiting: Option<&dyn Fn()>,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let place = self.path(entry);
        if place.exists() {
            return Ok(place);
        }
        let _lock = self.locked(entry, waiting)?;
        if !place.exists() {
            let fresh = self.fresh_folder(&place)?;
            let made = make(&fresh)
                .and_then(|()| into_place(&fresh, &place).map_err(|e| CacheError::from_io(&place, e).into()));
            if made.is_err() {
                let _ = remove_tree(&fresh);
            }
            made?;
        }
        Ok(place)
    }

    /// An empty folder in the same place. Its name is fixed, so that the next process removes what a killed one has
    /// left; the entry's lock keeps two processes from using it at once.
    fn fresh_folder(&self, place: &Path) -> Result<PathBuf, CacheError> {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let fresh = place.with_file_name(format!("{}{name}", tag::UNFINISHED));
        let cleared = remove_tree(&fresh).and_then(|()| make_folders(&fresh));
        cleared.map_err(|error| CacheError::from_io(&fresh, error))?;
        Ok(fresh)
    }

    /// A folder of the cache that no other user may enter.
    pub fn private(&self, name: &str) -> Result<PathBuf, CacheError> {
        let path = self.path(name);
        let made = make_folders(&path).and_then(|()| make_private(&path));
        made.map_err(|error| CacheError::from_io(&path, error))?;
        Ok(path)
    }

    /// Removes a damaged entry; the next process that needs it makes it anew.
    pub fn discard(&self, entry: &str) -> Result<(), CacheError> {
        let _lock = self.lock(entry)?;
        let place = self.path(entry);
        remove_tree(&place).map_err(|error| CacheError::from_io(&place, error))
    }

    /// Holds an entry for this process until the result is dropped, waiting as long as another has it.
    pub fn lock(&self, entry: &str) -> Result<File, CacheError> {
        self.locked(entry, None)
    }

    /// The same; `waiting` is called again and again while another process has it.
    pub fn lock_after(&self, entry: &str, waiting: &dyn Fn()) -> Result<File, CacheError> {
        self.locked(entry, Some(waiting))
    }

    fn locked(&self, entry: &str, waiting: Option<&dyn Fn()>) -> Result<File, CacheError> {
        const LOOK: Duration = Duration::from_millis(200);
        let path = self.root.join(format!("{entry}.lock"));
        let held = || {
            let parent = path.parent().unwrap_or(&self.root);
            make_folders(parent)?;
            if parent != self.root {
                // Entries have rights that all may read them, and a source may be no other user's business.
                make_private(parent)?;
            }
            // Not emptied and not through a link: another user may have the name by now.
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = File::from(rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600))?);
            let Some(waiting) = waiting else {
                flock(&file, FlockOperation::LockExclusive)?;
                return Ok(file);
            };
            loop {
                match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                    Err(Errno::WOULDBLOCK) => waiting(),
                    tried => return Ok(tried.map(|()| file)?),
                }
                std::thread::sleep(LOOK);
            }
        };
        held().map_err(|error: std::io::Error| CacheError::from_io(&path, error))
    }
}

/// Closes a folder to other users.
fn make_private(folder: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

/// Makes folders that no other user may write, whatever the umask: files of a cache are executed.
fn make_folders(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// True if a file still is what its name or its neighbour says, by its SHA-256 in hexadecimal.
pub fn is_intact(path: &Path, sha256: &str) -> bool {
    Contents::of(path, u64::MAX).is_ok_and(|found| found.sha256 == sha256)
}

/// Gives a folder its final name, once all that is in it has reached the disk: after a power cut
/// a name without its contents would be taken for a complete entry.
fn into_place(fresh: &Path, place: &Path) -> std::io::Result<()> {
    rustix::fs::syncfs(File::open(fresh)?)?;
    std::fs::rename(fresh, place)
}

/// Writes a file so that it is complete under its name, or absent.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CacheError> {
    let write = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        make_folders(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, bytes)?;
        // A temporary file is private; what it becomes is as readable as any other.
        rustix::fs::fchmod(&file, rustix::fs::Mode::from_raw_mode(0o644))?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error: std::io::Error| CacheError::from_io(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};
    use std::sync::atomic::{AtomicU32, Ordering};

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
    fn leftovers_of_killed_processes_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let left = cache.path("kernels/.new-a");
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join("half"), "x").unwrap();
        let place = cache.folder::<CacheError>("kernels/a", |_| Ok(())).unwrap();
        assert!(!place.join("half").exists() && !left.exists());
    }

    #[test]
    fn two_at_once_make_an_entry_once() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let made = AtomicU32::new(0);
        let make = |fresh: &Path| {
            made.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(50));
            std::fs::write(fresh.join("whole"), "x").map_err(|e| CacheError::from_io(fresh, e))
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(cache.folder("a", make).unwrap().join("whole").exists()));
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    /// A source that a study names may be no other user's business.
    #[test]
    fn entries_are_closed_to_other_users() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        cache.folder::<CacheError>("sources/a", |_| Ok(())).unwrap();
        let mode = cache.path("sources").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn waiting_for_a_lock_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let held = std::sync::Mutex::new(Some(cache.lock("a").unwrap()));
        let waited = AtomicU32::new(0);
        // The other one releases it once a waiting process is reported.
        let waiting = || {
            waited.fetch_add(1, Ordering::Relaxed);
            drop(held.lock().unwrap().take());
        };
        let lock = cache.lock_after("a", &waiting).unwrap();
        assert_eq!(waited.load(Ordering::Relaxed), 1);
        drop(lock);
        drop(cache.lock_after("a", &waiting).unwrap());
        assert_eq!(waited.load(Ordering::Relaxed), 1, "nobody has it any more");
    }

    #[test]
    fn a_lock_follows_no_link_and_empties_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path().join("cache"));
        std::fs::create_dir(cache.root()).unwrap();
        let precious = dir.path().join("precious");
        std::fs::write(&precious, "text").unwrap();
        std::os::unix::fs::symlink(&precious, cache.path("apt.lock")).unwrap();
        assert!(cache.lock("apt").is_err());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "text");
    }

    #[test]
    fn a_changed_file_is_noticed_and_a_damaged_entry_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let make = |fresh: &Path| write_whole(&fresh.join("file"), b"contents");
        let folder = cache.folder("vmlinux/a", make).unwrap();
        let sha256 = hex::encode(Sha256::digest(b"contents"));
        assert!(is_intact(&folder.join("file"), &sha256));
        std::fs::write(folder.join("file"), "c0ntents").unwrap();
        assert!(!is_intact(&folder.join("file"), &sha256));
        cache.discard("vmlinux/a").unwrap();
        assert!(is_intact(&cache.folder("vmlinux/a", make).unwrap().join("file"), &sha256));
    }

    #[test]
    fn too_little_space_is_reported_in_advance() {
        assert!(ensure_space(Path::new("/"), 0).is_ok());
        let error = ensure_space(Path::new("/"), u64::MAX).unwrap_err().to_string();
        assert!(error.contains("17592186044416 MiB") && error.contains("free"), "{error}");
    }

    #[test]
    fn a_full_disk_says_so() {
        let error = CacheError::from_io(Path::new("/tmp/x"), std::io::ErrorKind::StorageFull.into());
        assert!(error.to_string().contains("is full"), "{error}");
        let full =
            |path: &Path| CacheError::from_io(path, std::io::ErrorKind::StorageFull.into()).to_string();
        let result = full(Path::new("out/study/runs"));
        assert!(result.contains("--out") && !result.contains("DYNTICK_CACHE"), "{result}");
        if let Ok(cache) = Cache::of_user() {
            let entry = full(&cache.path("kernels"));
            assert!(entry.contains("DYNTICK_CACHE"), "{entry}");
        }
        let written = write_whole(Path::new("/dev/full/x"), b"x");
        assert!(written.is_err());
    }
}
