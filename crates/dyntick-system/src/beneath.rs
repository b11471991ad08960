// SPDX-License-Identifier: GPL-2.0-only
//! Files in an untrusted folder: a path leads to a file in the folder or nowhere,
//! whatever symbolic links stand there.

use crate::place::{self, Found};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// True if a path leads into a folder by plain names: it is neither absolute nor empty, and
/// has no `..` in it.
pub fn is_inner(path: &Path) -> bool {
    path.components().next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Opens a regular file in `folder` for reading, through no symbolic link.
///
/// # Errors
/// If the path would lead through a link or out of the folder, or is no regular file.
pub fn open_beneath(folder: &Path, inner: &Path) -> Result<File> {
    if !is_inner(inner) {
        return Err(Error::new(ErrorKind::InvalidInput, "its path leads out of the folder"));
    }
    let root = rustix::fs::open(folder, place::PLACE | OFlags::DIRECTORY, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let found = open_in(&root, inner, place::PLACE, resolve).map_err(|error| match error {
        Errno::LOOP => Error::new(ErrorKind::InvalidInput, "it is, or is behind, a symbolic link"),
        other => other.into(),
    });
    match place::of(found?)? {
        Found::Regular(file) => Ok(file),
        Found::Other(_) => Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Opens a file in a folder by openat2(2), and again if a folder was renamed meanwhile: a few times only, for
/// if another user has leased the file (`F_SETLEASE` of fcntl(2)) the answer is the same for as long as
/// they like.
///
/// # Errors
/// The errors of openat2, as EAGAIN where the file is leased and `flags` has `O_NONBLOCK`.
pub fn open_in(
    folder: impl AsFd,
    inner: &Path,
    flags: OFlags,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    const TRIES: u32 = 16;
    let open = || openat2(&folder, inner, flags, Mode::empty(), resolve);
    let failed = |opened: &rustix::io::Result<OwnedFd>| matches!(opened, Err(Errno::AGAIN | Errno::INTR));
    (1..TRIES).map(|_| open()).find(|opened| !failed(opened)).unwrap_or_else(open)
}

/// Makes the folders above `inner` in `folder`, which every user may enter whatever the umask, and returns its
/// path.
///
/// # Errors
/// If the path leads out of the folder, or something above it is a symbolic link or a file.
pub fn place_beneath(folder: &Path, inner: &Path) -> Result<PathBuf> {
    if !is_inner(inner) {
        return Err(Error::new(ErrorKind::InvalidInput, "its path leads out of the folder"));
    }
    let mut place = folder.to_owned();
    for part in inner.parent().unwrap_or(Path::new("")).components() {
        place.push(part);
        match std::fs::create_dir(&place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made.and_then(|()| std::fs::set_permissions(&place, Permissions::from_mode(0o755)))?,
        }
        if !place.symlink_metadata()?.is_dir() {
            let what = format!(
                "{} above it is not a folder",
                place.strip_prefix(folder).unwrap_or(&place).display()
            );
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
    }
    Ok(folder.join(inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_lead_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        std::fs::create_dir_all(inside.join("a")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(inside.join("a/file"), "x").unwrap();
        std::fs::write(outside.join("file"), "secret").unwrap();
        symlink(&outside, inside.join("folder")).unwrap();
        symlink("a/file", inside.join("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            inside.join("fifo"),
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(open_beneath(&inside, Path::new("a/file")).is_ok());
        let _listening = std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
        let error = open_beneath(&inside, Path::new("socket")).unwrap_err().to_string();
        assert_eq!(error, "it is not a regular file", "and not that it cannot be opened: it was not");
        for path in ["folder/file", "link", "fifo", "a", "../out/file", "/etc/passwd", ""] {
            assert!(open_beneath(&inside, Path::new(path)).is_err(), "{path}");
        }
        assert_eq!(place_beneath(&inside, Path::new("b/c/d")).unwrap(), inside.join("b/c/d"));
        assert!(inside.join("b/c").is_dir());
        for path in ["folder/new", "folder/sub/new", "a/file/x", "../x"] {
            assert!(place_beneath(&inside, Path::new(path)).is_err(), "{path}");
        }
        assert!(!outside.join("sub").exists());
    }

    /// Another user may lease a file of their own for as long as they like (fcntl(2)).
    #[test]
    fn a_leased_file_is_not_waited_for() {
        use std::os::fd::AsRawFd;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("leased");
        std::fs::write(&path, "x").unwrap();
        let holder = File::open(&path).unwrap();
        // SAFETY: no other test of this process waits for SIGIO, by which the holder is asked to give way.
        let leased = unsafe {
            libc::signal(libc::SIGIO, libc::SIG_IGN);
            libc::fcntl(holder.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK)
        };
        if leased != 0 {
            println!("skipped: no lease here: {}", Error::last_os_error());
            return;
        }
        let error = open_beneath(dir.path(), Path::new("leased")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
    }
}
