// SPDX-License-Identifier: GPL-2.0-only
//! A record as one file: a gzipped tar archive, so that `tar xzf` opens it too.

use crate::accept::{Accept, MOST_CPUS, accept_size};
use crate::{About, Record};
use dyntick_model::text::{clean_line, shortened};
use dyntick_observe::archive::{self, ArchiveError, Limits, Receiver, Wanted};
use dyntick_observe::trace::{Metadata, Recording};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Changes whenever an older dyntick could not read the file.
const VERSION: &str = "1";
const VERSION_PIECE: &str = "dyntick-record";
const ABOUT: &str = "about.json";
const METADATA: &str = "trace.json";
const RAW: &str = "trace.cpu";

/// What a record may hold, if it fits into memory. Its raw pages grow with the length of the recording, so no
/// number of bytes is too many by itself; but a page of a single event and zeros shrinks to a hundredth, and
/// not to less.
const LIMITS: Limits = Limits { free: 64 << 20, ratio: 200, total: u64::MAX, pieces: 3 + MOST_CPUS as usize };

/// How much of a record this machine has memory for, bytes. How many events may be in it is another limit
/// (`dyntick_observe::trace::room_for_events`): what explaining takes goes by them.
pub(crate) fn fits_into_memory() -> u64 {
    const OF_MEMORY: u64 = 64;
    (dyntick_system::memory() / OF_MEMORY).max(LIMITS.free)
}

const LONGEST_VERSION: u64 = 64;
/// `about.json` of a machine with some 100 000 threads has 20 MiB.
const LONGEST_TEXT: u64 = 64 << 20;

/// Why a record could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read or written.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something else than a record.
    #[error("{0} is not a record of `dyntick record`")]
    Foreign(PathBuf),
    /// A record of a newer dyntick.
    #[error(
        "{path} has format {version}, but this dyntick reads {VERSION}: use the dyntick version that \
         recorded it"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: String,
    },
    /// A record that was cut short or changed.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How that was seen.
        reason: String,
    },
}

impl Record {
    /// Writes it to the file that a user named: a regular one appears when it is whole and replaces one
    /// of the same name, a device or a pipe is written into, `-` is standard output.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        let io = |source: std::io::Error| FileError::Io { what: "write", path: path.to_owned(), source };
        dyntick_system::write_private(path, |file| self.write(file)).map(drop).map_err(io)
    }

    /// Writes it to a name that nobody typed, which a link or another user's file may have.
    pub fn save_unasked(&self, path: &Path) -> Result<(), FileError> {
        let io = |source: std::io::Error| FileError::Io { what: "write", path: path.to_owned(), source };
        dyntick_system::write_unasked(path, |file| self.write(file)).map(drop).map_err(io)
    }

    fn write(&self, file: impl Write) -> std::io::Result<()> {
        let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        let mut add = |name: &str, bytes: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, name, bytes)
        };
        add(VERSION_PIECE, VERSION.as_bytes())?;
        add(ABOUT, &serde_json::to_vec_pretty(&self.about)?)?;
        add(METADATA, &serde_json::to_vec_pretty(&self.recording.metadata)?)?;
        for (cpu, raw) in &self.recording.raw {
            add(&format!("{RAW}{cpu}"), raw)?;
        }
        archive.into_inner()?.finish()?.flush()
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// Where it cannot be read, is no record, is damaged, or is of another format.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let file = dyntick_system::open_named(path).map_err(|source| FileError::Io {
            what: "open",
            path: path.to_owned(),
            source,
        })?;
        Self::read_from(file, path)
    }

    /// Reads it from its bytes; `path` is for messages.
    ///
    /// # Errors
    /// As [`Record::open`].
    pub fn read_from(source: impl Read, path: &Path) -> Result<Self, FileError> {
        Self::read_within(source, path, Limits { total: fits_into_memory(), ..LIMITS })
    }

    fn read_within(source: impl Read, path: &Path, limits: Limits) -> Result<Self, FileError> {
        let mut reading = Reading::default();
        archive::read(source, VERSION_PIECE, limits, &mut reading).map_err(|trouble| trouble.at(path))?;
        reading.finish().map_err(|reason| Trouble::Damaged(reason).at(path))
    }
}

/// A record of which some pieces have been read, in the order in which they are written.
#[derive(Default)]
struct Reading {
    about: Option<About>,
    metadata: Option<Metadata>,
    raw: BTreeMap<u32, Vec<u8>>,
}

/// What is wrong with a record, before it is told of which.
enum Trouble {
    Foreign,
    Damaged(String),
    Version(String),
}

impl From<ArchiveError> for Trouble {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Foreign(_) => Trouble::Foreign,
            ArchiveError::Damaged(reason) => Trouble::Damaged(reason),
        }
    }
}

impl Trouble {
    fn at(self, path: &Path) -> FileError {
        let path = path.to_owned();
        match self {
            Trouble::Foreign => FileError::Foreign(path),
            Trouble::Damaged(reason) => FileError::Damaged { path, reason },
            Trouble::Version(version) => FileError::Version { path, version },
        }
    }
}

impl Receiver for Reading {
    type Error = Trouble;

    fn wants(&mut self, name: &str) -> Wanted {
        match name {
            VERSION_PIECE => Wanted::Read(LONGEST_VERSION),
            ABOUT | METADATA => Wanted::Read(LONGEST_TEXT),
            _ => match (self.cpu(name), &self.metadata) {
                (Some(_), _) => Wanted::Read(LIMITS.total),
                (None, Some(_)) => Wanted::Refuse("it does not belong to such a record".to_owned()),
                (None, None) => Wanted::Refuse(format!("it comes before {METADATA}")),
            },
        }
    }

    fn take(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), Trouble> {
        let damaged = |reason: String| Trouble::Damaged(format!("{name}: {reason}"));
        match name {
            VERSION_PIECE => {
                let version = String::from_utf8_lossy(&bytes);
                if version != VERSION {
                    return Err(Trouble::Version(clean_line(&shortened(&version, 20))));
                }
            }
            ABOUT => {
                accept_size(&bytes).map_err(damaged)?;
                self.about = Some(json(&bytes).map_err(damaged)?);
            }
            METADATA => self.metadata = Some(json(&bytes).map_err(damaged)?),
            _ => {
                let cpu = self.cpu(name);
                self.raw.extend(cpu.map(|cpu| (cpu, bytes)));
            }
        }
        Ok(())
    }
}

impl Reading {
    /// The CPU whose raw trace has this name, if there was one.
    fn cpu(&self, name: &str) -> Option<u32> {
        let cpu = name.strip_prefix(RAW)?.parse().ok()?;
        let known = self.metadata.as_ref()?.stats.contains_key(&cpu);
        (known && name == format!("{RAW}{cpu}")).then_some(cpu)
    }

    fn finish(self) -> Result<Record, String> {
        let about = self.about.ok_or_else(|| format!("{ABOUT} is missing"))?;
        let metadata = self.metadata.ok_or_else(|| format!("{METADATA} is missing"))?;
        match metadata.stats.keys().find(|cpu| !self.raw.contains_key(cpu)) {
            Some(cpu) => Err(format!("{RAW}{cpu} is missing")),
            None => Ok(Record { about, recording: Recording { metadata, raw: self.raw } }),
        }
    }
}

fn json<T: serde::de::DeserializeOwned + Accept>(bytes: &[u8]) -> Result<T, String> {
    let value: T = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    value.accept().map(|()| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT_TEXT: &str = r#"{"cpus":"1","window_ns":[1,2],"command":[],"machine":{"kernel":"6.12.95",
        "command_line":"","hz":250,"cpus":{"online":"0-1","nohz_full":"","isolated":"","rcu_nocbs":""},
        "clocksource":{"current":"tsc","available":[]},"irqs":{}},"threads":{},
        "owners":{"cpu_timers":{},"perf_events":{},"quotas":{}},
        "counts":[{"interrupts":"","steal":{},"smis":{}},{"interrupts":"","steal":{},"smis":{}}],"notes":[]}"#;
    const METADATA_TEXT: &str = r#"{"page_size":4096,"formats":{},"symbols":{},
        "stats":{"1":{"entries":0,"lost":0}},"missing_events":[]}"#;

    fn packed(pieces: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, bytes) in pieces {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, name, *bytes).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    fn record(more: &[(&str, &[u8])]) -> Result<Record, String> {
        let whole: [(&str, &[u8]); 3] = [
            (VERSION_PIECE, VERSION.as_bytes()),
            (ABOUT, ABOUT_TEXT.as_bytes()),
            (METADATA, METADATA_TEXT.as_bytes()),
        ];
        read(&[&whole, more].concat())
    }

    fn read(pieces: &[(&str, &[u8])]) -> Result<Record, String> {
        Record::read_from(&packed(pieces)[..], Path::new("x.dt")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_pieces_of_a_record_and_no_others() {
        let page = vec![0; 4096];
        assert_eq!(record(&[("trace.cpu1", &page)]).unwrap().recording.raw[&1], page);
        assert_eq!(record(&[]).unwrap_err(), "x.dt is damaged: trace.cpu1 is missing");
        for name in ["trace.cpu2", "trace.cpu01", "trace.cpu+1", "extra"] {
            let said = record(&[("trace.cpu1", &page), (name, b"x")]).unwrap_err();
            assert_eq!(said, format!("x.dt is damaged: {name}: it does not belong to such a record"));
        }
        let early = read(&[(VERSION_PIECE, b"1"), ("trace.cpu1", &page)]).unwrap_err();
        assert_eq!(early, "x.dt is damaged: trace.cpu1: it comes before trace.json");
        let twice = record(&[("trace.cpu1", &page), ("trace.cpu1", &page)]).unwrap_err();
        assert_eq!(twice, "x.dt is damaged: trace.cpu1: it occurs twice");
    }

    #[test]
    fn a_bomb_is_refused_before_it_unfolds() {
        let zeros = vec![0; 2 << 20];
        let (about, metadata) = (ABOUT_TEXT.as_bytes(), METADATA_TEXT.as_bytes());
        let bytes =
            packed(&[(VERSION_PIECE, b"1"), (ABOUT, about), (METADATA, metadata), ("trace.cpu1", &zeros)]);
        let limits = Limits { free: 1 << 20, ratio: 20, ..LIMITS };
        let read = Record::read_within(&bytes[..], Path::new("x.dt"), limits);
        let said = read.map(|_| ()).unwrap_err().to_string();
        assert!(said.starts_with("x.dt is damaged: trace.cpu1: "), "{said}");
        assert!(said.contains("bytes of it unpack to more than"), "{said}");
    }

    #[test]
    fn a_piece_that_says_what_cannot_be_is_named() {
        let about = ABOUT_TEXT.replace("[1,2]", "[2,1]");
        let said = read(&[(VERSION_PIECE, b"1"), (ABOUT, about.as_bytes())]).unwrap_err();
        assert_eq!(said, "x.dt is damaged: about.json: window_ns: the end (1) is before the begin (2)");
        let metadata = METADATA_TEXT.replace("4096", "16");
        let said = read(&[(VERSION_PIECE, b"1"), (METADATA, metadata.as_bytes())]).unwrap_err();
        assert!(said.starts_with("x.dt is damaged: trace.json: page_size: 16 "), "{said}");
    }

    #[test]
    fn another_format_is_told_before_anything_else() {
        let said = read(&[(VERSION_PIECE, b"2"), ("piece-of-tomorrow", b"")]).unwrap_err();
        assert!(said.contains("has format 2"), "{said}");
        let said = read(&[(VERSION_PIECE, b"2\n|sh")]).unwrap_err();
        assert!(said.contains("has format 2 |sh"), "one line: {said}");
    }
}
