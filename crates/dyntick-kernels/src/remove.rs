// SPDX-License-Identifier: GPL-2.0-only
//! Removal of folders that an untrusted build has filled.

use dyntick_model::text::shortened;
use std::io::{Error, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// Removes a folder, where there is one, however deep it is. The standard library descends by recursion and holds
/// a folder open for each level; a build can make more levels than files may be open, or than fit on the stack.
pub fn remove_tree(folder: &Path) -> Result<()> {
    if folder.symlink_metadata().is_err() {
        return Ok(());
    }
    run("rm", &["-rf"], folder).or_else(|_| {
        // A build may have shut a folder, which keeps all but root out.
        run("chmod", &["-R", "u+rwX"], folder)?;
        run("rm", &["-rf"], folder)
    })
}

/// The longest message about a folder that another user filled.
const LONGEST: usize = 500;

fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<()> {
    let output = Command::new(program).args(arguments).arg("--").arg(folder).stdin(Stdio::null()).output()?;
    let said = || shortened(String::from_utf8_lossy(&output.stderr).trim_end(), LONGEST);
    if output.status.success() { Ok(()) } else { Err(Error::other(said())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags, mkdirat, open, openat};

    /// Root may enter every folder, so this tests other users only.
    #[test]
    fn a_folder_that_a_build_has_shut_goes() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a");
        std::fs::create_dir_all(folder.join("x/y/z")).unwrap();
        for shut in ["x/y/z", "x/y", "x"] {
            std::fs::set_permissions(folder.join(shut), std::fs::Permissions::from_mode(0o000)).unwrap();
        }
        remove_tree(&folder).unwrap();
        assert!(!folder.exists());
    }

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
