// SPDX-License-Identifier: GPL-2.0-only
//! Writing files that a user named. What is there decides how: a regular file of one's own appears
//! under its name when it is complete; a device, a pipe, or another user's file is written into, as
//! any other program would, and keeps being what it was (invariant 7).

mod replace;

use crate::caller::{folder_of, give_to_caller};
use replace::{copy, keep, replace};
use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Writes the file that a user named and returns its length in bytes.
///
/// `-` is standard output. Symbolic links are followed where the kernel lets this process follow them
/// (`fs.protected_symlinks`). A new file, and one that is this user's alone, is written without a
/// name and put into its place, so that a reader finds the old or the new one complete; its rights are
/// those that the umask leaves, or those it had.
///
/// # Errors
/// Any of the file system or of `write`; an older regular file of this user is then unchanged.
pub fn write_named(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<u64> {
    write_with(path, 0o666, 0o777, write)
}

/// The same where a new file is at most this user's: what root may read of a machine is in it.
///
/// # Errors
/// The same as [`write_named`].
pub fn write_private(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<u64> {
    write_with(path, PRIVATE, PRIVATE, write)
}

/// Read and written by its owner alone.
const PRIVATE: u32 = 0o600;

/// A new file gets of the rights `new` what the umask leaves, and an older one of this user keeps of its own
/// those in `kept`.
fn write_with(
    path: &Path,
    new: u32,
    kept: u32,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<u64> {
    if is_standard_output(path) {
        return write_into(&mut std::io::stdout().lock(), write);
    }
    match target(path)? {
        Target::Absent => replace(path, new & !umask(), write),
        Target::Own(place, mode) => replace(&place, mode & kept, write),
        Target::Foreign(mut file) => {
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            write_into(&mut file, write)
        }
    }
}

/// Opens the file that a user named, to be written bit by bit: what is in a regular file stays where `keep`
/// says so, and what is written goes behind it. Symbolic links and rights are as with [`write_named`].
///
/// # Errors
/// Any of the file system; for a FIFO without a reader; for another user's file in a folder that every user may write.
pub fn open_growing(path: &Path, keep: bool) -> Result<File> {
    let file = match opened(path)? {
        Some(file) => file,
        None => {
            let file = File::options().write(true).create_new(true).open(path)?;
            give_to_caller(&file, path)?;
            file
        }
    };
    if file.metadata()?.is_file() {
        if keep {
            rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? | OFlags::APPEND)?
        } else {
            file.set_len(0)?
        }
    }
    Ok(file)
}

/// Writes a file under a name that the user did not type: it replaces the file that is there, which is never
/// opened. Only this user may read it. Returns its length in bytes.
///
/// # Errors
/// Any of the file system or of `write`, e.g. for another user's file in a folder with the
/// sticky bit; the file is then unchanged.
pub fn write_unasked(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<u64> {
    replace(path, PRIVATE & !umask(), write)
}

/// A file without a name, in the folder where [`keep_private`] or its like will give it one, or elsewhere:
/// a process that is killed before that leaves nothing.
///
/// # Errors
/// Any of the file system.
pub fn unnamed_in(folder: &Path) -> Result<File> {
    tempfile::tempfile_in(folder)
}

/// Makes a complete file without a name the one that a user named, as [`write_private`] would write it. Where a link
/// will not do, as into a pipe or on another file system, it is copied.
///
/// # Errors
/// The same as [`write_named`].
pub fn keep_private(path: &Path, file: &File) -> Result<()> {
    keep_with(path, PRIVATE, PRIVATE, file)
}

/// The same where others may read the file, as [`write_named`] would write it.
///
/// # Errors
/// The same as [`write_named`].
pub fn keep_named(path: &Path, file: &File) -> Result<()> {
    keep_with(path, 0o666, 0o777, file)
}

/// The rights are those of [`write_with`].
fn keep_with(path: &Path, new: u32, kept: u32, file: &File) -> Result<()> {
    if is_standard_output(path) {
        return copy(file, &mut std::io::stdout().lock());
    }
    match target(path)? {
        Target::Absent => keep(path, new & !umask(), file),
        Target::Own(place, mode) => keep(&place, mode & kept, file),
        Target::Foreign(mut to) => {
            if to.metadata()?.is_file() {
                to.set_len(0)?;
            }
            copy(file, &mut to)
        }
    }
}

/// The same under a name that the user did not type, as [`write_unasked`].
///
/// # Errors
/// The same as [`write_unasked`].
pub fn keep_unasked(path: &Path, file: &File) -> Result<()> {
    keep(path, PRIVATE & !umask(), file)
}

/// A folder of this user's own in `place`, which no other user may enter, whatever the umask; removed
/// with the result.
///
/// # Errors
/// Any of the file system.
pub fn private_folder(place: &Path) -> Result<tempfile::TempDir> {
    tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o700)).tempdir_in(place)
}

/// True if this name is standard output: `-`, `/dev/stdout` or the file that it is.
pub fn is_standard_output(path: &Path) -> bool {
    let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    let output = std::io::stdout().as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
    path == Path::new("-")
        || matches!((std::fs::metadata(path), output), (Ok(named), Ok(output)) if same(&named, &output))
}

/// The file at the path that is to be written.
enum Target {
    /// No file.
    Absent,
    /// A regular file of this user that has no other name: its place and its rights.
    Own(PathBuf, u32),
    /// Anything else, open to be written.
    Foreign(File),
}

/// The time that a FIFO may be without a reader, which may be starting.
const PATIENCE: Duration = Duration::from_secs(2);

fn target(path: &Path) -> Result<Target> {
    let Some(file) = opened(path)? else { return Ok(Target::Absent) };
    let found = file.metadata()?;
    let own = found.is_file() && found.nlink() == 1 && found.uid() == rustix::process::geteuid().as_raw();
    let place = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    match place {
        Ok(place) if own => Ok(Target::Own(place, found.mode() & 0o777)),
        _ => Ok(Target::Foreign(file)),
    }
}

/// The file at this path, open for writing, if there is one. It is opened first and judged then, so that
/// the file that is judged is the one that is written. A FIFO without a reader is an error, not an endless wait.
fn opened(path: &Path) -> Result<Option<File>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(found) => File::from(found),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // Another name may be put there while a FIFO is waited for; a link is followed by its name.
    let place = match found.metadata()? {
        link if link.is_symlink() => {
            refuse_planted_link(path, &link)?;
            path.to_owned()
        }
        other => {
            refuse_planted(&found, &other)?;
            format!("/proc/self/fd/{}", found.as_raw_fd()).into()
        }
    };
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let until = Instant::now() + PATIENCE;
    let opened = loop {
        match rustix::fs::open(&place, flags, Mode::empty()) {
            Err(rustix::io::Errno::NXIO) if Instant::now() < until => std::thread::sleep(PATIENCE / 100),
            opened => break opened,
        }
    };
    let file = match opened {
        Ok(fd) => File::from(fd),
        Err(rustix::io::Errno::NOENT) => {
            let why = "it is a symbolic link to a file that does not exist";
            return Err(Error::new(ErrorKind::NotFound, why));
        }
        Err(rustix::io::Errno::NXIO) => {
            return Err(Error::other("it is a FIFO that no process reads, or a device that does not exist"));
        }
        Err(error) => return Err(error.into()),
    };
    rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    refuse_planted(&file, &file.metadata()?)?;
    Ok(Some(file))
}

const STICKY: u32 = 0o1000;

/// Refuses a link of another user in a folder that every user may write, as the kernel does with
/// fs.protected_symlinks.
fn refuse_planted_link(path: &Path, link: &Metadata) -> Result<()> {
    let folder = folder_of(path).metadata()?;
    let is_own = link.uid() == rustix::process::geteuid().as_raw() || link.uid() == folder.uid();
    if folder.mode() & STICKY != 0 && folder.mode() & 0o002 != 0 && !is_own { Err(planted()) } else { Ok(()) }
}

fn planted() -> Error {
    let why = "another user created it in a folder that all users may write to";
    Error::new(ErrorKind::PermissionDenied, why)
}

/// Refuses a file of another user in a folder that every user may write, as the kernel does for files that are
/// opened to be made (fs.protected_regular, fs.protected_fifos): root's words would be that user's to read.
fn refuse_planted(file: &File, found: &Metadata) -> Result<()> {
    let kind = found.file_type();
    let me = rustix::process::geteuid().as_raw();
    if !(kind.is_file() || kind.is_fifo()) || found.uid() == me {
        return Ok(());
    }
    // By the open file: its name may lead elsewhere by now.
    let real = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let folder = real.parent().unwrap_or(Path::new("/")).metadata()?;
    let everybodys = folder.mode() & STICKY != 0 && folder.mode() & 0o022 != 0;
    if everybodys && folder.uid() != found.uid() { Err(planted()) } else { Ok(()) }
}

fn write_into(to: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<u64> {
    let mut counted = Counted { to, bytes: 0 };
    write(&mut counted)?;
    counted.flush()?;
    Ok(counted.bytes)
}

struct Counted<'a> {
    to: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }
}

/// This process's umask, which only `/proc` shows without changing it for all threads.
fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileTypeExt;

    fn put(path: &Path, text: &str) -> Result<u64> {
        write_named(path, |to| to.write_all(text.as_bytes()))
    }

    #[test]
    fn a_fifo_with_a_reader_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(put(&fifo, "x").unwrap_err().to_string().contains("no process reads"));
        let large = "x".repeat(1 << 20);
        let text = std::thread::scope(|scope| {
            // Open for both, so that it has a reader at once.
            let mut reader = File::options().read(true).write(true).open(&fifo).unwrap();
            let text = scope.spawn(move || {
                let mut text = vec![0; 1 << 20];
                std::io::Read::read_exact(&mut reader, &mut text).unwrap();
                text
            });
            put(&fifo, &large).unwrap();
            text.join().unwrap()
        });
        assert_eq!(text, large.as_bytes(), "more than the pipe holds");
        assert!(fifo.metadata().unwrap().file_type().is_fifo());
    }

    /// While a FIFO is waited for, its owner may put a link to another file under its name.
    #[test]
    fn the_file_that_was_judged_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (fifo, victim) = (dir.path().join("fifo"), dir.path().join("victim"));
        std::fs::write(&victim, "old").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::from(0o600), 0)
            .unwrap();
        let swapped = std::thread::scope(|scope| {
            let written = scope.spawn(|| put(&fifo, "new"));
            std::thread::sleep(PATIENCE / 10);
            std::fs::remove_file(&fifo).unwrap();
            std::os::unix::fs::symlink(&victim, &fifo).unwrap();
            written.join().unwrap()
        });
        assert!(swapped.unwrap_err().to_string().contains("no process reads"));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "old");
    }

    #[test]
    fn planted_files_of_other_users_are_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::chown(&file, Some(65534), None).unwrap();
        put(&file, "x").unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(put(&file, "y").unwrap_err().kind(), ErrorKind::PermissionDenied);
        for keep in [true, false] {
            assert_eq!(open_growing(&file, keep).unwrap_err().kind(), ErrorKind::PermissionDenied);
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "x");
    }

    #[test]
    fn a_growing_file_keeps_what_it_had_or_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let text = || std::fs::read_to_string(&file).unwrap();
        for (keep, expected) in [(true, "12"), (true, "1212"), (false, "12")] {
            let mut growing = open_growing(&file, keep).unwrap();
            growing.write_all(b"1").unwrap();
            growing.write_all(b"2").unwrap();
            assert_eq!(text(), expected);
        }
        // Who else adds to it loses nothing.
        let mut growing = open_growing(&file, true).unwrap();
        File::options().append(true).open(&file).unwrap().write_all(b"other").unwrap();
        growing.write_all(b"3").unwrap();
        assert_eq!(text(), "12other3");
    }

    #[test]
    fn a_fifo_without_a_reader_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        assert!(open_growing(&fifo, true).unwrap_err().to_string().contains("no process reads"));
    }

    #[test]
    fn a_device_stays_a_device() {
        // A node of one's own, with the numbers of /dev/null, where this may be made; else the real one,
        // which only root could replace.
        let dir = tempfile::tempdir().unwrap();
        let node = dir.path().join("null");
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            &node,
            rustix::fs::FileType::CharacterDevice,
            Mode::from_raw_mode(0o666),
            rustix::fs::makedev(1, 3),
        );
        let node = if made.is_ok() { node } else { PathBuf::from("/dev/null") };
        match put(&node, "x") {
            // A file system mounted with nodev refuses, and leaves the node too.
            Ok(length) => assert_eq!(length, 1),
            Err(error) => assert_eq!(error.kind(), ErrorKind::PermissionDenied),
        }
        assert!(node.metadata().unwrap().file_type().is_char_device());
    }

    #[test]
    fn default_names_replace_any_file() {
        let dir = tempfile::tempdir().unwrap();
        let (file, name) = (dir.path().join("file"), dir.path().join("name"));
        std::fs::write(&file, "kept").unwrap();
        std::os::unix::fs::symlink("file", &name).unwrap();
        write_unasked(&name, |to| to.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
        assert_eq!(std::fs::read_to_string(&name).unwrap(), "new");
        std::fs::remove_file(&name).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &name, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        write_unasked(&name, |to| to.write_all(b"new")).unwrap();
        assert!(name.metadata().unwrap().is_file());
    }

    #[test]
    fn a_file_gets_its_name_when_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let entries = || std::fs::read_dir(dir.path()).unwrap().count();
        for text in ["new", "replaced"] {
            let mut file = unnamed_in(dir.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let before = entries();
            keep_private(&path, &file).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!((before, entries()), (usize::from(text == "replaced"), 1), "nothing stands beside it");
            assert_eq!(path.metadata().unwrap().mode() & 0o077, 0);
        }
        let mut file = unnamed_in(dir.path()).unwrap();
        file.write_all(b"unasked").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("file", &link).unwrap();
        keep_unasked(&link, &file).unwrap();
        assert_eq!(std::fs::read_to_string(&link).unwrap(), "unasked");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "replaced",
            "a name that nobody typed leads nowhere"
        );
    }

    #[test]
    fn a_file_that_others_read_is_replaced_at_once_and_keeps_its_rights() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.prom");
        let keep = |text: &str| {
            let mut file = unnamed_in(dir.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            keep_named(&path, &file).unwrap();
        };
        keep("first");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o666 & !umask());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let reader = File::open(&path).unwrap();
        keep("second");
        assert_eq!(std::io::read_to_string(reader).unwrap(), "first", "who reads it has the old one");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_symbolic_link_stays_and_its_file_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        put(&link, "new").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        std::fs::remove_file(&file).unwrap();
        assert!(put(&link, "x").unwrap_err().to_string().contains("symbolic link"));
    }

    #[test]
    fn a_fifo_carries_what_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || std::fs::read_to_string(fifo).unwrap()
        });
        put(&fifo, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fifo.metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn rights_stay_but_no_set_user_id() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4640)).unwrap();
        assert_eq!(put(&path, "newer").unwrap(), 5);
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o640);
        let fresh = dir.path().join("fresh");
        put(&fresh, "x").unwrap();
        assert_eq!(fresh.metadata().unwrap().mode() & 0o777, 0o666 & !umask());
    }

    #[test]
    fn a_second_name_of_the_file_sees_the_new_text() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::write(&a, "an older and longer text").unwrap();
        std::fs::hard_link(&a, &b).unwrap();
        put(&a, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&b).unwrap(), "new");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "old").unwrap();
        let failed = write_named(&path, |to| {
            to.write_all(b"half")?;
            Err(Error::other("enough"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
