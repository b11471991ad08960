// SPDX-License-Identifier: GPL-2.0-only
//! A complete file takes the place of what has its name. Until it is complete it has no name, so that a kill
//! leaves nothing; it has one in the same folder for as long as two system calls take, and that name is always the
//! same, so that what a kill leaves just then is removed by the next write.

use super::unnamed_in;
use crate::caller::{folder_of, give_to_caller};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::io::{Result, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Writes what `write` gives under this name, with these rights. Returns its length in bytes.
pub(super) fn replace(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<u64> {
    let mut file = unnamed_in(folder_of(path))?;
    write(&mut file)?;
    let length = file.metadata()?.len();
    keep(path, mode, &file)?;
    Ok(length)
}

/// Gives a complete file without a name this one. Where no link can be made, as on another file system, it is
/// copied.
pub(super) fn keep(path: &Path, mode: u32, file: &File) -> Result<()> {
    file.set_permissions(Permissions::from_mode(mode))?;
    give_to_caller(file, path)?;
    file.sync_all()?;
    match link(file, path) {
        Ok(()) => Ok(()),
        // link(2) replaces no file: the link gets another name, and is renamed.
        Err(Errno::EXIST) => link_over(file, path),
        Err(_) => copy_over(file, path, mode),
    }
}

/// Copies a file.
pub(super) fn copy(mut file: &File, to: &mut dyn Write) -> Result<()> {
    file.rewind()?;
    std::io::copy(&mut file, to)?;
    to.flush()
}

fn link(file: &File, to: &Path) -> std::result::Result<(), Errno> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, own.as_str(), CWD, to, AtFlags::SYMLINK_FOLLOW)
}

/// The name that a file has while it takes the place of another.
fn beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    Some(path.with_file_name(format!(".dyntick-new-{name}")))
}

/// The longest wait for the lock of a folder: a process that holds it makes two system calls.
const PATIENCE: Duration = Duration::from_millis(500);

/// The right to use the temporary names of this folder, until it is dropped; `None` if another process keeps it or
/// the folder may not be read.
fn locked(folder: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(folder, flags, Mode::empty()).ok()?);
    let until = Instant::now() + PATIENCE;
    loop {
        match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(folder),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(PATIENCE / 500),
            Err(_) => return None,
        }
    }
}

fn link_over(file: &File, path: &Path) -> Result<()> {
    let lock = locked(folder_of(path));
    let (Some(beside), Some(_lock)) = (beside(path), lock) else { return link_by_any_name(file, path) };
    match rustix::fs::unlink(&beside) {
        Ok(()) | Err(Errno::NOENT) => {}
        // There is a folder or another user's file, or the name is too long.
        Err(_) => return link_by_any_name(file, path),
    }
    link(file, &beside)?;
    rustix::fs::rename(&beside, path).inspect_err(|_| _ = rustix::fs::unlink(&beside))?;
    Ok(())
}

/// The same by a unique name; a killed process may leave it.
fn link_by_any_name(file: &File, path: &Path) -> Result<()> {
    let make = |name: &Path| Ok(link(file, name)?);
    let beside = tempfile::Builder::new().prefix(".dyntick-").make_in(folder_of(path), make)?;
    beside.into_temp_path().persist(path).map_err(|error| error.error)
}

/// For file systems on which a file has a name or none for good.
fn copy_over(file: &File, path: &Path, mode: u32) -> Result<()> {
    let mut beside = tempfile::Builder::new().prefix(".dyntick-").tempfile_in(folder_of(path))?;
    copy(file, &mut beside)?;
    beside.as_file().set_permissions(Permissions::from_mode(mode))?;
    give_to_caller(beside.as_file(), path)?;
    beside.as_file().sync_all()?;
    beside.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) -> Result<u64> {
        replace(path, 0o600, |to| to.write_all(text.as_bytes()))
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn the_next_write_removes_what_a_kill_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.prom");
        put(&path, "old").unwrap();
        std::fs::write(beside(&path).unwrap(), "left").unwrap();
        put(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(dir.path()), ["metrics.prom"]);
    }

    #[test]
    fn a_blocked_temporary_name_is_avoided() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["file", &"x".repeat(255)] {
            let path = dir.path().join(name);
            put(&path, "old").unwrap();
            // A folder stands there, or would where the name is not too long.
            let _ = std::fs::create_dir(beside(&path).unwrap());
            put(&path, "new").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        }
        assert_eq!(names(dir.path()).len(), 3);
    }

    #[test]
    fn writers_of_one_file_at_once_leave_one_of_their_texts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let texts = ["a", "b", "c", "d"].map(|letter| letter.repeat(10_000));
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| (0..50).for_each(|_| _ = put(&path, text).unwrap()));
            }
        });
        assert!(texts.contains(&std::fs::read_to_string(&path).unwrap()));
        assert_eq!(names(dir.path()), ["file"]);
    }
}
