// SPDX-License-Identifier: GPL-2.0-only
//! Source archives, unpacked without their outermost folder.

use super::SourceError;
use dyntick_system::{is_inner, open_beneath, open_regular, place_beneath};
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// Unpacks a .tar, .tar.xz, .tar.gz or .tar.zst; its first bytes tell which.
pub fn file(path: &Path, folder: &Path) -> std::result::Result<(), SourceError> {
    decompressed(open_regular(path)?, path, folder)
}

/// Unpacks a file as [`file`] does, and refuses it where it is not what it was when its hash was taken: it
/// would be kept under a hash that is not its own.
pub fn file_of_hash(path: &Path, sha256: &str, folder: &Path) -> std::result::Result<(), SourceError> {
    let mut hashed = Hashed { file: open_regular(path)?, hash: Sha256::new() };
    decompressed(&mut hashed, path, folder)?;
    std::io::copy(&mut hashed, &mut std::io::sink())
        .map_err(|source| SourceError::Read { path: path.to_owned(), source })?;
    if hex::encode(hashed.hash.finalize()) == sha256 {
        Ok(())
    } else {
        Err(SourceError::Swapped(path.to_owned()))
    }
}

/// A file whose hash is taken while it is read.
struct Hashed {
    file: File,
    hash: Sha256,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

/// The memory that unpacking xz may take, bytes: the file says how much it needs. `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;

fn decompressed(source: impl Read, path: &Path, folder: &Path) -> std::result::Result<(), SourceError> {
    let what = path.display().to_string();
    let mut file = BufReader::with_capacity(1 << 20, source);
    let head = file.fill_buf().map_err(|source| SourceError::Read { path: path.to_owned(), source })?;
    let magic: Vec<u8> = head.iter().take(6).copied().collect();
    match magic[..] {
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            match liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, 0) {
                Ok(decoder) => stream(liblzma::read::XzDecoder::new_stream(file, decoder), folder, &what),
                Err(error) => Err(SourceError::Unpack { what, reason: error.to_string() }),
            }
        }
        [0x1f, 0x8b, ..] => stream(flate2::read::GzDecoder::new(file), folder, &what),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match zstd::Decoder::with_buffer(file) {
            Ok(decoder) => stream(decoder, folder, &what),
            Err(error) => Err(SourceError::Unpack { what, reason: error.to_string() }),
        },
        _ => stream(file, folder, &what),
    }
}

/// Unpacks the stream of a tar archive: folders, regular files and symbolic links, the latter never as a
/// way to another place. What would lead out of `folder`, or is a device, is refused.
pub fn stream(reader: impl Read, folder: &Path, what: &str) -> std::result::Result<(), SourceError> {
    unpack(reader, folder)
        .map_err(|error| SourceError::Unpack { what: what.to_owned(), reason: error.to_string() })
}

/// A kernel has 1.5 GiB in some 90 000 files; a bomb has no end.
pub const BYTES: u64 = 8 << 30;
const ENTRIES: usize = 500_000;
/// The limit of the headers before an entry, with a long name or the like, bytes.
const HEADERS: u64 = 1 << 20;
/// `PATH_MAX` of Linux (include/uapi/linux/limits.h).
const PATH_MAX: usize = 4096;

fn unpack(reader: impl Read, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let allowance = Rc::new(Cell::new(0));
    let mut archive = tar::Archive::new(Metered { reader, left: Rc::clone(&allowance) });
    let mut entries = archive.entries().map_err(|_| unreadable(0, &allowance))?;
    let mut left = BYTES;
    for number in 0.. {
        if number > ENTRIES {
            return Err(refused(format!("it has more than {ENTRIES} files")));
        }
        // All of a name is read into memory; a file is not.
        allowance.set(HEADERS);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(|_| unreadable(number, &allowance))?;
        allowance.set(left.saturating_add(HEADERS));
        let path = entry.path().map_err(|_| unreadable(number, &allowance))?.into_owned();
        let Some(inner) = without_outermost(&path)? else { continue };
        let at = |error: Error| {
            refused(format!("{}: {error}", dyntick_model::text::clean_line(&path.to_string_lossy())))
        };
        let own = of_itself(&inner).map_err(at)?;
        let room = left.checked_sub(own).ok_or_else(too_much).map_err(at)?;
        left = room - put(&mut entry, folder, &inner, room).map_err(at)?;
        // The padding of an entry is not read as the next one's header.
        std::io::copy(&mut entry, &mut std::io::sink())?;
    }
    Ok(())
}

/// The space that a file takes on the disk besides its contents, bytes: a block for itself and for each folder above
/// it, which may be its own.
///
/// # Errors
/// If it lies deeper than any file of a kernel: some bytes of an archive can name any number of folders.
pub fn of_itself(inner: &Path) -> Result<u64> {
    const BLOCK: u64 = 4096;
    const DEEPEST: usize = 64;
    match inner.components().count() {
        levels if levels > DEEPEST => Err(refused(format!("it lies more than {DEEPEST} folders deep"))),
        levels => Ok(BLOCK * levels as u64),
    }
}

fn too_much() -> Error {
    refused(format!("the archive holds more than {} GiB", BYTES >> 30))
}

fn too_large() -> Error {
    refused("a name, or the archive, is larger than that of any kernel".to_owned())
}

/// The error for an archive that cannot be read. The tar library quotes what it does not understand, and a
/// study may name any file as an archive.
fn unreadable(number: usize, left: &Cell<u64>) -> Error {
    match left.get() {
        0 => too_large(),
        _ => refused(format!("it is not a tar archive, or damaged at its entry {}", number + 1)),
    }
}

fn refused(reason: String) -> Error {
    Error::new(ErrorKind::InvalidData, reason)
}

/// Puts an entry beneath `folder`. Returns how many bytes it takes, of at most `limit`.
fn put<R: Read>(entry: &mut tar::Entry<'_, R>, folder: &Path, inner: &Path, limit: u64) -> Result<u64> {
    use tar::EntryType;
    let kind = entry.header().entry_type();
    // Attributes of the archive, which git writes with the commit.
    if kind == EntryType::XGlobalHeader {
        return Ok(0);
    }
    let place = place_beneath(folder, inner)?;
    match kind {
        EntryType::Directory => {
            place_beneath(folder, &inner.join("x"))?;
            Ok(0)
        }
        EntryType::Symlink => {
            let target = entry.link_name()?.ok_or_else(|| refused("a link that leads nowhere".to_owned()))?;
            clear(&place)?;
            std::os::unix::fs::symlink(target, &place)?;
            Ok(0)
        }
        EntryType::Link => {
            let target = entry.link_name()?.ok_or_else(|| refused("a link that leads nowhere".to_owned()))?;
            let target =
                without_outermost(&target)?.ok_or_else(|| refused("a link to a folder".to_owned()))?;
            // A copy: of two names for one file a build would find the other changed too.
            let mut from = open_beneath(folder, &target)?;
            let mode = from.metadata()?.permissions().mode();
            write(&mut from, &place, mode, limit)
        }
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            let mode = entry.header().mode()?;
            write(entry, &place, mode, limit)
        }
        _ => Err(refused("it is neither a file, a folder nor a symbolic link".to_owned())),
    }
}

/// A later entry takes the place of an earlier one of the same name.
fn clear(place: &Path) -> Result<()> {
    match std::fs::remove_file(place) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a new file; of its rights only that it is a program.
fn write(from: &mut impl Read, place: &Path, mode: u32, limit: u64) -> Result<u64> {
    clear(place)?;
    let rights = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
    let mut file = File::options().write(true).create_new(true).open(place)?;
    let size = std::io::copy(&mut from.take(limit.saturating_add(1)), &mut file)?;
    if size > limit {
        return Err(too_much());
    }
    file.set_permissions(std::fs::Permissions::from_mode(rights))?;
    Ok(size)
}

/// A reader that ends in an error where more is read than was allowed.
struct Metered<R> {
    reader: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let size = self.reader.read(buffer)?;
        match self.left.get().checked_sub(size as u64) {
            Some(left) => self.left.set(left),
            None => {
                self.left.set(0);
                return Err(too_large());
            }
        }
        Ok(size)
    }
}

/// `linux-6.12/kernel/fork.c` is `kernel/fork.c`; nothing for the outermost folder itself.
fn without_outermost(path: &Path) -> Result<Option<PathBuf>> {
    // Longer names cannot be given to the system at once, and lead through more folders than may be open.
    if path.as_os_str().len() >= PATH_MAX {
        return Err(refused(format!("a name has more than {PATH_MAX} bytes")));
    }
    let plain = path.components().filter(|part| *part != Component::CurDir);
    let inner: PathBuf = plain.skip(1).collect();
    if inner.as_os_str().is_empty() {
        Ok(None)
    } else if is_inner(&inner) && !path.is_absolute() {
        Ok(Some(inner))
    } else {
        Err(refused(format!(
            "'{}' leads out of the folder",
            dyntick_model::text::clean_line(&path.to_string_lossy())
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn archive() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, text) in [("linux-6/Kconfig", "a"), ("linux-6/kernel/fork.c", "b")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap()
    }

    #[test]
    fn every_compression_gives_the_same_tree() {
        let dir = tempfile::tempdir().unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&archive()).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
        xz.write_all(&archive()).unwrap();
        let zst = zstd::bulk::compress(&archive(), 1).unwrap();
        let all = [("gz", gz.finish().unwrap()), ("xz", xz.finish().unwrap()), ("zst", zst), ("", archive())];
        for (name, bytes) in all {
            let path = dir.path().join(format!("a.tar.{name}"));
            std::fs::write(&path, bytes).unwrap();
            let folder = dir.path().join(format!("tree-{name}"));
            file(&path, &folder).unwrap();
            assert_eq!(std::fs::read_to_string(folder.join("kernel/fork.c")).unwrap(), "b", "{name}");
        }
    }

    #[test]
    fn entries_never_lead_out_of_the_folder() {
        let inner = |path: &str| without_outermost(Path::new(path));
        assert_eq!(inner("./linux/a/b").unwrap(), Some("a/b".into()));
        assert!(inner("linux/../../etc/passwd").is_err() && inner("/linux/a").is_err());
        assert_eq!(inner("linux/").unwrap(), None);
        assert!(inner(&"a/".repeat(2000)).is_ok() && inner(&"a/".repeat(2048)).is_err());
    }

    /// An archive of such entries: kind, name, where a link leads, mode.
    fn entries(all: &[(tar::EntryType, &str, &str, u32)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (kind, name, target, mode) in all {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(*mode);
            let text: &[u8] = if kind.is_file() { b"text" } else { b"" };
            header.set_size(text.len() as u64);
            // As an untrusted own program would write it; the library refuses such names.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
            header.set_cksum();
            tar.append(&header, text).unwrap();
        }
        tar.into_inner().unwrap()
    }

    #[test]
    fn folders_that_an_archive_only_names_have_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let archive = |levels: usize| {
            let (mut tar, mut header) = (tar::Builder::new(Vec::new()), tar::Header::new_gnu());
            header.set_size(0);
            header.set_mode(0o644);
            tar.append_data(&mut header, format!("l/{}f", "a/".repeat(levels)), &b""[..]).unwrap();
            tar.into_inner().unwrap()
        };
        let unpacked = |levels| stream(&archive(levels)[..], folder.path(), "x.tar");
        unpacked(40).unwrap();
        let error = unpacked(64).unwrap_err().to_string();
        assert!(error.contains("folders deep"), "{error}");
        assert_eq!(of_itself(Path::new("kernel/sched/core.c")).unwrap(), 3 * 4096);
    }

    #[test]
    fn an_archive_does_not_lead_out_by_its_own_links() {
        use tar::EntryType as Kind;
        let outside = tempfile::tempdir().unwrap();
        let away = outside.path().to_str().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        let through = |kind, name: &str, target: &str| {
            let folder = tempfile::tempdir().unwrap();
            let way = (Kind::Symlink, "linux/way", away, 0o777);
            let bytes = entries(&[way, (kind, name, target, 0o644)]);
            let result = stream(&bytes[..], folder.path(), "x.tar");
            assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "{name}");
            result.map_err(|error| error.to_string())
        };
        for (kind, name, target) in [
            (Kind::Regular, "linux/way/file", ""),
            (Kind::Regular, "linux/way/a/file", ""),
            (Kind::Directory, "linux/way/folder/", ""),
            (Kind::Symlink, "linux/way/link", "x"),
            (Kind::Link, "linux/way/link", "linux/way/secret"),
            (Kind::Link, "linux/hard", "linux/way/secret"),
            (Kind::Link, "linux/hard", "linux/../../etc/passwd"),
            (Kind::Link, "linux/hard", "/etc/passwd"),
            (Kind::Regular, "linux/../up", ""),
            (Kind::Regular, "/linux/absolute", ""),
            (Kind::Char, "linux/null", ""),
            (Kind::Block, "linux/disk", ""),
            (Kind::Fifo, "linux/fifo", ""),
        ] {
            let told = through(kind, name, target).unwrap_err();
            assert!(told.starts_with("cannot unpack x.tar: "), "{told}");
        }
        through(Kind::Regular, "linux/way", "").unwrap();
    }

    #[test]
    fn files_have_no_rights_of_their_own() {
        use tar::EntryType as Kind;
        let folder = tempfile::tempdir().unwrap();
        let bytes = entries(&[
            (Kind::Regular, "linux/program", "", 0o6755),
            (Kind::Regular, "linux/open", "", 0o666),
            (Kind::Link, "linux/second", "linux/program", 0),
            (Kind::Symlink, "linux/scripts", "../..", 0o777),
        ]);
        stream(&bytes[..], folder.path(), "x.tar").unwrap();
        let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!([mode("program"), mode("open"), mode("second")], [0o755, 0o644, 0o755]);
        assert!(folder.path().join("scripts").is_symlink());
    }

    /// Some bytes, then as many zeros as are asked for.
    fn padded(bytes: Vec<u8>) -> impl Read {
        std::io::Cursor::new(bytes).chain(std::io::repeat(0))
    }

    #[test]
    fn bombs_are_refused_before_they_fill_memory_or_disk() {
        let dir = tempfile::tempdir().unwrap();
        let told = |kind, size: u64, reader: fn(Vec<u8>) -> Box<dyn Read>| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_path("linux/x").unwrap();
            header.set_size(size);
            header.set_cksum();
            stream(reader(header.as_bytes().to_vec()), dir.path(), "x.tar").unwrap_err().to_string()
        };
        let endless: fn(Vec<u8>) -> Box<dyn Read> = |bytes| Box::new(padded(bytes));
        let name = told(tar::EntryType::GNULongName, 1 << 40, endless);
        assert!(name.contains("larger than that of any kernel"), "{name}");
        let folder = tempfile::tempdir().unwrap();
        let written = write(&mut std::io::repeat(0), &folder.path().join("x"), 0, 1000).unwrap_err();
        assert!(written.to_string().contains("more than 8 GiB"), "{written}");
    }

    #[test]
    fn an_archive_is_what_its_hash_says_to_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        std::fs::write(&path, archive()).unwrap();
        let sha256 = crate::hash::Contents::of(&path, BYTES).unwrap().sha256;
        let unpack = |to: &str| file_of_hash(&path, &sha256, &dir.path().join(to));
        unpack("first").unwrap();
        // Behind the end that tar sees.
        File::options().append(true).open(&path).unwrap().write_all(&[0; 1 << 20]).unwrap();
        assert!(matches!(unpack("second"), Err(SourceError::Swapped(_))));
    }

    #[test]
    fn malformed_archives_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar.xz");
        std::fs::write(&path, b"\xfd7zXZ\0damaged").unwrap();
        let error = file(&path, dir.path()).unwrap_err().to_string();
        assert!(error.contains("x.tar.xz"), "{error}");
        let secret = dir.path().join("shadow");
        std::fs::write(&secret, "root:HASH:19000:0:99999:7:::\n".repeat(100)).unwrap();
        let error = file(&secret, &dir.path().join("to")).unwrap_err().to_string();
        assert!(error.contains("not a tar archive") && !error.contains("HASH"), "{error}");
        assert!(matches!(file(Path::new("/no/such"), dir.path()), Err(SourceError::Input(_))));
    }
}
