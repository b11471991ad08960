// SPDX-License-Identifier: GPL-2.0-only
//! The files that a program needs in order to start: its interpreter and its shared libraries.

use super::LARGEST;
use dyntick_kernels::elf_tables::{ElfTables, Needs};
use dyntick_system::{InputError, open_regular, read_open};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The loader's default folders (`ld.so(8)`, Debian's multiarch paths).
const LIBRARY_DIRECTORIES: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// The reason why a program's files could not be listed.
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
        /// The reason.
        reason: String,
    },
    /// A library that is nowhere.
    #[error("{needed_by} needs {library}, which is in none of the loader's folders; install its package")]
    MissingLibrary {
        /// The library's name.
        library: String,
        /// The file that needs it.
        needed_by: PathBuf,
    },
    /// More than any guest has room for.
    #[error("the tools with their libraries have more than {} MiB: name fewer", LARGEST >> 20)]
    TooLarge,
    /// A list without an end.
    #[error("{0} needs more than {MOST_FILES} files; is this really a program?")]
    TooMany(PathBuf),
}

/// A desktop's program needs some 200 libraries.
const MOST_FILES: usize = 400;

/// 200 libraries with four folders each before the loader's own.
const MOST_LOOKS: usize = 2000;

/// Programs and all files that they need.
#[derive(Debug, Default)]
pub struct Programs {
    /// Each under its path in the guest, open: the file at that path may be another one later, which was not
    /// checked.
    pub files: BTreeMap<PathBuf, File>,
    /// The size of all together.
    pub bytes: u64,
    /// The number of lookups of a library in a folder.
    looks: usize,
}

impl Programs {
    /// Adds a program and the files that it needs. A file is read only if it fits with the others: each link to a
    /// large one is another file.
    pub fn add(&mut self, program: &Path) -> Result<(), ElfError> {
        let mut queue = VecDeque::from([program.to_owned()]);
        while let Some(path) = queue.pop_front() {
            if self.files.len() > MOST_FILES {
                return Err(ElfError::TooMany(program.to_owned()));
            }
            if self.files.contains_key(&path) {
                continue;
            }
            let file = open_regular(&path)?;
            self.bytes += file.metadata().map_or(LARGEST, |found| found.len());
            if self.bytes > LARGEST {
                return Err(ElfError::TooLarge);
            }
            queue.extend(self.needs(&file, &path)?);
            self.files.insert(path, file);
        }
        Ok(())
    }

    fn needs(&mut self, file: &File, path: &Path) -> Result<Vec<PathBuf>, ElfError> {
        let bytes = read_open(file, path, LARGEST)?;
        let not_elf = |reason: String| ElfError::NotElf { path: path.to_owned(), reason };
        let tables = ElfTables::of(&bytes).map_err(|error| not_elf(error.to_string()))?;
        if !tables.is_program() {
            return Err(not_elf("it is neither a program nor a library for x86-64".to_owned()));
        }
        let needs = tables.needs().map_err(|error| not_elf(error.to_string()))?;
        if needs.libraries.len() > MOST_FILES {
            return Err(ElfError::TooMany(path.to_owned()));
        }
        let mut files: Vec<PathBuf> = needs.interpreter.iter().map(PathBuf::from).collect();
        let own_paths = search_paths(&needs, path);
        for library in &needs.libraries {
            files.push(self.find(library, &own_paths, path)?.ok_or_else(|| ElfError::MissingLibrary {
                library: (*library).to_owned(),
                needed_by: path.to_owned(),
            })?);
        }
        Ok(files)
    }

    /// A library in the first folder that has it. Each look may lead through any number of links.
    fn find(
        &mut self,
        name: &str,
        own_paths: &[PathBuf],
        needed_by: &Path,
    ) -> Result<Option<PathBuf>, ElfError> {
        let standard = LIBRARY_DIRECTORIES.iter().map(PathBuf::from);
        for folder in own_paths.iter().cloned().chain(standard) {
            self.looks += 1;
            if self.looks > MOST_LOOKS {
                return Err(ElfError::TooMany(needed_by.to_owned()));
            }
            let place = folder.join(name);
            if place.is_file() {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }
}

/// The folders that the file itself names, `$ORIGIN` resolved. A file may name more than fit into any memory.
fn search_paths(needs: &Needs, path: &Path) -> Vec<PathBuf> {
    const MOST: usize = 64;
    let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy();
    // Of several the loader takes the last (glibc, elf/dl-load.c: _dl_init_paths).
    let named =
        needs.runpaths.last().into_iter().chain(needs.rpaths.last()).flat_map(|paths| paths.split(':'));
    let named = named.filter(|path| path.len() < 4096).take(MOST);
    named.map(|p| PathBuf::from(p.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_kernels::elf_tables::made;

    fn closure(program: &Path) -> Result<Vec<PathBuf>, ElfError> {
        let mut programs = Programs::default();
        programs.add(program).map(|()| programs.files.into_keys().collect())
    }

    #[test]
    fn large_tools_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let large = dir.path().join("large");
        // To read it would tell that it is no program.
        std::fs::File::create(&large).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(matches!(closure(&large), Err(ElfError::TooLarge)));
        std::fs::File::create(&large).unwrap().set_len(LARGEST).unwrap();
        assert!(matches!(closure(&large), Err(ElfError::Read(_))));
    }

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
        let [needed, runpath] = [1, 29];
        let mut entries = vec![(runpath, 1); count];
        entries.push((needed, 2 + colons as u64));
        made::of_entries(&entries, &[&b"\0"[..], &b":".repeat(colons), b"\0libnone.so\0"].concat())
    }

    #[test]
    fn folders_without_end_are_not_followed() {
        let bytes = with_runpaths(2000, 5000);
        let needs = ElfTables::of(&bytes).unwrap().needs().unwrap();
        assert_eq!((needs.runpaths.len(), needs.libraries.clone()), (2000, vec!["libnone.so"]));
        assert_eq!(search_paths(&needs, Path::new("/x")).len(), 64);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("evil"), &bytes).unwrap();
        let error = closure(&dir.path().join("evil")).unwrap_err();
        assert!(matches!(error, ElfError::MissingLibrary { .. }), "{error}");
    }

    /// It would bring the memory of a program of this machine into the guest.
    #[test]
    fn a_core_dump_is_no_program() {
        const E_TYPE: usize = 16;
        const ET_CORE: u8 = 4;
        let mut bytes = with_runpaths(1, 1);
        bytes[E_TYPE] = ET_CORE;
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("core"), &bytes).unwrap();
        let error = closure(&dir.path().join("core")).unwrap_err().to_string();
        assert!(error.contains("neither a program nor a library"), "{error}");
    }

    #[test]
    fn a_text_file_is_refused_by_name() {
        let error = closure(Path::new("/etc/passwd")).unwrap_err().to_string();
        assert!(error.contains("/etc/passwd"), "{error}");
    }
}
