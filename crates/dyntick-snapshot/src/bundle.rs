// SPDX-License-Identifier: GPL-2.0-only
//! A support bundle: a machine's files in one compressed archive.
//!
//! A gzip-compressed tar: `dyntick-bundle.json` first, which says what it is and what could not be
//! read, then each file under its path on the machine.

use crate::archive::{self, ArchiveError, Limits, Receiver};
use dyntick_check::sources::Read::CommandLine;
use dyntick_check::sources::SOURCES;
use dyntick_check::{Content, Snapshot};
use flate2::Compression;
use flate2::write::GzEncoder;
use glob::{MatchOptions, Pattern};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "dyntick-bundle.json";
const FORMAT: u32 = 1;
/// More than any machine's files take, unpacked: two small ones for each thread, and each with a tar header.
const LIMITS: Limits = Limits { free: 64 << 20, ratio: 200, total: 1 << 30, pieces: 1 << 20 };
/// A writer reads 4 MiB of a file, and what is no UTF-8 in it grows to three times as much.
const LONGEST_FILE: u64 = 16 << 20;
const LONGEST_MANIFEST: u64 = 16 << 20;

/// The reason why a bundle could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file system refused.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// Some other file.
    #[error("{0} is not a support bundle: {1}; create one with 'dyntick check --bundle FILE'")]
    Foreign(PathBuf, String),
    /// A damaged bundle.
    #[error("the bundle {0} is damaged: {1}; create it again")]
    Damaged(PathBuf, String),
    /// A bundle of a later dyntick.
    #[error("the bundle {0} has format {1}, but this dyntick reads {FORMAT}: use a newer dyntick")]
    Newer(PathBuf, u32),
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// The program that wrote it, for people.
    written_by: String,
    /// The number of files that follow.
    files: usize,
    /// The files that could not be read, with the reason; `null` for lack of permission.
    unread: BTreeMap<String, Option<String>>,
}

/// Writes a bundle to the file that a user named: a regular one appears once it is complete, a device or a
/// pipe is written into, `-` is standard output. Returns its length in bytes.
///
/// # Errors
/// Where the file cannot be written; an older file of that name is then as it was.
pub fn write(files: &Snapshot, path: &Path) -> Result<u64, BundleError> {
    dyntick_system::write_private(path, |to| pack(files, to))
        .map_err(|error| BundleError::Io(path.to_owned(), error))
}

fn pack(files: &Snapshot, to: &mut dyn Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(to, Compression::default()));
    let texts: Vec<(&str, &str)> =
        files.iter().filter_map(|(path, _)| Some((path, files.text(path)?))).collect();
    let unread = files.unread().map(|(path, content)| {
        let reason = if let Content::Failed(reason) = content { Some(reason.clone()) } else { None };
        (path.to_owned(), reason)
    });
    let manifest = Manifest {
        format: FORMAT,
        written_by: format!("dyntick {}", env!("CARGO_PKG_VERSION")),
        files: texts.len(),
        unread: unread.collect(),
    };
    append(&mut archive, MANIFEST, &serde_json::to_string_pretty(&manifest)?)?;
    for (path, text) in texts {
        append(&mut archive, path.trim_start_matches('/'), shared(path, text))?;
    }
    archive.into_inner()?.finish()?.flush()
}

/// The part of a file that may leave the machine: of the command line that for the kernel. What is for the first
/// program stands behind ` -- ` and may have secrets (`init/main.c: start_kernel`).
fn shared<'a>(path: &str, text: &'a str) -> &'a str {
    let is_line = SOURCES.iter().any(|source| source.pattern == path && source.read == CommandLine);
    let end = text.find(" -- ").filter(|_| is_line).unwrap_or(text.len());
    &text[..end]
}

fn append(archive: &mut tar::Builder<impl Write>, name: &str, text: &str) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, name, text.as_bytes())
}

/// Reads a bundle. Files that no rule of this dyntick reads are passed over.
///
/// # Errors
/// Where it cannot be read, is none, is damaged, or is of a later format.
pub fn read(path: &Path) -> Result<Snapshot, BundleError> {
    let file = dyntick_system::open_named(path).map_err(|error| BundleError::Io(path.to_owned(), error))?;
    read_from(file, path)
}

/// Reads a bundle from its bytes; `path` is for messages.
///
/// # Errors
/// As [`read`].
pub fn read_from(source: impl Read, path: &Path) -> Result<Snapshot, BundleError> {
    let mut reading = Reading { wanted: Wanted::new(), manifest: None, files: Snapshot::default(), count: 0 };
    archive::read(source, MANIFEST, LIMITS, &mut reading).map_err(|trouble| trouble.at(path))?;
    reading.finish().map_err(|trouble| trouble.at(path))
}

/// A bundle of which some has been read.
struct Reading {
    wanted: Wanted,
    manifest: Option<Manifest>,
    files: Snapshot,
    count: usize,
}

/// The defect of a bundle whose path is not known yet.
enum Trouble {
    Archive(ArchiveError),
    Damaged(String),
    Newer(u32),
}

impl From<ArchiveError> for Trouble {
    fn from(error: ArchiveError) -> Self {
        Trouble::Archive(error)
    }
}

impl Trouble {
    fn at(self, path: &Path) -> BundleError {
        let path = path.to_owned();
        match self {
            Trouble::Archive(ArchiveError::Foreign(reason)) => BundleError::Foreign(path, reason),
            Trouble::Archive(ArchiveError::Damaged(reason)) | Trouble::Damaged(reason) => {
                BundleError::Damaged(path, reason)
            }
            Trouble::Newer(format) => BundleError::Newer(path, format),
        }
    }
}

impl Receiver for Reading {
    type Error = Trouble;

    fn wants(&mut self, name: &str) -> archive::Wanted {
        if self.manifest.is_none() {
            return archive::Wanted::Read(LONGEST_MANIFEST);
        }
        self.count += 1;
        if self.wanted.has(&format!("/{name}")) {
            archive::Wanted::Read(LONGEST_FILE)
        } else {
            archive::Wanted::Skip
        }
    }

    fn take(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), Trouble> {
        let text = String::from_utf8(bytes)
            .map_err(|_| Trouble::Damaged(format!("{name}: it is not UTF-8 text")))?;
        match self.manifest {
            None => self.manifest = Some(manifest(&text)?),
            Some(_) => self.files.insert(format!("/{name}"), Content::Text(text)),
        }
        Ok(())
    }
}

impl Reading {
    fn finish(mut self) -> Result<Snapshot, Trouble> {
        let Some(manifest) = self.manifest else { return Ok(self.files) };
        if self.count != manifest.files {
            let reason = format!("it contains {} of {} files", self.count, manifest.files);
            return Err(Trouble::Damaged(reason));
        }
        for (name, reason) in manifest.unread {
            self.files.insert(name, reason.map_or(Content::Denied, Content::Failed));
        }
        Ok(self.files)
    }
}

fn manifest(text: &str) -> Result<Manifest, Trouble> {
    // Of a later format only the number has to be as it is today.
    let format = serde_json::from_str::<serde_json::Value>(text).ok().and_then(|all| all["format"].as_u64());
    if let Some(later) = format.filter(|format| *format > FORMAT.into()) {
        return Err(Trouble::Newer(u32::try_from(later).unwrap_or(u32::MAX)));
    }
    serde_json::from_str(text).map_err(|error| Trouble::Damaged(format!("{MANIFEST}: {error}")))
}

/// The paths that rules read.
struct Wanted(Vec<Pattern>);

impl Wanted {
    fn new() -> Self {
        Self(SOURCES.iter().filter_map(|source| Pattern::new(source.pattern).ok()).collect())
    }

    fn has(&self, path: &str) -> bool {
        let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        self.0.iter().any(|pattern| pattern.matches_with(path, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pieces: &[(&str, &str)]) -> Result<Snapshot, String> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        pieces.iter().for_each(|(name, text)| append(&mut archive, name, text).unwrap());
        let bytes = archive.into_inner().unwrap().finish().unwrap();
        read_from(&bytes[..], Path::new("b.tar.gz")).map_err(|error| error.to_string())
    }

    fn manifest(files: usize) -> (&'static str, String) {
        (MANIFEST, format!(r#"{{"format":1,"written_by":"x","files":{files},"unread":{{}}}}"#))
    }

    #[test]
    fn what_no_rule_reads_is_counted_and_not_kept() {
        let (name, text) = manifest(2);
        let files = said(&[(name, &text), ("proc/cmdline", "quiet"), ("etc/shadow", "x")]).unwrap();
        assert_eq!(files.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["/proc/cmdline"]);
        let (name, text) = manifest(3);
        let error = said(&[(name, &text), ("proc/cmdline", "quiet"), ("etc/shadow", "x")]).unwrap_err();
        assert!(error.contains("it contains 2 of 3 files"), "{error}");
    }

    #[test]
    fn damage_is_told_with_the_file_in_the_bundle() {
        let (name, text) = manifest(2);
        let error = said(&[(name, &text), ("proc/cmdline", ""), ("proc/cmdline", "")]).unwrap_err();
        assert_eq!(error, "the bundle b.tar.gz is damaged: proc/cmdline: it occurs twice; create it again");
        let long = "x".repeat(LONGEST_FILE as usize + 1);
        let error = said(&[(name, &text), ("proc/cmdline", &long)]).unwrap_err();
        assert!(error.contains("proc/cmdline: it has 16777217 bytes"), "{error}");
    }

    #[test]
    fn a_later_format_is_told_before_anything_else() {
        let error = said(&[(MANIFEST, r#"{"format":2}"#), ("a", ""), ("a", "")]).unwrap_err();
        assert!(error.contains("has format 2"), "{error}");
    }
}
