// SPDX-License-Identifier: GPL-2.0-only
//! The one rule of ownership. A file is *mine* if it belongs to this user or to root, and no other user can write it or
//! put another one in its place.

use rustix::fs::lgetxattr;
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The reason why a file is not mine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMine {
    /// Another user owns it, or a folder above it.
    #[error("{} belongs to user {user} and not to user {}", path.display(), geteuid().as_raw())]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// The number of its owner.
        user: u32,
    },
    /// Another user can write it, or a folder above it.
    #[error("{} may be written by other users", .0.display())]
    Writable(PathBuf),
}

/// Checks that a file is mine, by its real path.
///
/// # Errors
/// If another user owns or can write it or a folder above it.
pub fn mine(real: &Path) -> Result<(), NotMine> {
    judge(real, false)?;
    keeps(real.parent().unwrap_or(real))
}

/// Checks that a file which this process makes in a folder stays there, by the folder's real path. In a folder with the
/// sticky bit, e.g. `/tmp`, only the owner of a file can replace it, so that folder's mode does not matter.
///
/// # Errors
/// If another user owns the folder or one above it, or can replace a file in it.
pub fn keeps(real: &Path) -> Result<(), NotMine> {
    real.ancestors().try_for_each(|folder| judge(folder, true))
}

/// True if temporary files of this process can be made in a folder.
pub fn is_for_temporary_files(folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|real| real.is_dir() && keeps(&real).is_ok())
}

/// Judges one file or folder; an absent one is owned here.
fn judge(path: &Path, may_be_sticky: bool) -> Result<(), NotMine> {
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    if !is_trusted(found.uid()) {
        return Err(NotMine::Owner { path: path.to_owned(), user: found.uid() });
    }
    if others_may_write(path, &found) && !(may_be_sticky && is_sticky(&found)) {
        return Err(NotMine::Writable(path.to_owned()));
    }
    Ok(())
}

/// The first file or folder on the way to a path that other users may not read or enter, by its mode.
pub fn closed_to_others(path: &Path) -> Option<PathBuf> {
    const READ: u32 = 0o004;
    const ENTER: u32 = 0o001;
    let is_closed = |place: &&Path| {
        let Ok(found) = place.symlink_metadata() else { return false };
        found.permissions().mode() & if found.is_dir() { ENTER } else { READ } == 0
    };
    let real = path.canonicalize().ok()?;
    real.ancestors().filter(is_closed).last().map(Path::to_owned)
}

/// True if a folder has the sticky bit: only its owner removes or renames a file in it (chmod(1)).
pub fn is_sticky(found: &Metadata) -> bool {
    const STICKY: u32 = 0o1000;
    found.is_dir() && found.mode() & STICKY != 0
}

/// True if this user's files can be relied on: this user, root, or root outside of a user namespace that has no number
/// for it.
pub fn is_trusted(uid: u32) -> bool {
    uid == geteuid().as_raw() || uid == 0 || is_unknown(uid)
}

/// True if other users than its owner may write a file; of a symbolic link it is the link itself.
pub fn others_may_write(path: &Path, found: &Metadata) -> bool {
    const GROUP: u32 = 0o020;
    const WORLD: u32 = 0o002;
    let may = |who: u32| !found.is_symlink() && found.mode() & who != 0;
    may(WORLD) || may(GROUP) && !is_group_of_one(path, found)
}

/// The command by which this user changes the rights of a file or folder; `None` if it is another user's, or if
/// a shell would read something else into its path.
pub fn chmod(rights: &str, path: &Path) -> Option<String> {
    const PLAIN: &str = "_/.,:@%+-";
    let text = path.to_str().filter(|text| !text.starts_with('-'))?;
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c));
    let me = geteuid();
    let may = me.is_root() || path.metadata().is_ok_and(|found| found.uid() == me.as_raw());
    (is_plain && may).then(|| format!("chmod {rights} {text}"))
}

/// True if the group of a file is its owner alone: the group that Debian gives to each user. An entry for
/// another user in an access control list shows as rights of the group (acl(5)). Root has no such umask.
fn is_group_of_one(path: &Path, found: &Metadata) -> bool {
    let own = getegid().as_raw();
    found.uid() == found.gid() && found.gid() == own && own != 0 && !has_list(path)
}

/// True if there is an access control list, or may be one.
fn has_list(path: &Path) -> bool {
    let found = lgetxattr(path, "system.posix_acl_access", &mut [0_u8; 0]);
    !matches!(found, Err(Errno::NODATA | Errno::NOTSUP))
}

/// True if this number represents users outside of this user namespace (`user_namespaces(7)`), and no user in it.
fn is_unknown(uid: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    read("/proc/sys/kernel/overflowuid").trim() == uid.to_string()
        && !is_mapped(uid, &read("/proc/self/uid_map"))
}

/// True if a user of this number is in a namespace of this map: first number inside, first outside, count.
pub(crate) fn is_mapped(uid: u32, map: &str) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [first, _, count] = numbers[..] else { return true };
        (first..first.saturating_add(count)).contains(&u64::from(uid))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_in_a_folder_that_no_other_user_writes() {
        let dir = tempfile::tempdir().unwrap();
        let keeps = |rights| {
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(rights)).unwrap();
            is_for_temporary_files(dir.path())
        };
        assert!(
            keeps(0o755)
                && keeps(0o1777)
                && !keeps(0o777)
                && !is_for_temporary_files(&dir.path().join("none"))
        );
    }

    #[test]
    fn the_outermost_closed_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let [home, file] = [root.join("home"), root.join("home/linux/Makefile")];
        std::fs::create_dir_all(root.join("home/linux")).unwrap();
        std::fs::write(&file, "").unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for (path, rights) in [(&root, 0o755), (&home, 0o755), (&file, 0o640)] {
            mode(path, rights);
        }
        assert_eq!(closed_to_others(&root.join("home/linux")), None);
        assert_eq!(closed_to_others(&file), Some(file.clone()));
        mode(&home, 0o750);
        assert_eq!(closed_to_others(&file), Some(home));
        assert_eq!(closed_to_others(&root.join("absent")), None);
    }

    #[test]
    fn an_access_control_list_lets_others_write() {
        let dir = tempfile::tempdir().unwrap();
        let mode =
            |mode| std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        let found = || dir.path().symlink_metadata().unwrap();
        assert!(!others_may_write(dir.path(), &found()) && !has_list(dir.path()));
        mode(0o757);
        assert!(others_may_write(dir.path(), &found()));
        mode(0o700);
        // Version 2, then tag, rights and number of each: the owner, user 65534, the group, the mask, others.
        let entries: [(u16, u16, u32); 5] =
            [(1, 7, u32::MAX), (2, 7, 65534), (4, 0, u32::MAX), (16, 7, u32::MAX), (32, 0, u32::MAX)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, rights, number) in entries {
            list.extend(
                tag.to_le_bytes().into_iter().chain(rights.to_le_bytes()).chain(number.to_le_bytes()),
            );
        }
        let set = rustix::fs::setxattr(
            dir.path(),
            "system.posix_acl_access",
            &list,
            rustix::fs::XattrFlags::empty(),
        );
        // Some file systems have none.
        if set != Err(Errno::NOTSUP) {
            set.unwrap();
            assert!(has_list(dir.path()) && others_may_write(dir.path(), &found()));
        }
    }

    #[test]
    fn a_command_is_for_plain_paths_alone() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("a-b.txt");
        assert_eq!(chmod("o+r", &plain).is_some(), geteuid().is_root(), "it is not there");
        std::fs::write(&plain, "").unwrap();
        assert_eq!(chmod("o+r", &plain), Some(format!("chmod o+r {}", plain.display())));
        for name in ["a b", "a;b", "$(id)", "a\nb"] {
            std::fs::write(dir.path().join(name), "").unwrap();
            assert_eq!(chmod("o+r", &dir.path().join(name)), None, "{name}");
        }
        assert_eq!(chmod("o+r", Path::new("-R")), None);
    }

    #[test]
    fn users_of_a_namespace_are_known_by_its_map() {
        assert!(is_mapped(65534, "         0          0 4294967295\n"));
        assert!(is_mapped(65534, "0 1000 1\n1 100000 65536\n"), "that of a user with containers");
        assert!(!is_mapped(65534, "0 1000 1\n1 100000 65533\n"));
        assert!(!is_mapped(65534, "1000 1000 1\n"), "that of a single user");
        assert!(is_mapped(65534, "unreadable"));
    }
}
