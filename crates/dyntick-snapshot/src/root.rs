// SPDX-License-Identifier: GPL-2.0-only
//! The root of a machine's files, from which nothing leads out: this machine's own, or an untrusted folder.

use dyntick_system::{open_in, place};
use flate2::read::GzDecoder;
use glob::Pattern;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, readlinkat};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// No file that a rule reads is longer; what is behind it is not read.
const LONGEST: u64 = 4 << 20;

/// With this a file begins that gzip packed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The most that all files and names behind a root may take, as [`super::bundle`] allows it to a bundle.
const MOST_ENTRIES: u64 = 1 << 20;
const MOST_BYTES: u64 = 1 << 30;

/// A folder that stands for `/`: symbolic links in it lead to what is in it (`RESOLVE_IN_ROOT` of openat2(2)).
pub struct Root {
    folder: File,
    is_this_machine: bool,
    entries: Cell<u64>,
    bytes: Cell<u64>,
}

/// The existing paths of a pattern, and whether a folder on the way may not be searched.
#[derive(Default)]
pub struct Found {
    /// In the order of their names.
    pub paths: Vec<PathBuf>,
    /// True if some may be missing for lack of permission.
    pub denied: bool,
}

impl Root {
    pub fn open(folder: &Path) -> io::Result<Self> {
        // What a running machine has is the kernel's to limit.
        let is_this_machine = folder == Path::new("/");
        let (entries, bytes) =
            if is_this_machine { (u64::MAX, u64::MAX) } else { (MOST_ENTRIES, MOST_BYTES) };
        let folder = File::from(rustix::fs::openat(
            CWD,
            folder,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?);
        Ok(Self { folder, is_this_machine, entries: Cell::new(entries), bytes: Cell::new(bytes) })
    }

    /// Returns true if it has more than any machine.
    pub fn is_too_large(&self) -> bool {
        self.entries.get() == 0 || self.bytes.get() == 0
    }

    fn at(&self, path: &Path, flags: OFlags) -> io::Result<File> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let opened = |flags| open_in(&self.folder, path, flags, resolve);
        if self.is_this_machine {
            let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            return Ok(opened(flags)?.into());
        }
        let found = opened(place::PLACE)?;
        if ![FileType::RegularFile, FileType::Directory].contains(&place::kind(&found)?) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        place::reopened(found, flags)
    }

    /// The names in a folder, sorted.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::new(self.at(folder, OFlags::DIRECTORY)?)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !self.take(&self.entries, 1) || !self.take(&self.bytes, name.len() as u64) {
                break;
            }
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Takes of what is left; where that is not enough nothing is left.
    fn take(&self, left: &Cell<u64>, amount: u64) -> bool {
        left.set(left.get().saturating_sub(amount));
        left.get() > 0
    }

    /// The paths that a pattern may mean: where its last parts have no `*`, they need not exist.
    pub fn paths(&self, pattern: &str) -> Found {
        let mut found = Found { paths: vec![PathBuf::from("/")], denied: false };
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            let Ok(wanted) = Pattern::new(part) else { return Found::default() };
            if !part.contains('*') {
                found.paths.iter_mut().for_each(|path| path.push(part));
                continue;
            }
            let mut paths = Vec::new();
            for folder in &found.paths {
                match self.names(folder) {
                    Ok(names) => {
                        let names = names.into_iter().filter(|name| wanted.matches(name));
                        paths.extend(
                            names
                                .map(|name| folder.join(name))
                                .take_while(|path| self.take(&self.bytes, path.as_os_str().len() as u64)),
                        );
                    }
                    Err(error) => found.denied |= error.kind() == ErrorKind::PermissionDenied,
                }
            }
            found.paths = paths;
        }
        found
    }

    /// A file's text. `/dev/kmsg` gives a record per read and would wait for the next at its end.
    pub fn text(&self, path: &Path) -> io::Result<String> {
        let mut file = self.at(path, OFlags::empty())?;
        let (mut bytes, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
        while (bytes.len() as u64) < LONGEST {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) if self.take(&self.bytes, length as u64) => {
                    bytes.extend_from_slice(&chunk[..length])
                }
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // A record of the kernel's log was overwritten meanwhile: the next read goes on behind it.
                Err(error) if [ErrorKind::Interrupted, ErrorKind::BrokenPipe].contains(&error.kind()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The text in a file that gzip packed. In a bundle that was unpacked the file is text already.
    pub fn unpacked(&self, path: &Path) -> io::Result<String> {
        let mut text = String::new();
        let mut packed = BufReader::new(self.at(path, OFlags::empty())?);
        if !packed.fill_buf()?.starts_with(&GZIP) {
            return self.text(path);
        }
        GzDecoder::new(packed).take(LONGEST.min(self.bytes.get())).read_to_string(&mut text)?;
        self.take(&self.bytes, text.len() as u64);
        Ok(text)
    }

    /// The 32-bit number that a file is, as text.
    pub fn number(&self, path: &Path) -> io::Result<String> {
        let mut bytes = [0; 4];
        self.at(path, OFlags::empty())?.read_exact(&mut bytes)?;
        Ok(i32::from_ne_bytes(bytes).to_string())
    }

    /// The targets of a folder's links that are one of these, a line each, sorted.
    pub fn links(&self, folder: &Path, targets: &[&str]) -> io::Result<String> {
        let names = self.names(folder)?;
        let place = self.at(folder, OFlags::DIRECTORY)?;
        let target = |name: &String| readlinkat(&place, name.as_str(), Vec::new()).ok();
        let found = names.iter().filter_map(target).map(|target| target.to_string_lossy().into_owned());
        let mut found: Vec<String> = found.filter(|target| targets.contains(&target.as_str())).collect();
        found.sort();
        Ok(found.iter().map(|target| format!("{target}\n")).collect())
    }
}
