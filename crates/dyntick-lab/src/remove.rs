// SPDX-License-Identifier: GPL-2.0-only
//! Removing folders that a stranger's build has filled.

use std::io::{Error, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// Removes a folder, where there is one, however deep it is. The standard library descends by recursion and holds
/// a folder open for each level; a build can make more levels than files may be open, or than fit on the stack.
pub fn remove_tree(folder: &Path) -> Result<()> {
    if folder.symlink_metadata().is_err() {
        return Ok(());
    }
    let rm = Command::new("rm").args(["-rf", "--"]).arg(folder).stdin(Stdio::null()).output()?;
    match rm.status.success() {
        true => Ok(()),
        false => Err(Error::other(String::from_utf8_lossy(&rm.stderr).trim_end().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags, mkdirat, open, openat};

    #[test]
    fn a_folder_of_any_depth_goes() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("deep");
        std::fs::create_dir(&folder).unwrap();
        let enter = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut level = open(&folder, enter, Mode::empty()).unwrap();
        for _ in 0..2000 {
            mkdirat(&level, "d", Mode::RWXU).unwrap();
            level = openat(&level, "d", enter, Mode::empty()).unwrap();
        }
        remove_tree(&folder).unwrap();
        assert!(!folder.exists());
        remove_tree(&folder).unwrap();
    }
}
