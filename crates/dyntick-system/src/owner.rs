// SPDX-License-Identifier: GPL-2.0-only
//! Whose files may be relied on.

use rustix::fs::lgetxattr;
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether what this user owns is as good as one's own: this user, root, or, in a user namespace that does
/// not know it, whoever is root outside.
pub fn is_trusted(uid: u32) -> bool {
    uid == geteuid().as_raw() || uid == 0 || is_unknown(uid)
}

/// Whether others than its owner may write what stands at this path; of a symbolic link it is the link itself.
pub fn others_may_write(path: &Path, found: &Metadata) -> bool {
    const GROUP: u32 = 0o020;
    const WORLD: u32 = 0o002;
    let may = |who: u32| !found.is_symlink() && found.mode() & who != 0;
    may(WORLD) || may(GROUP) && !is_group_of_one(path, found)
}

/// The command by which this user changes the rights of a file or folder; none where that is another user's, or where
/// a shell would read something else into its path.
pub fn chmod(rights: &str, path: &Path) -> Option<String> {
    const PLAIN: &str = "_/.,:@%+-";
    let text = path.to_str().filter(|text| !text.starts_with('-'))?;
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c));
    let me = geteuid();
    let may = me.is_root() || path.metadata().is_ok_and(|found| found.uid() == me.as_raw());
    (is_plain && may).then(|| format!("chmod {rights} {text}"))
}

/// With umask 002 and a group for each user, as Debian has them, the group is the owner alone; root has no
/// such umask. What an access control list gives to others shows as rights of the group (acl(5)).
fn is_group_of_one(path: &Path, found: &Metadata) -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    found.uid() == found.gid()
        && found.uid() != 0
        && !has_list(path)
        && !has_members(found.gid(), &read("/etc/group"))
        && !is_primary(found.gid(), &read("/etc/passwd"))
}

/// Whether a group is the first one of another user than that of its number, by the text of /etc/passwd.
fn is_primary(group: u32, users: &str) -> bool {
    users.lines().any(|line| {
        let numbers: Vec<Option<u32>> = line.split(':').skip(2).take(2).map(|n| n.parse().ok()).collect();
        matches!(numbers[..], [user, Some(first)] if first == group && user != Some(group))
    })
}

/// Whether there is an access control list, or may be one.
fn has_list(path: &Path) -> bool {
    let found = lgetxattr(path, "system.posix_acl_access", &mut [0_u8; 0]);
    !matches!(found, Err(Errno::NODATA | Errno::NOTSUP))
}

/// Whether somebody else than the user of its name is in a group, by the text of /etc/group.
fn has_members(group: u32, groups: &str) -> bool {
    groups.lines().any(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, number, members] = fields[..] else { return false };
        number.parse() == Ok(group) && members.split(',').any(|member| !member.is_empty() && member != name)
    })
}

/// Whether that is how users are shown who are not in this user namespace (`user_namespaces(7)`), and nobody in it.
fn is_unknown(uid: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    read("/proc/sys/kernel/overflowuid").trim() == uid.to_string()
        && !is_mapped(uid, &read("/proc/self/uid_map"))
}

/// Whether a user of this number is in a namespace of this map: first number within, first outside, how many.
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
    fn a_group_of_one() {
        let groups = "root:x:0:\nalice:x:1000:\nbob:x:1001:bob\ncarol:x:1002:carol,dave\n";
        assert_eq!(
            [1000, 1001, 1002, 1003].map(|group| has_members(group, groups)),
            [false, false, true, false]
        );
    }

    #[test]
    fn an_access_control_list_lets_others_write() {
        use std::os::unix::fs::PermissionsExt;
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
    fn who_is_in_a_namespace() {
        assert!(is_mapped(65534, "         0          0 4294967295\n"));
        assert!(is_mapped(65534, "0 1000 1\n1 100000 65536\n"), "that of a user with containers");
        assert!(!is_mapped(65534, "0 1000 1\n1 100000 65533\n"));
        assert!(!is_mapped(65534, "1000 1000 1\n"), "that of a single user");
        assert!(is_mapped(65534, "unreadable"));
    }
}
