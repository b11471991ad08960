// SPDX-License-Identifier: GPL-2.0-only
//! Whose cache it is. Its QEMU and its kernels are executed, so nobody may be able to write it but this
//! user and root: with `sudo -E` or a kept HOME root would run what another user has put there.

use super::CacheError;
use rustix::fs::{AtFlags, CWD, FileType, Mode, Stat, statat};
use rustix::process::geteuid;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Looks at the folders above the cache, at its own folder, and at what stands directly in it, as `qemu` and
/// `kernels`.
///
/// # Errors
/// Where one of them is of another user than this one or root, may be written by others, or is a
/// symbolic link of somebody else.
pub fn check(root: &Path) -> Result<(), CacheError> {
    above(root)?;
    let Some(()) = folder(root)? else { return Ok(()) };
    for entry in std::fs::read_dir(root).map_err(|error| CacheError::from_io(root, error))?.flatten() {
        // What is written into it meanwhile and is gone again is nobody's.
        let _ = folder(&entry.path())?;
    }
    Ok(())
}

/// Who may write a folder can put another one in the place of what stands in it; in one with the sticky
/// bit, as /tmp, nobody can who does not own that.
fn above(root: &Path) -> Result<(), CacheError> {
    let there = root.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
    for folder in there.iter().flat_map(|path| path.ancestors()) {
        let found = statat(CWD, folder, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| CacheError::from_io(folder, error.into()))?;
        if Mode::from_raw_mode(found.st_mode).contains(Mode::SVTX) && is_trusted(found.st_uid) {
            continue;
        }
        judge(folder, &found)?;
    }
    Ok(())
}

/// This user, root, or, in a user namespace that does not know it, whoever is root outside.
fn is_trusted(owner: u32) -> bool {
    const OVERFLOW: u32 = 65534;
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let knows_all = map.split_whitespace().eq(["0", "0", "4294967295"]);
    owner == geteuid().as_raw() || owner == 0 || owner == OVERFLOW && !knows_all
}

/// `None` where there is nothing.
fn folder(path: &Path) -> Result<Option<()>, CacheError> {
    let Ok(named) = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(None) };
    judge(path, &named)?;
    if FileType::from_raw_mode(named.st_mode) == FileType::Symlink {
        // A cache on another disk by a link of one's own.
        let Ok(found) = statat(CWD, path, AtFlags::empty()) else { return Ok(None) };
        judge(path, &found)?;
    }
    Ok(Some(()))
}

fn judge(path: &Path, found: &Stat) -> Result<(), CacheError> {
    let user = geteuid().as_raw();
    let refused = |why: String, fix: String| Err(CacheError::NotOurs { path: path.to_owned(), why, fix });
    if !is_trusted(found.st_uid) {
        return refused(
            format!("belongs to user {} and not to user {user}", found.st_uid),
            "set DYNTICK_CACHE to a folder of your own (sudo without -E, or sudo -H, takes root's)"
                .to_owned(),
        );
    }
    let link = FileType::from_raw_mode(found.st_mode) == FileType::Symlink;
    let writable = Mode::from_raw_mode(found.st_mode) & (Mode::WGRP | Mode::WOTH);
    if !link && !writable.is_empty() && !is_own_group(found, writable) {
        return refused("may be written by other users".to_owned(), format!("chmod go-w {}", quoted(path)));
    }
    Ok(())
}

/// With umask 002 and a group for each user, as Debian has them, the group is this user alone.
fn is_own_group(found: &Stat, writable: Mode) -> bool {
    writable == Mode::WGRP
        && found.st_uid == found.st_gid
        && found.st_gid == rustix::process::getegid().as_raw()
}

fn quoted(path: &Path) -> String {
    format!("'{}'", String::from_utf8_lossy(path.as_os_str().as_bytes()).replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_cache_that_others_may_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("cache");
        assert!(check(&root).is_ok(), "where none is yet, one's own will be made");
        std::fs::create_dir_all(root.join("qemu")).unwrap();
        mode(&root, 0o755);
        mode(&root.join("qemu"), 0o755);
        assert!(check(&root).is_ok());
        mode(&root.join("qemu"), 0o757);
        let told = check(&root).unwrap_err().to_string();
        assert!(told.contains("may be written by other users") && told.contains("chmod go-w '"), "{told}");
        mode(&root.join("qemu"), 0o755);
        mode(&root, 0o777);
        assert!(check(&root).is_err());
    }

    #[test]
    fn a_folder_above_that_others_may_write_is_refused_but_one_with_the_sticky_bit() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let root = home.join("cache");
        std::fs::create_dir_all(&root).unwrap();
        mode(&root, 0o755);
        mode(&home, 0o1777);
        assert!(check(&root).is_ok());
        mode(&home, 0o777);
        let told = check(&root).unwrap_err().to_string();
        assert!(told.contains("home may be written by other users"), "{told}");
        std::fs::remove_dir(&root).unwrap();
        assert!(check(&root).is_err(), "also before there is one");
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        if !geteuid().is_root() {
            eprintln!("only root can give a folder away: not tried");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("cache");
        std::fs::create_dir_all(root.join("kernels")).unwrap();
        mode(&root, 0o755);
        std::os::unix::fs::chown(root.join("kernels"), Some(65534), None).unwrap();
        let told = check(&root).unwrap_err().to_string();
        assert!(told.contains("belongs to user 65534") && told.contains("DYNTICK_CACHE"), "{told}");
        let within = root.join("kernels/cache");
        assert!(check(&within).is_err(), "a folder of another user is above it");
        std::os::unix::fs::chown(root.join("kernels"), Some(0), None).unwrap();
        std::os::unix::fs::symlink("/usr", root.join("qemu")).unwrap();
        std::os::unix::fs::lchown(root.join("qemu"), Some(65534), None).unwrap();
        assert!(check(&root).is_err(), "a link of somebody else");
    }
}
