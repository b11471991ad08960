// SPDX-License-Identifier: GPL-2.0-only
//! A machine's files for `dyntick check`: from a running Linux, a folder, or a support bundle.

pub mod bundle;

use dyntick_check::sources::{RELEASE, Read, SOURCES};
use dyntick_check::{Content, Snapshot};
use dyntick_model::KernelVersion;
use flate2::read::GzDecoder;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// No file that a rule reads is longer; what is behind it is not read.
const LONGEST: u64 = 4 << 20;

/// Reads all sources behind a root folder, `/` for the running machine. What does not exist is left
/// out; what may not be read is noted as such.
pub fn read(root: &Path) -> Snapshot {
    let mut files = Snapshot::default();
    let release = text(&root.join(RELEASE.trim_start_matches('/'))).unwrap_or_default();
    let kernel = release.parse::<KernelVersion>().map_or((0, 0), |kernel| (kernel.major, kernel.minor));
    for source in SOURCES.iter().filter(|source| source.before.is_none_or(|before| kernel < before)) {
        for path in expand(root, source.pattern, &mut files) {
            let name = name_in(root, &path);
            match one(root, &path, source.read) {
                Ok(Some(text)) => files.insert(name, Content::Text(text)),
                Ok(None) => {}
                // A task may have ended since its folder was listed.
                Err(error) if is_gone(&error) => {}
                // One word for all files of a pattern is enough.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    files.insert(source.pattern, Content::Denied);
                }
                Err(error) => files.insert(name, Content::Failed(error.to_string())),
            }
        }
    }
    files
}

/// The existing paths of a pattern. A folder on the way that may not be searched is noted.
fn expand(root: &Path, pattern: &'static str, files: &mut Snapshot) -> Vec<PathBuf> {
    if !pattern.contains('*') {
        return vec![root.join(pattern.trim_start_matches('/'))];
    }
    let prefix = glob::Pattern::escape(&root.to_string_lossy());
    let Ok(paths) = glob::glob(&format!("{}{pattern}", prefix.trim_end_matches('/'))) else {
        return Vec::new();
    };
    let fixed = pattern.split('*').next().and_then(|fixed| Path::new(fixed).parent());
    let searched = fixed.map(|folder| root.join(folder.to_string_lossy().trim_start_matches('/')));
    let denied = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
    // The walk is silent about the folder that it begins in.
    if searched.is_some_and(|folder| std::fs::metadata(folder).is_err_and(|error| denied(&error))) {
        files.insert(pattern, Content::Denied);
    }
    let mut found = Vec::new();
    for path in paths {
        match path {
            Ok(path) => found.push(path),
            Err(error) if denied(error.error()) => files.insert(pattern, Content::Denied),
            Err(_) => {}
        }
    }
    found
}

fn is_gone(error: &io::Error) -> bool {
    const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();
    error.kind() == ErrorKind::NotFound
        || error.kind() == ErrorKind::NotADirectory
        || error.raw_os_error() == Some(ESRCH)
}

/// The path on the machine of a path behind a root.
fn name_in(root: &Path, path: &Path) -> String {
    format!("/{}", path.strip_prefix(root).unwrap_or(path).to_string_lossy().trim_start_matches('/'))
}

/// Reads one file as its source says; `None` where it holds nothing that any rule needs.
fn one(root: &Path, path: &Path, how: Read) -> io::Result<Option<String>> {
    Ok(match how {
        Read::Text => Some(text(path)?),
        Read::Gzip => Some(unpacked(path)?),
        Read::Number => Some(number(path)?),
        Read::CommandLine => Some(before_two_dashes(&text(path)?)),
        Read::Lines(words) => {
            some(lines(&text(path)?, |line| words.iter().any(|word| line.starts_with(word))))
        }
        Read::Mentions(texts) => {
            some(lines(&text(path)?, |line| texts.iter().any(|text| line.contains(text))))
        }
        Read::Links(targets) => some(links(path, targets)?),
        Read::Partition => partition(path)?,
        Read::OwnConfig => {
            let release = text(&root.join(RELEASE.trim_start_matches('/')))?;
            let release = release.trim();
            let own =
                path.ends_with(format!("config-{release}")) || path.ends_with(format!("{release}/config"));
            if own { Some(text(path)?) } else { None }
        }
    })
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// A file's text. `/dev/kmsg` gives a record per read and would wait for the next at its end.
fn text(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
    while (bytes.len() as u64) < LONGEST {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // A record of the kernel's log was overwritten meanwhile: the next read goes on behind it.
            Err(error) if [ErrorKind::Interrupted, ErrorKind::BrokenPipe].contains(&error.kind()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unpacked(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    GzDecoder::new(File::open(path)?).take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn number(path: &Path) -> io::Result<String> {
    let mut bytes = [0; 4];
    File::open(path)?.read_exact(&mut bytes)?;
    Ok(i32::from_ne_bytes(bytes).to_string())
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

fn links(folder: &Path, targets: &[&str]) -> io::Result<String> {
    let mut found: Vec<String> = std::fs::read_dir(folder)?
        .filter_map(|entry| Some(std::fs::read_link(entry.ok()?.path()).ok()?.to_string_lossy().into_owned()))
        .filter(|target| targets.contains(&target.as_str()))
        .collect();
    found.sort();
    Ok(found.iter().map(|target| format!("{target}\n")).collect())
}

/// The state of a partition, and in the second line its CPUs.
fn partition(path: &Path) -> io::Result<Option<String>> {
    let state = text(path)?;
    if state.trim() == "member" {
        return Ok(None);
    }
    let cpus = text(&path.with_file_name("cpuset.cpus.effective"))?;
    Ok(Some(format!("{}\n{}\n", state.trim(), cpus.trim())))
}
