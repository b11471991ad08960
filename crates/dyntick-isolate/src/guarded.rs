// SPDX-License-Identifier: GPL-2.0-only
//! A file that root believes later: in a folder that only its owner enters, and nobody else can have
//! written. Its rights do not depend on the umask (invariant 6).

use rustix::fs::{Mode, OFlags, fchmod, fstat, mkdir, open, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a file for reading and appending, and makes it, and its folder, where they are not there.
///
/// # Errors
/// Where the file system refuses, and where the folder or the file belongs to neither this user nor
/// root, others may write to it, or it is a link or no regular file.
pub(crate) fn open_guarded(path: &Path) -> io::Result<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    make_folder(folder)?;
    let as_folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = open(folder, as_folder, Mode::empty()).map_err(|errno| link(errno, "its folder"))?;
    trusted(&fstat(&folder)?, "its folder")?;
    // A FIFO would hang who opens it.
    let flags = OFlags::RDWR
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    let file = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| link(errno, "it"))?;
    let stat = fstat(&file)?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(refused("it is not a regular file"));
    }
    trusted(&stat, "it")?;
    // An earlier version left it readable to everybody, with the command line in it.
    fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    Ok(File::from(file))
}

/// With the folders above it, which are as the system has them.
fn make_folder(folder: &Path) -> io::Result<()> {
    match mkdir(folder, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(Errno::NOENT) => {
            std::fs::create_dir_all(folder.parent().ok_or(io::ErrorKind::NotFound)?)?;
            match mkdir(folder, Mode::RWXU) {
                Err(Errno::EXIST) => Ok(()),
                made => Ok(made?),
            }
        }
        Err(errno) => Err(errno.into()),
    }
}

fn trusted(stat: &rustix::fs::Stat, what: &str) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let mode = stat.st_mode & 0o7777;
    match stat.st_uid {
        owner if owner != own && owner != 0 => Err(refused(&format!(
            "{what} belongs to user {owner}, so its content cannot be trusted; inspect it, then delete it"
        ))),
        _ if mode & 0o022 != 0 => Err(refused(&format!(
            "{what} may be written by others (mode {mode:04o}), so its content cannot be trusted; inspect \
             it, then delete it"
        ))),
        _ => Ok(()),
    }
}

fn link(errno: Errno, what: &str) -> io::Error {
    match errno {
        Errno::LOOP | Errno::NOTDIR => {
            refused(&format!("{what} is a symbolic link or not a folder, which dyntick never creates"))
        }
        errno => errno.into(),
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn refusal(path: &Path) -> String {
        let error = open_guarded(path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        error.to_string()
    }

    /// A journal in a folder of its own, made.
    fn made() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("run/dyntick/journal");
        open_guarded(&path).unwrap().write_all(b"x").unwrap();
        (root, path)
    }

    /// The mode of a process's files, which the umask takes from, belongs to all of its threads: so the
    /// umask is set in a child that is this test again.
    #[test]
    fn others_cannot_look_in_whatever_the_umask() {
        const MARK: &str = "DYNTICK_TEST_UMASK_0";
        if std::env::var_os(MARK).is_none() {
            let name = "guarded::tests::others_cannot_look_in_whatever_the_umask";
            let status = std::process::Command::new("sh")
                .args(["-c", "umask 0; exec \"$0\" --exact \"$1\""])
                .arg(std::env::current_exe().unwrap())
                .arg(name)
                .env(MARK, "1")
                .status()
                .unwrap();
            assert!(status.success());
            return;
        }
        let (_root, path) = made();
        assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));
    }

    #[test]
    fn what_an_earlier_version_left_readable_is_closed() {
        let (_root, path) = made();
        set_mode(path.parent().unwrap(), 0o755);
        set_mode(&path, 0o644);
        open_guarded(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn what_others_may_have_written_is_refused() {
        let (_root, path) = made();
        set_mode(&path, 0o666);
        assert!(refusal(&path).contains("it may be written by others (mode 0666)"));
        set_mode(&path, 0o600);
        set_mode(path.parent().unwrap(), 0o777);
        assert!(refusal(&path).contains("its folder may be written by others (mode 0777)"));
        set_mode(path.parent().unwrap(), 0o700);
        open_guarded(&path).unwrap();
    }

    #[test]
    fn links_are_not_followed() {
        let (root, path) = made();
        let victim = root.path().join("victim");
        std::fs::write(&victim, "kept").unwrap();
        std::fs::remove_file(&path).unwrap();
        symlink(&victim, &path).unwrap();
        assert!(refusal(&path).contains("it is a symbolic link"));
        let folder = root.path().join("link");
        symlink(path.parent().unwrap(), &folder).unwrap();
        assert!(refusal(&folder.join("journal")).contains("its folder is a symbolic link"));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: only root can give a file away");
        }
        let (_root, path) = made();
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        assert!(refusal(&path).contains("it belongs to user 65534"));
    }
}
