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
    /// A list without an end.
    #[error("{0} needs more than {MOST_FILES} files, and no program does")]
    TooMany(PathBuf),
}

/// A desktop's program needs some 200 libraries.
const MOST_FILES: usize = 1000;

/// The program and all files it needs, each under the path at which it must stand in the guest.
pub fn closure(program: &Path) -> Result<BTreeSet<PathBuf>, ElfError> {
    let mut found = BTreeSet::new();
    let mut queue = VecDeque::from([program.to_owned()]);
    while let Some(path) = queue.pop_front() {
        if found.len() > MOST_FILES {
            return Err(ElfError::TooMany(program.to_owned()));
        }
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
    if elf.libraries.len() > MOST_FILES {
        return Err(ElfError::TooMany(path.to_owned()));
    }
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

/// The folders that the file itself names, `$ORIGIN` resolved. A file may name more than fit into any memory.
fn search_paths(elf: &Elf, path: &Path) -> Vec<PathBuf> {
    const MOST: usize = 64;
    let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy();
    // Of several the loader takes the last (glibc, elf/dl-load.c: _dl_init_paths).
    let named = elf.runpaths.last().into_iter().chain(elf.rpaths.last()).flat_map(|paths| paths.split(':'));
    let named = named.filter(|path| path.len() < 4096).take(MOST);
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

    /// A shared object that names the same folders `count` times over, each time as many as there are colons.
    fn with_runpaths(count: usize, colons: usize) -> Vec<u8> {
        const HEADERS: usize = 64 + 2 * 56;
        let [strtab, strsz, runpath, needed, end] = [5u64, 10, 29, 1, 0];
        let strings = [&b"\0"[..], &b":".repeat(colons), b"\0libnone.so\0"].concat();
        let length = 16 * (count + 4);
        let mut tags = vec![(strtab, (HEADERS + length) as u64), (strsz, strings.len() as u64)];
        tags.extend(std::iter::repeat_n((runpath, 1), count));
        tags.extend([(needed, 2 + colons as u64), (end, 0)]);
        let total = (HEADERS + length + strings.len()) as u64;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        [3u16, 62].iter().for_each(|half| file.extend(half.to_le_bytes()));
        file.extend(1u32.to_le_bytes());
        [0u64, 64, 0].iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(0u32.to_le_bytes());
        [64u16, 56, 2, 64, 0, 0].iter().for_each(|half| file.extend(half.to_le_bytes()));
        for (kind, at, size) in [(1u32, 0, total), (2, HEADERS as u64, length as u64)] {
            [kind, 5].iter().for_each(|word| file.extend(word.to_le_bytes()));
            [at, at, at, size, size, 8].iter().for_each(|word| file.extend(word.to_le_bytes()));
        }
        tags.iter().for_each(|(tag, value)| file.extend([tag.to_le_bytes(), value.to_le_bytes()].concat()));
        [file, strings].concat()
    }

    #[test]
    fn folders_without_end_are_not_followed() {
        let bytes = with_runpaths(2000, 5000);
        let elf = parse(&bytes).unwrap();
        assert_eq!((elf.runpaths.len(), elf.libraries[..].to_vec()), (2000, vec!["libnone.so"]));
        assert_eq!(search_paths(&elf, Path::new("/x")).len(), 64);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("evil"), &bytes).unwrap();
        let error = closure(&dir.path().join("evil")).unwrap_err();
        assert!(matches!(error, ElfError::MissingLibrary { .. }), "{error}");
    }

    #[test]
    fn a_text_file_is_refused_by_name() {
        let error = closure(Path::new("/etc/passwd")).unwrap_err().to_string();
        assert!(error.contains("/etc/passwd"), "{error}");
    }
}
