// SPDX-License-Identifier: GPL-2.0-only
//! The owner of the cache. Its QEMU and its kernels are executed, so only this user and root may be able to write it:
//! with `sudo -E` or a kept HOME, root would run programs of another user.

use super::CacheError;
use super::tag::is_own;
use dyntick_system::confine::ensure_outside_system;
use dyntick_system::{NotMine, keeps, mine};
use rustix::fs::Access;
use rustix::process::geteuid;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The real path of the cache's folder, which is made where it is not there yet. By that path it is used: a
/// symbolic link in the named one may belong to another user.
///
/// # Errors
/// If it, a folder above it, or an entry of it (e.g. `qemu`, `kernels`) belongs to another user
/// than this one or root, or may be written by others.
pub fn settled(named: &Path) -> Result<PathBuf, CacheError> {
    let failed = |error| CacheError::from_io(named, error);
    let named = std::path::absolute(named).map_err(failed)?;
    let there = named.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    let (there, real) = there.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
    let rest = named.strip_prefix(there).unwrap_or(Path::new(""));
    fit_for_loader(&real.join(rest))?;
    ensure_outside_system(&real.join(rest))?;
    keeps(&real).map_err(not_ours)?;
    if rest.components().next().is_some() {
        if rest.components().any(|part| part == Component::ParentDir) {
            return Err(failed(std::io::Error::other("'..' in a part of the path that does not exist")));
        }
        super::make_folders(&real.join(rest)).map_err(failed)?;
    }
    let root = real.join(rest).canonicalize().map_err(failed)?;
    check(&root)?;
    ensure_writable(&root)?;
    super::tag::claim(&root)?;
    shut(&root);
    Ok(root)
}

/// ld.so(8) takes QEMU's libraries in lists, which have no way to quote a separator: the text behind one would be a
/// path from the current folder.
fn fit_for_loader(root: &Path) -> Result<(), CacheError> {
    if root.as_os_str().as_bytes().iter().any(|byte| b":;$ \t\n".contains(byte)) {
        Err(CacheError::Unlistable(root.to_owned()))
    } else {
        Ok(())
    }
}

/// Closes this user's folders in a cache to other users: images of guests and sources are
/// no other user's business, and who can open an entry can hold its lock. apt's are left, where apt lets a
/// user of its own download.
fn shut(root: &Path) {
    let own = |found: &Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let (is_own, is_apts) = (is_own(&name.to_string_lossy()), name.as_bytes().starts_with(b"apt"));
        if is_own && !is_apts && entry.metadata().is_ok_and(|found| own(&found) && found.mode() & 0o077 != 0)
        {
            let _ = super::make_private(&entry.path());
        }
    }
}

/// Refuses the cache of another user, as of root, that this one may only read: what is made goes there, and each
/// entry is locked while it is used.
fn ensure_writable(root: &Path) -> Result<(), CacheError> {
    let owner = root.symlink_metadata().map_err(|error| CacheError::from_io(root, error))?.uid();
    let may = rustix::fs::access(root, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok();
    if may || owner == geteuid().as_raw() {
        Ok(())
    } else {
        Err(CacheError::ReadOnly { path: root.to_owned(), owner })
    }
}

/// Checks a cache, by its real path, and all that is directly in it.
fn check(root: &Path) -> Result<(), CacheError> {
    mine(root).map_err(not_ours)?;
    for entry in std::fs::read_dir(root).map_err(|error| CacheError::from_io(root, error))?.flatten() {
        mine(&entry.path()).map_err(not_ours)?;
        // A part of the cache on another disk, by a link of one's own.
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            let Ok(target) = entry.path().canonicalize() else { continue };
            mine(&target).map_err(not_ours)?;
        }
    }
    Ok(())
}

fn not_ours(reason: NotMine) -> CacheError {
    let fix = match reason {
        NotMine::Owner { .. } => {
            "set DYNTICK_CACHE to a folder of your own (sudo without -E, or sudo -H, takes root's)"
        }
        NotMine::Writable(_) => "let only its owner write it, or set DYNTICK_CACHE to a folder elsewhere",
    };
    CacheError::NotOurs { reason, fix }
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
        assert_eq!(settled(&root).unwrap(), root.canonicalize().unwrap(), "where none is yet, one is made");
        std::fs::create_dir_all(root.join("qemu")).unwrap();
        mode(&root, 0o755);
        mode(&root.join("qemu"), 0o755);
        assert!(settled(&root).is_ok());
        mode(&root.join("qemu"), 0o757);
        let told = settled(&root).unwrap_err().to_string();
        assert!(told.contains("may be written by other users"), "{told}");
        mode(&root.join("qemu"), 0o755);
        mode(&root, 0o777);
        assert!(settled(&root).is_err());
    }

    #[test]
    fn a_path_that_the_loader_would_part_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a:b", "My Disk", "a;b"] {
            assert!(settled(&dir.path().join(name)).unwrap_err().to_string().contains("colon"), "{name}");
            assert!(!dir.path().join(name).exists(), "nothing is made of it");
        }
    }

    #[test]
    fn folders_of_a_cache_are_closed_to_other_users() {
        let dir = tempfile::tempdir().unwrap();
        let root = settled(&dir.path().join("cache")).unwrap();
        for name in ["scratch", "vmlinux", "apt"] {
            std::fs::create_dir(root.join(name)).unwrap();
            mode(&root.join(name), 0o755);
        }
        settled(&root).unwrap();
        let modes =
            ["scratch", "vmlinux", "apt"].map(|name| root.join(name).metadata().unwrap().mode() & 0o777);
        assert_eq!(modes, [0o700, 0o700, 0o755]);
    }

    #[test]
    fn a_folder_above_that_others_may_write_is_refused_but_one_with_the_sticky_bit() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let root = home.join("cache");
        std::fs::create_dir_all(&root).unwrap();
        mode(&root, 0o755);
        mode(&home, 0o1777);
        assert!(settled(&root).is_ok());
        mode(&home, 0o777);
        let told = settled(&root).unwrap_err().to_string();
        assert!(told.contains("home may be written by other users"), "{told}");
        std::fs::remove_dir_all(&root).unwrap();
        assert!(settled(&root).is_err(), "also before there is one");
    }

    #[test]
    fn files_of_other_users_are_refused() {
        if !geteuid().is_root() {
            eprintln!("only root can give a folder away: not tried");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("cache");
        std::fs::create_dir_all(root.join("kernels")).unwrap();
        mode(&root, 0o755);
        std::os::unix::fs::chown(root.join("kernels"), Some(65534), None).unwrap();
        let told = settled(&root).unwrap_err().to_string();
        assert!(told.contains("belongs to user 65534") && told.contains("DYNTICK_CACHE"), "{told}");
        let within = root.join("kernels/cache");
        assert!(settled(&within).is_err(), "a folder of another user is above it");
        std::os::unix::fs::chown(root.join("kernels"), Some(0), None).unwrap();
        std::os::unix::fs::symlink("/usr", root.join("qemu")).unwrap();
        std::os::unix::fs::lchown(root.join("qemu"), Some(65534), None).unwrap();
        assert!(settled(&root).is_err(), "a link of somebody else");
    }

    #[test]
    fn a_link_on_the_way_is_not_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        mode(&real, 0o755);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(settled(&link.join("cache/of/mine")).unwrap(), real.join("cache/of/mine"));
        assert!(settled(&link.join("absent/../cache")).is_err());
        let (foreign, own) = (dir.path().join("foreign"), real.join("own"));
        std::fs::create_dir_all(foreign.join("cache")).unwrap();
        mode(&foreign, 0o777);
        std::os::unix::fs::symlink(foreign.join("cache"), &own).unwrap();
        assert!(settled(&own).is_err(), "what is above the target counts");
        std::fs::create_dir(real.join("c")).unwrap();
        std::os::unix::fs::symlink(foreign.join("cache"), real.join("c/qemu")).unwrap();
        assert!(settled(&real.join("c")).is_err(), "of a part as well");
    }
}
