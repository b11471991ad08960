// SPDX-License-Identifier: GPL-2.0-only
//! Removal from the cache: each kernel, source or tree that is built is another entry, and a
//! study of some hundred bytes may have any number of them.

use super::tag::{LEAVING, UNFINISHED, is_own};
use crate::remove::remove_tree;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::fs::{File, Metadata, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The end of the name of a folder that is used while another one is made, under the same lock.
pub const OBJECTS: &str = "-objects";

/// Removes the entries of a folder that nothing has used for so long.
pub fn remove_old(folder: &Path, age: Duration) {
    for (used, entry) in entries(folder) {
        if used.elapsed().is_ok_and(|unused| unused > age) {
            remove(&entry);
        }
    }
}

/// Removes the entries of a folder that are larger than `bytes` each, but not those in use.
pub fn remove_large(folder: &Path, most: u64) {
    entries(folder).iter().for_each(|(_, entry)| remove_if_large(entry, most));
}

/// Removes one of them likewise.
pub fn remove_if_large(entry: &Path, most: u64) {
    if bytes(entry) > most {
        remove(entry);
    }
}

/// Notes that an entry was used just now; where that cannot be noted it is only removed early.
pub fn touch(entry: &Path) {
    let _ = opened(entry).and_then(|folder| folder.set_modified(SystemTime::now()));
}

/// An entry that is read, or a kernel that runs: it stays in the cache as long as this is held.
pub struct InUse {
    locked: File,
}

impl Drop for InUse {
    /// Frees the entry also if another thread starts a program just now: until its exec that has the file, too.
    fn drop(&mut self) {
        let _ = flock(&self.locked, FlockOperation::Unlock);
    }
}

impl InUse {
    /// Holds the kernel of this image; nothing where it was removed meanwhile.
    pub fn hold(image: &Path) -> Option<Self> {
        Self::of(image.parent()?).filter(|_| image.exists())
    }

    /// Holds an entry; nothing where it was removed meanwhile.
    pub fn of(entry: &Path) -> Option<Self> {
        let folder = opened(entry).ok()?;
        flock(&folder, FlockOperation::LockShared).ok()?;
        // Its time says when it was used last; where that cannot be set it is only removed early.
        let _ = folder.set_modified(SystemTime::now());
        // Who removes it locks it before, and then it has another name.
        let same = |a: Metadata, b: Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        let stays = same(folder.metadata().ok()?, entry.metadata().ok()?);
        stays.then_some(Self { locked: folder })
    }
}

/// Removes the least recently used entries of a folder until all together have at most `bytes`.
/// One in use stays, and so does the newest: it was just made.
pub fn keep_at_most(folder: &Path, most: u64) {
    remove_unfinished(folder, &|_| ());
    // What is being made has a hidden name.
    let is_whole =
        |entry: &Path| !entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let mut all: Vec<_> = entries(folder).into_iter().filter(|(_, entry)| is_whole(entry)).collect();
    all.sort();
    let mut sizes: Vec<u64> = all.iter().map(|(_, entry)| bytes(entry)).collect();
    all.pop();
    for (number, (_, entry)) in all.iter().enumerate() {
        if sizes.iter().copied().fold(0, u64::saturating_add) <= most {
            break;
        }
        if remove(entry) {
            sizes[number] = 0;
        }
    }
}

/// Removes from each folder of a cache what a process that was killed was making or removing.
pub fn remove_unfinished_of_all(root: &Path, progress: &dyn Fn(&str)) {
    let folders = std::fs::read_dir(root).into_iter().flatten().flatten();
    let own = folders.filter(|folder| is_own(&folder.file_name().to_string_lossy()));
    own.for_each(|folder| remove_unfinished(&folder.path(), progress));
}

/// Removes what a process that was killed was making or removing; one that makes an entry holds its lock.
fn remove_unfinished(folder: &Path, progress: &dyn Fn(&str)) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(LEAVING) {
            progress(REMOVING);
            let _ = remove_tree(&entry.path());
        }
        let Some(name) = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED)) else { continue };
        let name = name.strip_suffix(OBJECTS).unwrap_or(name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(lock) = open(folder.join(format!("{name}.lock")), flags, Mode::empty()) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            progress(REMOVING);
            let _ = remove_tree(&entry.path());
        }
    }
}

/// The step of removing a source tree or a build, which may take a minute.
pub const REMOVING: &str = "removing from the cache what was not completed";

/// Entries in the order of their last use.
fn entries(folder: &Path) -> Vec<(SystemTime, PathBuf)> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_lock = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "lock");
    found.filter(|path| !is_lock(path)).filter_map(|path| Some((used(&path)?, path))).collect()
}

/// The time at which an entry was used last.
pub(super) fn used(entry: &Path) -> Option<SystemTime> {
    entry.symlink_metadata().ok()?.modified().ok()
}

/// The space that an entry takes on the disk, bytes: holes and what a file system compresses count in full, and each
/// file and folder is counted with a block for itself. One that cannot be looked through counts as all there
/// is: a build can make folders that are deeper than a path is long.
pub fn bytes(entry: &Path) -> u64 {
    const OF_ITSELF: u64 = 4096;
    let mut all: u64 = 0;
    for found in walkdir::WalkDir::new(entry) {
        match found.and_then(|found| found.metadata()) {
            Ok(found) => all = all.saturating_add(OF_ITSELF + found.len().max(512 * found.blocks())),
            Err(error) if is_gone(&error) => {}
            Err(_) => return u64::MAX,
        }
    }
    all
}

/// A user of an entry removes files of it meanwhile.
fn is_gone(error: &walkdir::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Removes an entry that no process uses. A file that is no folder is not an entry.
pub(super) fn remove(entry: &Path) -> bool {
    if !entry.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return std::fs::remove_file(entry).is_ok();
    }
    opened(entry).is_ok_and(|folder| flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok())
        && remove_folder(entry).is_ok()
}

/// Opens the folder of an entry. A build may have closed its own, which then could not be removed.
fn opened(entry: &Path) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match open(entry, flags, Mode::empty()) {
        // No other user can put a link in its place: the folders of the cache are this user's.
        Err(Errno::ACCESS) => {
            std::fs::set_permissions(entry, Permissions::from_mode(0o700))?;
            Ok(open(entry, flags, Mode::empty())?.into())
        }
        opened => Ok(opened?.into()),
    }
}

/// Removes a folder under another name: half of it under its own would be taken for the entry.
fn remove_folder(entry: &Path) -> std::io::Result<()> {
    let name = entry.file_name().unwrap_or_default().to_string_lossy();
    let leaving = entry.with_file_name(format!("{LEAVING}{name}"));
    remove_tree(&leaving)?;
    std::fs::rename(entry, &leaving)?;
    remove_tree(&leaving)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

    const LONG_AGO: rustix::fs::Timestamps = {
        let zero = rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::fs::Timestamps { last_access: zero, last_modification: zero }
    };

    fn entry(folder: &Path, name: &str, age: Duration) -> PathBuf {
        let entry = folder.join(name);
        std::fs::create_dir(&entry).unwrap();
        std::fs::write(entry.join("vmlinux"), vec![0; 1000]).unwrap();
        File::open(&entry).unwrap().set_modified(SystemTime::now() - age).unwrap();
        entry
    }

    #[test]
    fn least_recently_used_entries_are_removed_first() {
        let folder = tempfile::tempdir().unwrap();
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        let [old, newest, middle] =
            [("a", 5), ("b", 0), ("c", 2)].map(|(name, age)| entry(folder.path(), name, hours(age)));
        std::fs::write(folder.path().join("a.lock"), "").unwrap();
        let all = bytes(&old) + bytes(&newest) + bytes(&middle);
        keep_at_most(folder.path(), all);
        assert!(old.exists() && middle.exists());
        keep_at_most(folder.path(), all - 1);
        assert!(!old.exists() && middle.exists() && newest.exists());
        keep_at_most(folder.path(), 10);
        assert!(!middle.exists() && newest.exists() && folder.path().join("a.lock").exists());
    }

    #[test]
    fn folders_take_room_and_what_is_too_deep_takes_all() {
        let folder = tempfile::tempdir().unwrap();
        let [empty, deep, newest] = [("a", 3), ("b", 2), ("c", 0)]
            .map(|(name, days)| entry(folder.path(), name, WEEK.mul_f64(days.into())));
        (0..100).for_each(|number| std::fs::create_dir(empty.join(number.to_string())).unwrap());
        assert!((100 * 4096..1 << 20).contains(&bytes(&empty)));
        // A path of all its folders is longer than any call takes.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut level = open(&deep, flags, Mode::empty()).unwrap();
        for _ in 0..20 {
            let name = "d".repeat(240);
            rustix::fs::mkdirat(&level, &name, Mode::RWXU).unwrap();
            level = rustix::fs::openat(&level, &name, flags, Mode::empty()).unwrap();
        }
        assert_eq!(bytes(&deep), u64::MAX);
        File::open(&deep).unwrap().set_modified(SystemTime::now() - WEEK).unwrap();
        File::open(&empty).unwrap().set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        keep_at_most(folder.path(), 1 << 20);
        assert!(!deep.exists() && empty.exists() && newest.exists());
    }

    #[test]
    fn abandoned_entries_are_removed_and_unfinished_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [left, making] = ["a", "b"].map(|name| {
            std::fs::write(folder.path().join(format!("{name}.lock")), "").unwrap();
            entry(folder.path(), &format!("{UNFINISHED}{name}"), Duration::ZERO)
        });
        let lock = File::open(folder.path().join("b.lock")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let leaving = entry(folder.path(), &format!("{LEAVING}c"), Duration::ZERO);
        let beside = entry(folder.path(), &format!("{UNFINISHED}a{OBJECTS}"), Duration::ZERO);
        keep_at_most(folder.path(), u64::MAX);
        assert!(!left.exists() && !beside.exists() && !leaving.exists() && making.exists());
    }

    #[test]
    fn oversized_entries_are_removed_even_if_new() {
        let folder = tempfile::tempdir().unwrap();
        let [large, small] = ["a", "b"].map(|name| entry(folder.path(), name, Duration::ZERO));
        std::fs::write(large.join("more"), vec![0; 100_000]).unwrap();
        let held = InUse::of(&large).unwrap();
        remove_large(folder.path(), 50_000);
        assert!(large.exists());
        drop(held);
        remove_large(folder.path(), 50_000);
        assert!(!large.exists() && small.exists());
    }

    #[test]
    fn entries_in_use_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [used, newest] =
            [("a", 9), ("b", 0)].map(|(name, days)| entry(folder.path(), name, WEEK.mul_f64(days.into())));
        let image = used.join("vmlinux");
        let held = InUse::hold(&image).unwrap();
        assert!(
            used.metadata().unwrap().modified().unwrap().elapsed().unwrap() < WEEK,
            "it was used just now"
        );
        let long_unused = || File::open(&used).unwrap().set_modified(SystemTime::now() - 2 * WEEK).unwrap();
        long_unused();
        keep_at_most(folder.path(), 10);
        remove_old(folder.path(), WEEK);
        assert!(used.exists() && newest.exists());
        let of_a_child = held.locked.try_clone().unwrap();
        drop(held);
        let other = InUse::of(&used).unwrap();
        long_unused();
        keep_at_most(folder.path(), 10);
        assert!(used.exists(), "an entry that is read stays too");
        drop(other);
        keep_at_most(folder.path(), 10);
        assert!(!used.exists() && newest.exists(), "a child that has not begun its program holds nothing");
        drop(of_a_child);
        assert!(InUse::hold(&image).is_none() && InUse::of(&used).is_none(), "it must be made again");
    }

    #[test]
    fn entries_unused_for_a_week_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let old = entry(folder.path(), "a", WEEK + Duration::from_secs(60));
        let newer = entry(folder.path(), "b", WEEK - Duration::from_secs(60));
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        rustix::fs::utimensat(rustix::fs::CWD, &fifo, &LONG_AGO, rustix::fs::AtFlags::empty()).unwrap();
        remove_old(folder.path(), WEEK);
        assert!(!old.exists() && newer.exists() && !fifo.exists());
    }
}
