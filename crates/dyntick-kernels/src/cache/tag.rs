// SPDX-License-Identifier: GPL-2.0-only
//! The mark of dyntick's cache. Old, large and unfinished entries of a cache are removed, and its folders are closed to
//! others, so a disk with a user's files on it must not be taken for one.

use super::CacheError;
use dyntick_system::{open_beneath, read_open, write_unasked};
use std::io::Error;
use std::path::Path;
use std::time::Duration;

/// The begin of the name of an entry that is being made.
pub const UNFINISHED: &str = ".new-";
/// The begin of the name of one that is being removed.
pub const LEAVING: &str = ".old-";

/// The file that marks a cache, also for backup programs (`https://bford.info/cachedir/`).
const TAG: &str = "CACHEDIR.TAG";
const TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This folder is a cache of dyntick: what is in it may be removed at any time.\n";

/// The names that dyntick makes in a cache: old entries of these folders are removed, and they are closed to others.
const OWN: [&str; 20] = [
    "apt",
    "apt-bullseye",
    "apt-sid",
    "building",
    "built",
    "ccache",
    "ccache-of",
    "git",
    "governors",
    "headers",
    "kernels",
    "modules",
    "packages",
    "plugins",
    "qemu",
    "scratch",
    "seal.secret",
    "source-packages",
    "sources",
    "vmlinux",
];

/// True if dyntick makes a folder or a file of this name in a cache.
pub fn is_own(name: &str) -> bool {
    let name = name.strip_prefix(UNFINISHED).or_else(|| name.strip_prefix(LEAVING)).unwrap_or(name);
    let name = name.strip_suffix(".lock").unwrap_or(name);
    OWN.contains(&name) || name.starts_with("kvm-") && name.ends_with(".json")
}

/// Makes an empty folder a cache, and refuses one with other files.
pub fn claim(root: &Path) -> Result<(), CacheError> {
    let failed = |error| CacheError::from_io(root, error);
    // Another dyntick may just be making it.
    for _ in 0..20 {
        if is_tagged(root) {
            return Ok(());
        }
        if std::fs::read_dir(root).map_err(failed)?.next().is_none() {
            let written = write_unasked(&root.join(TAG), |to| to.write_all(TEXT.as_bytes()));
            return written.map(|_| ()).map_err(failed);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(CacheError::Foreign(root.to_owned()))
}

fn is_tagged(root: &Path) -> bool {
    let tag = open_beneath(root, Path::new(TAG))
        .and_then(|tag| read_open(&tag, Path::new(TAG), 4096).map_err(Error::other));
    tag.is_ok_and(|text| text == TEXT.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_other_files_is_no_cache() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for name in ["git", "sources"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let told = claim(root).unwrap_err().to_string();
        assert!(told.contains("/dyntick") && told.contains("other files"), "{told}");
        std::fs::write(root.join(TAG), TEXT).unwrap();
        assert!(is_tagged(root));
        std::fs::write(root.join("photos"), "").unwrap();
        claim(root).unwrap();
        std::fs::write(root.join(TAG), "").unwrap();
        assert!(claim(root).is_err(), "anybody may make an empty tag");
    }

    #[test]
    fn an_empty_folder_becomes_one() {
        let dir = tempfile::tempdir().unwrap();
        claim(dir.path()).unwrap();
        assert!(is_tagged(dir.path()) && claim(dir.path()).is_ok());
        std::fs::write(dir.path().join(TAG), "Signature: 8a477f597d28d172789f06886806bc55\n# cargo\n")
            .unwrap();
        assert!(claim(dir.path()).is_err(), "of another program");
    }

    #[test]
    fn names_match_completely() {
        for own in ["git", "apt-sid.lock", "kvm-0b43dd7f5bc7.json.lock", ".new-apt", "seal.secret"] {
            assert!(is_own(own), "{own}");
        }
        for other in ["git-work", "builtin", "photos", "kvm-images", ".old-2024", "git.old"] {
            assert!(!is_own(other), "{other}");
        }
    }
}
