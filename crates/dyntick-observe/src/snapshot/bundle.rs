// SPDX-License-Identifier: GPL-2.0-only
//! A support bundle: a machine's files in one compressed archive.
//!
//! A gzip-compressed tar: `dyntick-bundle.json` first, which says what it is and what could not be
//! read, then each file under its path on the machine.

use dyntick_check::{Content, Snapshot};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "dyntick-bundle.json";
const FORMAT: u32 = 1;
/// More than any machine's files take, unpacked.
const LARGEST: u64 = 1 << 30;

/// Why a bundle could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file system refused.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// Some other file.
    #[error("{0} is not a support bundle: {1}; make one with 'dyntick check --bundle FILE'")]
    Foreign(PathBuf, String),
    /// A bundle that is not whole.
    #[error("the bundle {0} is damaged: {1}; make it again")]
    Damaged(PathBuf, String),
    /// A bundle of a later dyntick.
    #[error("the bundle {0} has format {1}, and this dyntick knows {FORMAT}: read it with a newer dyntick")]
    Newer(PathBuf, u32),
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// The program that wrote it, for people.
    written_by: String,
    /// How many files follow.
    files: usize,
    /// What could not be read; `null` for lack of permission.
    unread: BTreeMap<String, Option<String>>,
}

/// Writes a bundle to the file that a user named: a regular one appears when it is whole, a device or a
/// pipe is written into, `-` is standard output. Returns its length in bytes.
///
/// # Errors
/// Where the file cannot be written; an older file of that name is then as it was.
pub fn write(files: &Snapshot, path: &Path) -> Result<u64, BundleError> {
    dyntick_system::write_named(path, |to| pack(files, to))
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
        append(&mut archive, path.trim_start_matches('/'), text)?;
    }
    archive.into_inner()?.finish()?.flush()
}

fn append(archive: &mut tar::Builder<impl Write>, name: &str, text: &str) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, name, text.as_bytes())
}

/// Reads a bundle.
///
/// # Errors
/// Where it cannot be read, is none, is damaged, or is of a later format.
pub fn read(path: &Path) -> Result<Snapshot, BundleError> {
    let file = File::open(path).map_err(|error| BundleError::Io(path.to_owned(), error))?;
    let foreign = |reason: &str| BundleError::Foreign(path.to_owned(), reason.to_owned());
    let damaged = |reason: String| BundleError::Damaged(path.to_owned(), reason);
    let mut archive = tar::Archive::new(GzDecoder::new(file).take(LARGEST));
    let mut entries = archive.entries().map_err(|error| foreign(&error.to_string()))?;
    let first = entries.next().ok_or_else(|| foreign("it is empty"))?;
    let (name, text) = entry(first).map_err(|error| foreign(&error.to_string()))?;
    if name != MANIFEST {
        return Err(foreign("it does not begin with its manifest"));
    }
    // Of a later format only the number has to be as it is today.
    let format = serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|all| all["format"].as_u64());
    if let Some(later) = format.filter(|format| *format > FORMAT.into()) {
        return Err(BundleError::Newer(path.to_owned(), u32::try_from(later).unwrap_or(u32::MAX)));
    }
    let manifest: Manifest = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    let mut files = Snapshot::default();
    let mut count = 0;
    for next in entries {
        let (name, text) = entry(next).map_err(|error| damaged(error.to_string()))?;
        files.insert(format!("/{name}"), Content::Text(text));
        count += 1;
    }
    if count != manifest.files {
        return Err(damaged(format!("it holds {count} of {} files", manifest.files)));
    }
    for (name, reason) in manifest.unread {
        files.insert(name, reason.map_or(Content::Denied, Content::Failed));
    }
    Ok(files)
}

fn entry<R: Read>(entry: io::Result<tar::Entry<'_, R>>) -> io::Result<(String, String)> {
    let mut entry = entry?;
    let name = entry.path()?.to_string_lossy().into_owned();
    let mut text = String::new();
    entry.read_to_string(&mut text)?;
    Ok((name, text))
}
