// SPDX-License-Identifier: GPL-2.0-only
//! The user that apt downloads as. Run as root, apt lets a user of its own (`_apt`) do that, so that what
//! a mirror sends is not parsed by root. That user must then be able to enter the private folders.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// apt's own user, who downloads where dyntick runs as root.
pub(super) const APT: &str = "_apt";

/// The number of apt's user, where apt is to use it: where this is root, and all folders above `folder`
/// let others in. The cache of root is mostly below `/root`, which does not; there apt must stay root,
/// since it opens its files by their full path as that user.
pub(super) fn downloader(folder: &Path) -> Option<u32> {
    let wanted = rustix::process::geteuid().is_root() && lets_others_in(folder);
    wanted.then(|| number(&std::fs::read_to_string("/etc/passwd").unwrap_or_default())).flatten()
}

/// Makes a folder that of the downloader.
pub(super) fn give(folder: &Path, downloader: Option<u32>) -> std::io::Result<()> {
    match downloader {
        Some(user) => std::os::unix::fs::chown(folder, Some(user), None),
        None => Ok(()),
    }
}

fn lets_others_in(folder: &Path) -> bool {
    let existing = folder.ancestors().filter_map(|folder| std::fs::metadata(folder).ok());
    existing.into_iter().all(|folder| folder.mode() & 0o001 != 0)
}

/// From the text of /etc/passwd.
fn number(passwd: &str) -> Option<u32> {
    let line = passwd.lines().find_map(|line| line.strip_prefix(APT)?.strip_prefix(':'))?;
    line.split(':').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_number_of_apts_user() {
        assert_eq!(number("root:x:0:0:root:/root:/bin/sh\n_apt:x:42:65534::/nonexistent:/x\n"), Some(42));
        assert_eq!(number("_apta:x:42:65534::/nonexistent:/x\n"), None);
    }

    #[test]
    fn a_folder_below_a_private_one_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let mode =
            |mode| std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o700);
        assert!(!lets_others_in(&inner));
        mode(0o755);
        assert!(lets_others_in(&inner) && lets_others_in(&inner.join("not/yet/there")));
    }
}
