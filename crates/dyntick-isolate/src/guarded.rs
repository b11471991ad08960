// SPDX-License-Identifier: GPL-2.0-only
//! A file that root trusts later: its folder is accessible only to its owner, so that no other user can have written
//! it. Its permissions do not depend on the umask (invariant 6).

use rustix::fs::{Mode, OFlags, fchmod, fstat, mkdir, open, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a file for reading and appending, and creates it and its folder if they do not exist.
///
/// # Errors
/// If the file system refuses; if the folder or the file belongs to neither this user nor root, is writable by others,
/// or is a symbolic link; or if the file is not regular.
pub(crate) fn open_guarded(path: &Path) -> io::Result<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    make_folder(folder)?;
    let as_folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = open(folder, as_folder, Mode::empty()).map_err(|errno| link(errno, "its folder"))?;
    trusted(&fstat(&folder)?, "its folder")?;
    // Opening a FIFO would block.
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
    // An earlier version left it readable to all users, with the command line in it.
    fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    Ok(File::from(file))
}

/// Makes a folder and its parents, which keep the system's permissions.
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

    /// A journal in its own new folder.
    fn made() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("run/dyntick/journal");
        open_guarded(&path).unwrap().write_all(b"x").unwrap();
        (root, path)
    }

    /// The umask belongs to all threads of a process, so it is set in a child that runs this test again.
    #[test]
    fn journal_is_private_whatever_the_umask() {
        const MARK: &str = "DYNTICK_TEST_UMASK_0";
        if std::env::var_os(MARK).is_none() {
            let name = "guarded::tests::journal_is_private_whatever_the_umask";
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
    fn readable_journal_of_an_earlier_version_is_made_private() {
        let (_root, path) = made();
        set_mode(path.parent().unwrap(), 0o755);
        set_mode(&path, 0o644);
        open_guarded(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn journal_writable_by_others_is_refused() {
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
    fn file_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: only root can give a file away");
        }
        let (_root, path) = made();
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        assert!(refusal(&path).contains("it belongs to user 65534"));
    }
}
