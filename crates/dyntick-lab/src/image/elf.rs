// SPDX-License-Identifier: GPL-2.0-only
//! The files that a program needs in order to start: its interpreter and its shared libraries.

use dyntick_system::InputError;
use goblin::elf::Elf;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Where the loader looks when a program does not say otherwise (`ld.so(8)`, Debian's multiarch paths).
const LIBRARY_DIRECTORIES: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// Why a program's files could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] InputError),
    /// Not an ELF file, or a damaged one.
    #[error(
        "{path} is not a program that the guest can start ({reason}); name the binary itself, not a script"
    )]
    NotElf {
        /// The file.
        path: PathBuf,
        /// What was wrong with it.
        reason: String,
    },
    /// A library that is nowhere.
    #[error("{needed_by} needs {library}, which is in none of the loader's folders; install its package")]
    MissingLibrary {
        /// The library's name.
        library: String,
        /// Who needs it.
        needed_by: PathBuf,
    },
}

/// The program and all files it needs, each under the path at which it must stand in the guest.
pub fn closure(program: &Path) -> Result<BTreeSet<PathBuf>, ElfError> {
    let mut found = BTreeSet::new();
    let mut queue = VecDeque::from([program.to_owned()]);
    while let Some(path) = queue.pop_front() {
        if found.insert(path.clone()) {
            queue.extend(needs(&path)?);
        }
    }
    Ok(found)
}

/// Parses an ELF file. Of another file nothing is told: the library would say what it begins with, which may be
/// a secret.
pub fn parse(bytes: &[u8]) -> Result<Elf<'_>, goblin::error::Error> {
    match bytes.starts_with(b"\x7fELF") {
        true => Elf::parse(bytes),
        false => Err(goblin::error::Error::Malformed("it is no ELF file".to_owned())),
    }
}

fn needs(path: &Path) -> Result<Vec<PathBuf>, ElfError> {
    let bytes = super::read_file(path)?;
    let elf = parse(&bytes)
        .map_err(|error| ElfError::NotElf { path: path.to_owned(), reason: error.to_string() })?;
    let mut files: Vec<PathBuf> = elf.interpreter.iter().map(PathBuf::from).collect();
    let own_paths = search_paths(&elf, path);
    for library in &elf.libraries {
        files.push(find_library(library, &own_paths).ok_or_else(|| ElfError::MissingLibrary {
            library: (*library).to_owned(),
            needed_by: path.to_owned(),
        })?);
    }
    Ok(files)
}

/// The folders that the file itself names, `$ORIGIN` resolved.
fn search_paths(elf: &Elf, path: &Path) -> Vec<PathBuf> {
    let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let named = elf.runpaths.iter().chain(&elf.rpaths).flat_map(|paths| paths.split(':'));
    named.map(|p| PathBuf::from(p.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))).collect()
}

fn find_library(name: &str, own_paths: &[PathBuf]) -> Option<PathBuf> {
    let standard = LIBRARY_DIRECTORIES.iter().map(PathBuf::from);
    own_paths.iter().cloned().chain(standard).map(|dir| dir.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_needs_its_loader_and_libc() {
        let files = closure(Path::new("/bin/sh")).unwrap();
        let names: Vec<_> = files.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
        assert!(names.contains(&"sh"), "{names:?}");
        assert!(names.iter().any(|n| n.starts_with("ld-linux")), "{names:?}");
        assert!(names.contains(&"libc.so.6"), "{names:?}");
    }

    #[test]
    fn a_text_file_is_refused_by_name() {
        let error = closure(Path::new("/etc/passwd")).unwrap_err().to_string();
        assert!(error.contains("/etc/passwd"), "{error}");
    }
}
