// SPDX-License-Identifier: GPL-2.0-only
//! A run's folder, held open: all files are read from this folder, even if another one replaces it at its path.

use std::fs::{File, Metadata, Permissions};
use std::io::{Error, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Rights by which others than the owner could change a file.
const OTHERS_WRITE: u32 = 0o022;

/// A folder that stays the same one for as long as this lives.
pub struct Opened {
    folder: File,
    /// The path in `/proc/self/fd`, which leads to the open folder and not to its path.
    place: PathBuf,
}

impl Opened {
    /// The folder at this path, or behind the symbolic link there.
    ///
    /// # Errors
    /// Where there is none, or it cannot be opened.
    pub fn at(path: &Path) -> Result<Self> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let place = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        Ok(Self { folder, place })
    }

    /// The path by which its files are opened.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Returns true if only this user, root, or the user who called sudo for it, can change the contents: files and the
    /// folder `raw` of files, all of these users and writable by no other.
    pub fn is_own(&self, raw: &str) -> bool {
        is_own(&self.folder.metadata()) && self.holds_only_own(Path::new(""), raw)
    }

    fn holds_only_own(&self, inner: &Path, raw: &str) -> bool {
        let Ok(mut entries) = std::fs::read_dir(self.place.join(inner)) else { return false };
        entries.all(|entry| {
            let Ok(entry) = entry else { return false };
            // Of a link it is the link's own.
            let found = entry.metadata();
            let is_raw = inner.as_os_str().is_empty() && entry.file_name() == *raw;
            let kind_is_right = found.as_ref().is_ok_and(|f| if is_raw { f.is_dir() } else { f.is_file() });
            kind_is_right && is_own(&found) && (!is_raw || self.holds_only_own(Path::new(raw), raw))
        })
    }
}

fn is_own(found: &Result<Metadata>) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let is_own = |uid: u32| [0, me].contains(&uid) || dyntick_system::is_callers(uid);
    found.as_ref().is_ok_and(|f| is_own(f.uid()) && f.mode() & OTHERS_WRITE == 0)
}

/// Takes the right to write from all but the owner of what is in a folder: a umask of 002 leaves it to the group.
///
/// # Errors
/// Where that is not allowed.
pub fn close_to_others(folder: &Path) -> Result<()> {
    let close = |path: &Path| {
        let mode = path.symlink_metadata()?.mode();
        std::fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS_WRITE))
    };
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let found = path.symlink_metadata()?;
        match found.is_dir() {
            true => close_to_others(&path)?,
            false if found.is_file() => close(&path)?,
            false => return Err(Error::other(format!("{} is no file", path.display()))),
        }
    }
    close(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, remove_dir_all, rename, set_permissions, write};
    use std::os::unix::fs::symlink;

    fn run(at: &Path) {
        create_dir(at).unwrap();
        create_dir(at.join("raw")).unwrap();
        write(at.join("run.toml"), "asked").unwrap();
        write(at.join("raw/trace"), "events").unwrap();
        close_to_others(at).unwrap();
    }

    #[test]
    fn what_is_put_at_its_path_meanwhile_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other, link) = (dir.path().join("one"), dir.path().join("other"), dir.path().join("link"));
        run(&one);
        run(&other);
        write(other.join("run.toml"), "forged").unwrap();
        symlink(&one, &link).unwrap();
        let opened = Opened::at(&link).unwrap();
        symlink(&other, dir.path().join("next")).unwrap();
        rename(dir.path().join("next"), &link).unwrap();
        assert_eq!(std::fs::read_to_string(opened.place().join("run.toml")).unwrap(), "asked");
        let again = Opened::at(&link).unwrap();
        assert_eq!(std::fs::read_to_string(again.place().join("run.toml")).unwrap(), "forged");
    }

    #[test]
    fn own_is_what_no_other_can_change() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("run");
        let own_after = |change: &dyn Fn(&Path)| {
            run(&folder);
            change(&folder);
            let own = Opened::at(&folder).unwrap().is_own("raw");
            remove_dir_all(&folder).unwrap();
            own
        };
        let mode = |path: PathBuf, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        assert!(own_after(&|_| ()));
        assert!(!own_after(&|run| mode(run.to_owned(), 0o777)), "anybody renames what is in it");
        assert!(!own_after(&|run| mode(run.join("raw"), 0o775)));
        assert!(!own_after(&|run| mode(run.join("raw/trace"), 0o666)));
        assert!(!own_after(&|run| symlink("/etc/passwd", run.join("raw/link")).unwrap()));
        assert!(!own_after(&|run| create_dir(run.join("raw/more")).unwrap()));
        assert!(!own_after(&|run| create_dir(run.join("more")).unwrap()));
        if rustix::process::geteuid().is_root() {
            let give = |path: PathBuf| std::os::unix::fs::chown(path, Some(65534), None).unwrap();
            assert!(!own_after(&|run| give(run.join("raw/trace"))), "its owner may give itself the right");
        }
    }
}
