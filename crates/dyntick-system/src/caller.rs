// SPDX-License-Identifier: GPL-2.0-only
//! The user who called sudo: results that root leaves in a folder of theirs are theirs.

use rustix::fs::{Gid, Mode, OFlags, Uid};
use std::fs::File;
use std::io::{ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

/// A user who became root by sudo.
struct Caller {
    user: u32,
    group: u32,
}

/// The user who called sudo for this process (sudo(8): `SUDO_UID`, `SUDO_GID`).
fn caller() -> Option<Caller> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let caller = Caller { user: number("SUDO_UID")?, group: number("SUDO_GID")? };
    (rustix::process::geteuid().is_root() && caller.user != 0).then_some(caller)
}

/// True if this is the user who called sudo.
pub fn is_callers(uid: u32) -> bool {
    caller().is_some_and(|caller| caller.user == uid)
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a file that was just made, and is to stand at this path, to the one who called sudo, where the folder is
/// theirs.
pub(crate) fn give_to_caller(file: &File, path: &Path) -> Result<()> {
    let Some(caller) = caller() else { return Ok(()) };
    if folder_of(path).metadata()?.uid() == caller.user { give(file, &caller) } else { Ok(()) }
}

fn give(file: &File, caller: &Caller) -> Result<()> {
    Ok(rustix::fs::fchown(file, Some(Uid::from_raw(caller.user)), Some(Gid::from_raw(caller.group)))?)
}

/// Makes a folder with those above it. Each new one belongs to the user who called sudo, if it is in a folder
/// of theirs.
///
/// # Errors
/// Any of the file system.
pub fn make_folders(folder: &Path) -> Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    make_folders(folder.parent().unwrap_or(Path::new("/")))?;
    match std::fs::create_dir(folder) {
        // Another dyntick was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made.and_then(|()| give_to_caller(&opened(folder)?, folder)),
    }
}

/// Gives a folder that this process has filled to the one who called sudo, and all that is in it, if it is in a
/// folder of theirs.
///
/// # Errors
/// Any of the file system.
pub fn give_tree_to_caller(folder: &Path) -> Result<()> {
    let Some(caller) = caller() else { return Ok(()) };
    if folder_of(folder).metadata()?.uid() == caller.user { give_tree(folder, &caller) } else { Ok(()) }
}

/// The folder comes last: until then only root changes what is in it.
fn give_tree(folder: &Path, caller: &Caller) -> Result<()> {
    let folder = opened(folder)?;
    // By the open folder: its owner may put another one under its name.
    let place = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    for entry in std::fs::read_dir(&place)? {
        let path = entry?.path();
        match path.symlink_metadata()? {
            found if found.is_dir() => give_tree(&path, caller)?,
            // A file with another name is not this folder's alone.
            found if found.nlink() > 1 => {}
            _ => lchown(&path, Some(caller.user), Some(caller.group))?,
        }
    }
    give(&folder, caller)
}

fn opened(folder: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_given_without_hard_links() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("only root can give a folder away: not tried");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        std::fs::create_dir_all(run.join("raw")).unwrap();
        std::fs::write(run.join("raw/pages"), "x").unwrap();
        std::fs::write(dir.path().join("elsewhere"), "x").unwrap();
        std::fs::hard_link(dir.path().join("elsewhere"), run.join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), run.join("way")).unwrap();
        give_tree(&run, &Caller { user: 12345, group: 54321 }).unwrap();
        let owner = |name: &str| {
            dir.path().join(name).symlink_metadata().map(|found| (found.uid(), found.gid())).unwrap()
        };
        for given in ["run", "run/raw", "run/raw/pages", "run/way"] {
            assert_eq!(owner(given), (12345, 54321), "{given}");
        }
        assert_eq!(owner("elsewhere").0, 0);
    }
}
