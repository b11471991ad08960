// SPDX-License-Identifier: GPL-2.0-only
//! A machine's files for `dyntick check`: from a running Linux, a folder, or a support bundle.

pub mod bundle;
mod root;

use dyntick_check::sources::{RELEASE, Read, SOURCES};
use dyntick_check::{Content, Snapshot};
use dyntick_model::KernelVersion;
use root::Root;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// `include/uapi/linux/utsname.h`: a release has at most 64 bytes.
const LONGEST_RELEASE: usize = 64;

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file system refused the root itself.
    #[error("cannot read {0}: {1}")]
    Io(PathBuf, io::Error),
    /// No machine has so many files or such long ones.
    #[error("{0} contains more than the files of any machine: it is not a copy of a root file system")]
    TooLarge(PathBuf),
}

/// Reads all sources behind a root folder, `/` for the running machine. What does not exist is left
/// out; what may not be read is noted as such.
///
/// # Errors
/// Where the folder cannot be opened, or holds more than any machine.
pub fn read(folder: &Path) -> Result<Snapshot, SnapshotError> {
    let root = Root::open(folder).map_err(|error| SnapshotError::Io(folder.to_owned(), error))?;
    let mut files = Snapshot::default();
    let release = root.text(Path::new(RELEASE)).unwrap_or_default().trim().to_owned();
    let release = if release.len() > LONGEST_RELEASE { String::new() } else { release };
    let kernel = release.parse::<KernelVersion>().map_or((0, 0), |kernel| (kernel.major, kernel.minor));
    for source in SOURCES.iter().filter(|source| source.before.is_none_or(|before| kernel < before)) {
        let found = root.paths(source.pattern);
        if found.denied {
            files.insert(source.pattern, Content::Denied);
        }
        for path in found.paths {
            match one(&root, &path, source.read, &release) {
                Ok(Some(text)) => files.insert(path.to_string_lossy(), Content::Text(text)),
                Ok(None) => {}
                // A task may have ended since its folder was listed.
                Err(error) if is_gone(&error) => {}
                // One word for all files of a pattern is enough.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    files.insert(source.pattern, Content::Denied);
                }
                Err(error) => files.insert(path.to_string_lossy(), Content::Failed(error.to_string())),
            }
            if root.is_too_large() {
                return Err(SnapshotError::TooLarge(folder.to_owned()));
            }
        }
    }
    Ok(files)
}

fn is_gone(error: &io::Error) -> bool {
    const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();
    error.kind() == ErrorKind::NotFound
        || error.kind() == ErrorKind::NotADirectory
        || error.raw_os_error() == Some(ESRCH)
}

/// Reads one file as its source says; `None` where it holds nothing that any rule needs.
fn one(root: &Root, path: &Path, how: Read, release: &str) -> io::Result<Option<String>> {
    Ok(match how {
        Read::Text => Some(root.text(path)?),
        Read::Gzip => Some(root.unpacked(path)?),
        Read::Number => Some(root.number(path)?),
        Read::CommandLine => Some(before_two_dashes(&root.text(path)?)),
        Read::Lines(words) => {
            some(lines(&root.text(path)?, |line| words.iter().any(|word| line.starts_with(word))))
        }
        Read::Mentions(texts) => {
            some(lines(&root.text(path)?, |line| texts.iter().any(|text| line.contains(text))))
        }
        Read::Links(targets) => some(root.links(path, targets)?),
        Read::Partition => partition(root, path)?,
        Read::OwnConfig => {
            let own =
                path.ends_with(format!("config-{release}")) || path.ends_with(format!("{release}/config"));
            if own { Some(root.text(path)?) } else { None }
        }
    })
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// `init/main.c: start_kernel`: what stands behind `--` is for the first program.
fn before_two_dashes(line: &str) -> String {
    line.split_once(" -- ").map_or(line, |(kernel, _)| kernel).to_owned()
}

/// The lines that are wanted, each once: `/proc/cpuinfo` says most things once per CPU.
fn lines(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    let mut seen = std::collections::BTreeSet::new();
    text.lines().filter(|line| wanted(line) && seen.insert(*line)).map(|line| format!("{line}\n")).collect()
}

/// The state of a partition, and in the second line its CPUs.
fn partition(root: &Root, path: &Path) -> io::Result<Option<String>> {
    let state = root.text(path)?;
    if state.trim() == "member" {
        return Ok(None);
    }
    let cpus = root.text(&path.with_file_name("cpuset.cpus.effective"))?;
    Ok(Some(format!("{}\n{}\n", state.trim(), cpus.trim())))
}
