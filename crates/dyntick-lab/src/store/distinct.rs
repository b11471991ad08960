// SPDX-License-Identifier: GPL-2.0-only
//! Runs that have nothing in common: many links to one large file are a small archive, and each of them takes
//! as long to read as the first.

use super::StoreError;
use crate::names::RAW;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folders and files of the runs so far, by device and inode.
#[derive(Debug, Default)]
pub struct Distinct {
    known: BTreeMap<(u64, u64), PathBuf>,
}

impl Distinct {
    /// Takes in a run, before it is read. What is small is left out: it takes no time, and programs that look for equal
    /// files make links of it.
    ///
    /// # Errors
    /// [`StoreError::Shared`] where it has its folder or a file in common with a run before it.
    pub fn add(&mut self, run: &Path) -> Result<(), StoreError> {
        const SMALL: u64 = 64 << 10;
        for folder in [run.to_owned(), run.join(RAW)] {
            // What cannot be listed cannot be read either, and is shown then.
            let Ok(found) = folder.metadata() else { continue };
            self.add_one(&found, &folder)?;
            for file in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                match file.metadata() {
                    Ok(found) if found.is_file() && found.len() > SMALL => self.add_one(&found, &file)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn add_one(&mut self, found: &Metadata, path: &Path) -> Result<(), StoreError> {
        match self.known.insert((found.dev(), found.ino()), path.to_owned()) {
            Some(other) => Err(StoreError::Shared { path: path.to_owned(), other }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_files_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let run = |name: &str| {
            std::fs::create_dir_all(folder.path().join(name).join(RAW)).unwrap();
            folder.path().join(name)
        };
        let (one, other, linked) = (run("one"), run("other"), run("linked"));
        [&one, &other].iter().for_each(|run| std::fs::write(run.join("raw/trace"), [1; 1 << 17]).unwrap());
        std::fs::hard_link(one.join("raw/trace"), linked.join("profile.bin")).unwrap();
        // A small one takes no time.
        std::fs::write(one.join("raw/script.err"), "").unwrap();
        std::fs::hard_link(one.join("raw/script.err"), other.join("raw/script.err")).unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("again")).unwrap();
        let mut known = Distinct::default();
        known.add(&one).unwrap();
        known.add(&other).unwrap();
        for (name, file) in [("linked", "one/raw/trace"), ("again", "other")] {
            let error = known.add(&folder.path().join(name)).unwrap_err().to_string();
            assert!(error.contains(&format!("{file} are the same file, ")), "{error}");
        }
    }
}
