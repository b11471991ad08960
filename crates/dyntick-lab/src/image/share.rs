// SPDX-License-Identifier: GPL-2.0-only
//! A folder of the user's that is copied into a guest.

use super::cpio::Cpio;
use dyntick_guest::names::SHARE_FOLDER;
use std::path::{Path, PathBuf};

/// All of it is in the guest's memory, and once more in the image while that is made.
const MOST_BYTES: u64 = 256 << 20;
const MOST_ENTRIES: usize = 20_000;

/// The reason why a folder cannot be shared.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// Something in it cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It does not fit.
    #[error(
        "{} has more than {} MiB or {MOST_ENTRIES} files, and all of it is copied into the guest's memory: share a \
         smaller folder",
        .0.display(), MOST_BYTES >> 20
    )]
    TooLarge(PathBuf),
    /// A name that is no text.
    #[error("the name of {} is not UTF-8", .0.display())]
    Name(PathBuf),
}

/// The contents of a folder, in the order of names. Sockets, devices and the like are left out.
#[derive(Debug, Default)]
pub struct Share {
    entries: Vec<(String, Entry)>,
    bytes: u64,
}

#[derive(Debug)]
enum Entry {
    Folder,
    File(Vec<u8>),
    Link(String),
}

impl Share {
    /// Reads a folder, following no link in it.
    pub fn read(folder: &Path) -> Result<Self, ShareError> {
        let mut share = Self::default();
        share.add(folder, folder, SHARE_FOLDER)?;
        Ok(share)
    }

    /// The total length of its files, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds all of it to an image.
    pub(super) fn put(&self, cpio: &mut Cpio) {
        for (path, entry) in &self.entries {
            match entry {
                Entry::Folder => cpio.directory(path),
                Entry::File(contents) => cpio.file(path, contents),
                Entry::Link(target) => cpio.link(path, target),
            }
        }
    }

    fn add(&mut self, top: &Path, folder: &Path, place: &str) -> Result<(), ShareError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ShareError::Read { path, source }
        };
        self.entries.push((place.to_owned(), Entry::Folder));
        let entries = std::fs::read_dir(folder).map_err(failed(folder))?;
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(failed(folder))?;
        paths.sort();
        for path in paths {
            let text = |path: &Path| {
                path.to_str().map(str::to_owned).ok_or_else(|| ShareError::Name(path.to_owned()))
            };
            let name = text(Path::new(path.file_name().unwrap_or_default()))?;
            let place = format!("{place}/{name}");
            let metadata = path.symlink_metadata().map_err(failed(&path))?;
            self.bytes += if metadata.is_file() { metadata.len() } else { 0 };
            if self.bytes > MOST_BYTES || self.entries.len() >= MOST_ENTRIES {
                return Err(ShareError::TooLarge(top.to_owned()));
            }
            if metadata.is_dir() {
                self.add(top, &path, &place)?;
            } else if metadata.is_symlink() {
                let target = std::fs::read_link(&path).map_err(failed(&path))?;
                self.entries.push((place, Entry::Link(text(&target)?)));
            } else if metadata.is_file() {
                let contents = std::fs::read(&path).map_err(failed(&path))?;
                self.entries.push((place, Entry::File(contents)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn folders_are_copied_in_the_order_of_names() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("work");
        create_dir(&folder).unwrap();
        write(outer.path().join("secret"), "x").unwrap();
        write(folder.join("b"), "text").unwrap();
        create_dir(folder.join("a")).unwrap();
        write(folder.join("a/tool"), [0xff, 0]).unwrap();
        symlink("../secret", folder.join("link")).unwrap();
        let share = Share::read(&folder).unwrap();
        let names: Vec<&str> = share.entries.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["/share", "/share/a", "/share/a/tool", "/share/b", "/share/link"]);
        assert!(
            matches!(&share.entries[4].1, Entry::Link(target) if target == "../secret"),
            "it is not followed"
        );
        assert_eq!(share.bytes(), 6);
    }

    #[test]
    fn large_folders_are_refused_before_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(folder.path().join("sparse")).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
        let told = Share::read(folder.path()).unwrap_err().to_string();
        assert!(told.contains("has more than 256 MiB"), "{told}");
    }
}
