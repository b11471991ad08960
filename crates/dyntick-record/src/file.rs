// SPDX-License-Identifier: GPL-2.0-only
//! A record as one file: a gzipped tar archive, so that `tar xzf` opens it too.

use crate::{About, Record};
use dyntick_observe::trace::{Metadata, Recording};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Changes whenever an older dyntick could not read the file.
const VERSION: &str = "1";
const VERSION_PIECE: &str = "dyntick-record";
const ABOUT: &str = "about.json";
const METADATA: &str = "trace.json";
const RAW: &str = "trace.cpu";

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
        "{path} has format {version}, and this dyntick reads {VERSION}: use the dyntick that recorded it"
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
        dyntick_system::write_named(path, |file| self.write(file)).map(drop).map_err(io)
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
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let file = File::open(path).map_err(|source| FileError::Io {
            what: "open",
            path: path.to_owned(),
            source,
        })?;
        let mut pieces = Pieces { path, pieces: read(path, file)? };
        let version = String::from_utf8_lossy(&pieces.take(VERSION_PIECE)?).into_owned();
        if version != VERSION {
            return Err(FileError::Version { path: path.to_owned(), version });
        }
        let about: About = pieces.json(ABOUT)?;
        let metadata: Metadata = pieces.json(METADATA)?;
        let mut raw = BTreeMap::new();
        for cpu in metadata.stats.keys() {
            raw.insert(*cpu, pieces.take(&format!("{RAW}{cpu}"))?);
        }
        Ok(Self { about, recording: Recording { metadata, raw } })
    }
}

/// All pieces of an archive. The first has to be ours, before anything else is believed.
fn read(path: &Path, file: File) -> Result<BTreeMap<String, Vec<u8>>, FileError> {
    let damaged =
        |error: std::io::Error| FileError::Damaged { path: path.to_owned(), reason: error.to_string() };
    let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(file)));
    let mut pieces = BTreeMap::new();
    for entry in archive.entries().map_err(damaged)? {
        let known = !pieces.is_empty();
        let foreign = || FileError::Foreign(path.to_owned());
        let mut entry = entry.map_err(|error| if known { damaged(error) } else { foreign() })?;
        let name = entry.path().map_err(damaged)?.to_string_lossy().into_owned();
        if !known && name != VERSION_PIECE {
            return Err(foreign());
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(damaged)?;
        pieces.insert(name, bytes);
    }
    // What stands behind the last piece is read too: the checksum of the whole is at the very end.
    std::io::copy(&mut archive.into_inner(), &mut std::io::sink()).map_err(damaged)?;
    match pieces.is_empty() {
        true => Err(FileError::Foreign(path.to_owned())),
        false => Ok(pieces),
    }
}

struct Pieces<'a> {
    path: &'a Path,
    pieces: BTreeMap<String, Vec<u8>>,
}

impl Pieces<'_> {
    fn damaged(&self, reason: String) -> FileError {
        FileError::Damaged { path: self.path.to_owned(), reason }
    }

    fn take(&mut self, name: &str) -> Result<Vec<u8>, FileError> {
        self.pieces.remove(name).ok_or_else(|| self.damaged(format!("it has no {name}")))
    }

    fn json<T: serde::de::DeserializeOwned>(&mut self, name: &str) -> Result<T, FileError> {
        let bytes = self.take(name)?;
        serde_json::from_slice(&bytes).map_err(|error| self.damaged(format!("{name}: {error}")))
    }
}
