// SPDX-License-Identifier: GPL-2.0-only
//! Archives from untrusted sources: gzip-compressed tars of plain files, records and support bundles
//! among them. The content of one decides nothing about how much memory is taken: each piece has a limit, the
//! archive has one, and only requested pieces are kept.

use dyntick_model::text::shortened;
use flate2::read::GzDecoder;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::rc::Rc;

/// The longest name of a piece, which is a path, that is shown in full.
const LONGEST_NAME_SHOWN: usize = 120;

/// The limits for all pieces of an archive together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Unpacked bytes that any archive may have …
    pub free: u64,
    /// … and this number more for each byte that was read of the file: data written by a machine
    /// shrinks by less than this, and a bomb by some thousand.
    pub ratio: u64,
    /// Unpacked bytes that none may have.
    pub total: u64,
    /// Pieces.
    pub pieces: usize,
}

/// The handling of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It is read, and may have at most this many bytes.
    Read(u64),
    /// It is passed over.
    Skip,
    /// The archive is damaged because it is there, for this reason.
    Refuse(String),
}

/// A receiver of the pieces of an archive, in their order.
pub trait Receiver {
    /// The reason why a piece was not taken.
    type Error: From<ArchiveError>;

    /// Decides on the piece of this name; the pieces before it have been taken.
    fn wants(&mut self, name: &str) -> Wanted;

    /// Takes a piece.
    ///
    /// # Errors
    /// Whatever is wrong with it; reading ends.
    fn take(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), Self::Error>;
}

/// The defect of an archive.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// It is something else: no archive, an empty one, or one that begins with another piece.
    #[error("{0}")]
    Foreign(String),
    /// It was cut short, changed or forged.
    #[error("{0}")]
    Damaged(String),
}

/// Reads an archive whose first piece is called `first`, to its end: the checksum is there.
///
/// # Errors
/// Where it is foreign or damaged, holds what is no plain file, the same name twice or more than the
/// limits allow, or where the receiver refuses a piece.
pub fn read<R: Receiver>(
    source: impl Read,
    first: &str,
    limits: Limits,
    receiver: &mut R,
) -> Result<(), R::Error> {
    let bounded = Bounded::new(source, limits);
    let why = Rc::clone(&bounded.why);
    let mut archive = tar::Archive::new(bounded);
    let mut names = BTreeSet::new();
    for entry in archive.entries().map_err(|_| unreadable(0, &why))? {
        let begun = !names.is_empty();
        let mut entry = entry.map_err(|_| unreadable(names.len(), &why))?;
        let name = entry.path().map(|path| path.to_string_lossy().into_owned());
        let name = name.map_err(|_| unreadable(names.len(), &why))?;
        if !begun && name != first {
            return Err(ArchiveError::Foreign(format!("it does not start with {first}")).into());
        }
        let kind = entry.header().entry_type();
        let told = shortened(&name.replace('\n', " "), LONGEST_NAME_SHOWN);
        let damaged = |reason: String| ArchiveError::Damaged(format!("{told}: {reason}"));
        if kind != tar::EntryType::Regular {
            return Err(damaged(format!("it is {}; only regular files are read", kind_name(kind))).into());
        }
        if names.len() == limits.pieces {
            return Err(damaged(format!("the archive has more than {} files", limits.pieces)).into());
        }
        if !names.insert(name.clone()) {
            return Err(damaged("it occurs twice".to_owned()).into());
        }
        match receiver.wants(&name) {
            Wanted::Skip => {}
            Wanted::Refuse(reason) => return Err(damaged(reason).into()),
            Wanted::Read(limit) => {
                let bytes = piece(&mut entry, limit).map_err(damaged)?;
                receiver.take(&name, bytes)?;
            }
        }
    }
    if names.is_empty() {
        return Err(ArchiveError::Foreign("it is empty".to_owned()).into());
    }
    io::copy(&mut archive.into_inner(), &mut io::sink())
        .map_err(|error| ArchiveError::Damaged(error.to_string()))?;
    Ok(())
}

/// The error of an archive after this number of entries: the reason why no more of it could be read, or that tar's
/// format is broken. The tar library quotes what it does not understand, which may be the text of any file.
fn unreadable(entries: usize, why: &Cell<Option<String>>) -> ArchiveError {
    match (why.take(), entries) {
        (Some(why), 0) => ArchiveError::Foreign(why),
        (Some(why), _) => ArchiveError::Damaged(why),
        (None, 0) => ArchiveError::Foreign("it is not a tar archive".to_owned()),
        (None, _) => ArchiveError::Damaged(format!("it is damaged after its entry {entries}")),
    }
}

/// The bytes of a piece. Memory is taken as bytes come, and not as the header promises.
fn piece<R: Read>(entry: &mut tar::Entry<'_, R>, limit: u64) -> Result<Vec<u8>, String> {
    if entry.size() > limit {
        return Err(format!("it has {} bytes; the limit is {limit}", entry.size()));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 == entry.size() {
        Ok(bytes)
    } else {
        Err(format!("it ends after {} of {} bytes", bytes.len(), entry.size()))
    }
}

fn kind_name(kind: tar::EntryType) -> &'static str {
    use tar::EntryType;
    match kind {
        EntryType::GNUSparse => "a sparse file",
        EntryType::Symlink | EntryType::Link => "a link",
        EntryType::Directory => "a directory",
        EntryType::Block | EntryType::Char => "a device",
        EntryType::Fifo => "a FIFO",
        _ => "of an unsupported file type",
    }
}

/// The unpacked bytes, as long as they are within the limits. The names of pieces are part of that too:
/// they may be as long as a piece.
struct Bounded<R: Read> {
    unpacked: GzDecoder<Counted<R>>,
    packed: Rc<Cell<u64>>,
    taken: u64,
    limits: Limits,
    /// The reason why it was read no further.
    why: Rc<Cell<Option<String>>>,
}

impl<R: Read> Bounded<R> {
    fn new(source: R, limits: Limits) -> Self {
        let packed = Rc::new(Cell::new(0));
        let unpacked = GzDecoder::new(Counted { source, count: Rc::clone(&packed) });
        Self { unpacked, packed, taken: 0, limits, why: Rc::default() }
    }

    fn within_limits(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let length = self.unpacked.read(to)?;
        self.taken += length as u64;
        let Limits { free, ratio, total, .. } = self.limits;
        let packed = self.packed.get();
        if self.taken > total {
            return Err(io::Error::other(format!("it unpacks to more than {} MiB, the limit", total >> 20)));
        }
        if self.taken > free.saturating_add(packed.saturating_mul(ratio)) {
            let taken = self.taken;
            return Err(io::Error::other(format!(
                "{packed} bytes of it unpack to more than {taken}: the compression ratio is implausible"
            )));
        }
        Ok(length)
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.within_limits(to).inspect_err(|error| self.why.set(Some(error.to_string())))
    }
}

struct Counted<R> {
    source: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(to)?;
        self.count.set(self.count.get() + length as u64);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;
    use tar::{EntryType, Header};

    const LIMITS: Limits = Limits { free: 64 << 10, ratio: 50, total: 1 << 20, pieces: 8 };

    #[derive(Default)]
    struct Kept(Vec<(String, usize)>);

    impl Receiver for Kept {
        type Error = ArchiveError;

        fn wants(&mut self, name: &str) -> Wanted {
            match name {
                "skipped" => Wanted::Skip,
                "strange" => Wanted::Refuse("nobody asked for it".to_owned()),
                _ => Wanted::Read(500_000),
            }
        }

        fn take(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), ArchiveError> {
            self.0.push((name.to_owned(), bytes.len()));
            Ok(())
        }
    }

    fn packed(build: impl FnOnce(&mut tar::Builder<GzEncoder<Vec<u8>>>)) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        build(&mut archive);
        archive.into_inner().unwrap().finish().unwrap()
    }

    fn add(archive: &mut tar::Builder<impl Write>, name: &str, kind: EntryType, bytes: &[u8]) {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes).unwrap();
    }

    fn pieces(given: &[(&str, &[u8])]) -> Vec<u8> {
        packed(|archive| given.iter().for_each(|(name, bytes)| add(archive, name, EntryType::Regular, bytes)))
    }

    fn received(bytes: &[u8], limits: Limits) -> Result<Vec<(String, usize)>, ArchiveError> {
        let mut kept = Kept::default();
        read(bytes, "first", limits, &mut kept).map(|()| kept.0)
    }

    fn said(bytes: &[u8]) -> String {
        received(bytes, LIMITS).unwrap_err().to_string()
    }

    #[test]
    fn a_file_that_is_no_archive_is_not_quoted() {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(&b"root:$6$SECRET:19000:0:99999:7:::\n".repeat(100)).unwrap();
        assert_eq!(said(&gz.finish().unwrap()), "it is not a tar archive");
        assert_eq!(said(b"root:$6$SECRET:19000"), "invalid gzip header");
    }

    #[test]
    fn what_is_wanted_is_taken_in_order() {
        let bytes = pieces(&[("first", b"1"), ("skipped", b"22"), ("b", b"333"), ("a", b"")]);
        let expected = [("first", 1), ("b", 3), ("a", 0)].map(|(name, length)| (name.to_owned(), length));
        assert_eq!(received(&bytes, LIMITS).unwrap(), expected);
    }

    #[test]
    fn what_is_foreign_is_told_from_what_is_damaged() {
        for foreign in [&b""[..], b"#!/bin/sh\n", &pieces(&[]), &pieces(&[("other", b"1")])] {
            assert!(matches!(received(foreign, LIMITS), Err(ArchiveError::Foreign(_))));
        }
        let whole = pieces(&[("first", b"1"), ("b", &[7; 3000])]);
        for length in [whole.len() - 1, whole.len() - 9, whole.len() * 3 / 4] {
            assert!(matches!(received(&whole[..length], LIMITS), Err(ArchiveError::Damaged(_))), "{length}");
        }
        assert!(received(&[&whole[..], b"behind"].concat(), LIMITS).is_ok(), "as gunzip, with a warning");
    }

    #[test]
    fn names_are_expected_and_there_once() {
        let twice = pieces(&[("first", b"1"), ("b", b"1"), ("b", b"2")]);
        assert_eq!(said(&twice), "b: it occurs twice");
        let strange = pieces(&[("first", b"1"), ("strange", b"1")]);
        assert_eq!(said(&strange), "strange: nobody asked for it");
        let many: Vec<String> = (0..8).map(|number| format!("piece{number}")).collect();
        let many: Vec<(&str, &[u8])> = std::iter::once("first")
            .chain(many.iter().map(String::as_str))
            .map(|name| (name, &b""[..]))
            .collect();
        assert!(said(&pieces(&many)).contains("more than 8 files"));
    }

    #[test]
    fn a_name_does_not_reach_the_terminal_raw() {
        let evil = pieces(&[("first", b"1"), ("x\x1b]0;y", b"1"), ("x\x1b]0;y", b"1")]);
        assert!(!said(&evil).chars().any(char::is_control), "{}", said(&evil));
    }

    #[test]
    fn only_plain_files_are_read() {
        let kinds = [
            (EntryType::Symlink, "a link"),
            (EntryType::Link, "a link"),
            (EntryType::Char, "a device"),
            (EntryType::Fifo, "a FIFO"),
            (EntryType::Directory, "a directory"),
        ];
        for (kind, word) in kinds {
            let bytes = packed(|archive| {
                add(archive, "first", EntryType::Regular, b"1");
                add(archive, "b", kind, b"");
            });
            assert_eq!(said(&bytes), format!("b: it is {word}; only regular files are read"));
        }
    }

    /// A header by which a terabyte of zeros follows, and nothing does.
    #[test]
    fn a_hole_of_a_terabyte_is_refused_at_once() {
        let bytes = packed(|archive| {
            add(archive, "first", EntryType::Regular, b"1");
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::GNUSparse);
            header.set_path("b").unwrap();
            header.set_size(0);
            let gnu = header.as_gnu_mut().unwrap();
            gnu.realsize = *b"\x80\0\0\0\0\0\x01\0\0\0\0\0";
            gnu.sparse[0].offset = *b"\x80\0\0\0\0\0\x01\0\0\0\0\0";
            gnu.sparse[0].numbytes = *b"00000000000\0";
            header.set_cksum();
            archive.append(&header, &b""[..]).unwrap();
        });
        assert_eq!(said(&bytes), "b: it is a sparse file; only regular files are read");
    }

    #[test]
    fn bombs_are_refused_before_they_unfold() {
        let zeros = vec![0; 900_000];
        let piece = pieces(&[("first", b"1"), ("b", &zeros)]);
        assert!(said(&piece).starts_with("b: it has 900000 bytes"), "{}", said(&piece));
        // Several that are each allowed, and one that is passed over.
        let several = pieces(&[("first", b"1"), ("b", &zeros[..400_000]), ("c", &zeros[..400_000])]);
        assert!(said(&several).contains("bytes of it unpack to more than"), "{}", said(&several));
        let skipped = pieces(&[("first", b"1"), ("skipped", &zeros)]);
        assert!(said(&skipped).contains("bytes of it unpack to more than"), "{}", said(&skipped));
        // Behind the last piece, where no reader looks.
        let behind = packed(|archive| {
            add(archive, "first", EntryType::Regular, b"1");
            archive.finish().unwrap();
            archive.get_mut().write_all(&zeros).unwrap();
        });
        assert!(said(&behind).contains("bytes of it unpack to more than"), "{}", said(&behind));
        // A name that is as long as a piece.
        let name = pieces(&[("first", b"1"), (&"x/".repeat(400_000), b"1")]);
        assert!(said(&name).contains("bytes of it unpack to more than"), "{}", said(&name));
        let total = Limits { free: u64::MAX, total: 500_000, ..LIMITS };
        assert!(
            received(&several, total).is_err()
                && received(&several, Limits { total: 900_000, ..total }).is_ok()
        );
    }
}
