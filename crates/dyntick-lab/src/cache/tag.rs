// SPDX-License-Identifier: GPL-2.0-only
//! Whether a folder is a cache of dyntick's: of one, what is old, large or half made is removed, and its folders are closed to others.
//! A disk with a user's files on it, as somebody may name it, is none.

use super::CacheError;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Says so to whoever makes backups, too (`https://bford.info/cachedir/`).
const TAG: &str = "CACHEDIR.TAG";
const TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This folder is a cache of dyntick: what is in it may be removed at any time.\n";

/// What stands in one that was made before there was a tag, by how it begins.
const OF_OLDER: [&str; 15] = [
    "apt",
    "building",
    "built",
    "ccache",
    "git",
    "headers",
    "kernels",
    "kvm-",
    "modules",
    "plugins",
    "qemu",
    "scratch",
    "seal.secret",
    "sources",
    "vmlinux",
];
/// And what only dyntick makes; folders of the names above are anybody's.
const SURE: [&str; 2] = ["seal.secret", "apt.lock"];

/// Makes an empty folder a cache, and refuses one with other files.
pub fn claim(root: &Path) -> Result<(), CacheError> {
    let failed = |error| CacheError::from_io(root, error);
    if is_tagged(root) {
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    // Another dyntick may just have made it.
    if !names.is_empty() && !is_of_older(&names) && !is_tagged(root) {
        return Err(CacheError::Foreign(root.to_owned()));
    }
    match File::options().write(true).create_new(true).open(root.join(TAG)) {
        Ok(mut file) => file.write_all(TEXT.as_bytes()).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // One that is only read needs none.
        Err(_) if !names.is_empty() => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Of a tag that another dyntick is just writing there is nothing yet.
fn is_tagged(root: &Path) -> bool {
    let text = dyntick_system::read_regular(&root.join(TAG), 4096).ok();
    text.is_some_and(|text| text.is_empty() || text == TEXT.as_bytes())
}

fn is_of_older(names: &[String]) -> bool {
    names.iter().all(|name| OF_OLDER.iter().any(|known| name.starts_with(known)))
        && names.iter().any(|name| SURE.contains(&name.as_str()))
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
        std::fs::write(root.join("seal.secret"), "x").unwrap();
        claim(root).unwrap();
        assert!(is_tagged(root));
        std::fs::write(root.join("photos"), "").unwrap();
        claim(root).unwrap();
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
}
