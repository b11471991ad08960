// SPDX-License-Identifier: GPL-2.0-only
//! The products of a build, taken out of its folder. An untrusted Makefile wrote there: only regular files
//! are taken, through no symbolic link, up to a size, and with no rights but to be read.

use super::BuildError;
use crate::cache::CacheError;
use dyntick_system::{ensure_solid, open_beneath};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most that is taken of a configuration or another text, bytes.
pub const TEXT: u64 = 64 << 20;
/// The most that is taken of a kernel, bytes: without debug information one with all its drivers has some 100 MiB.
pub const KERNEL: u64 = 512 << 20;
/// The most that is taken of one module that is compiled for it, bytes: the emulator of idle states has some 100 KiB.
pub const MODULE: u64 = 16 << 20;
/// The most that is taken of all its modules together, bytes: stripped, Debian's have some 500 MiB.
const MODULES: u64 = 2 << 30;
/// Debian's kernels have some 4 000 modules.
const FILES: usize = 20_000;

/// The longest release of a kernel, bytes (`__NEW_UTS_LEN`).
const RELEASE: usize = 64;

fn refused(inner: &Path, reason: impl ToString) -> BuildError {
    BuildError::Product { file: inner.display().to_string(), reason: reason.to_string() }
}

fn open(folder: &Path, inner: &Path) -> Result<File, BuildError> {
    open_beneath(folder, inner).map_err(|error| refused(inner, error))
}

/// The text of a file in `folder`.
pub fn text(folder: &Path, inner: &str) -> Result<String, BuildError> {
    let inner = Path::new(inner);
    let mut bytes = Vec::new();
    let read = open(folder, inner)?.take(TEXT + 1).read_to_end(&mut bytes);
    read.map_err(|error| refused(inner, error))?;
    if bytes.len() as u64 > TEXT {
        Err(refused(inner, too_large(TEXT)))
    } else {
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn too_large(limit: u64) -> String {
    format!("it has more than {} MiB", limit >> 20)
}

/// Copies a file of `folder` to `to`, which must not be there. Returns its size, which is at most
/// `limit` bytes.
pub fn copy(folder: &Path, inner: &Path, to: &Path, limit: u64) -> Result<u64, BuildError> {
    let from = open(folder, inner)?;
    // A hole is copied byte by byte.
    ensure_solid(&from, inner).map_err(|error| refused(inner, error.reason()))?;
    let copied =
        File::create_new(to).and_then(|mut file| std::io::copy(&mut from.take(limit + 1), &mut file));
    let size = copied.map_err(|error| CacheError::from_io(to, error))?;
    if size > limit { Err(refused(inner, too_large(limit))) } else { Ok(size) }
}

/// Copies all regular files of `folder`/`inner` likewise, with their folders; links, as a kernel's
/// modules have into the tree that they are built in, are left out.
pub fn copy_tree(folder: &Path, inner: &Path, to: &Path) -> Result<(), BuildError> {
    let mut left = MODULES;
    let root = folder.join(inner);
    for (number, entry) in walkdir::WalkDir::new(&root).into_iter().enumerate() {
        let entry = entry.map_err(|error| refused(inner, error))?;
        if number > FILES {
            return Err(refused(inner, format!("it has more than {FILES} files")));
        }
        if !entry.file_type().is_file() {
            continue;
        }
        let name = entry.path().strip_prefix(&root).unwrap_or(entry.path());
        let place =
            dyntick_system::place_beneath(to, name).map_err(|error| CacheError::from_io(to, error))?;
        left -= copy(folder, &inner.join(name), &place, left)?;
    }
    Ok(())
}

/// The release that a build prints, which becomes the name of a folder.
pub fn release(said: &[u8]) -> Result<String, BuildError> {
    let text = String::from_utf8_lossy(said).trim().to_owned();
    let fits = text.starts_with(|c: char| c.is_ascii_digit())
        && text.len() <= RELEASE
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._+~-".contains(c));
    if fits {
        Ok(text)
    } else {
        let told = dyntick_model::text::clean_line(&text).chars().take(RELEASE).collect::<String>();
        Err(refused(Path::new("the release"), format!("'{told}' is not a kernel release such as 6.12.1-x")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn regular_files_are_taken_without_their_rights() {
        let dir = tempfile::tempdir().unwrap();
        let (objects, kept) = (dir.path().join("objects"), dir.path().join("kept"));
        std::fs::create_dir_all(objects.join("arch")).unwrap();
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        std::fs::write(objects.join("arch/bzImage"), "kernel").unwrap();
        let rights = std::fs::Permissions::from_mode(0o6777);
        std::fs::set_permissions(objects.join("arch/bzImage"), rights).unwrap();
        symlink("../secret", objects.join("vmlinux")).unwrap();
        symlink("..", objects.join("up")).unwrap();

        let take = |inner: &str, limit| copy(&objects, Path::new(inner), &kept.join("x"), limit);
        for inner in ["vmlinux", "up/secret", "arch", "none"] {
            assert!(matches!(take(inner, 10), Err(BuildError::Product { .. })), "{inner}");
        }
        assert!(text(&objects, "vmlinux").unwrap_err().to_string().contains("symbolic link"));
        File::create(objects.join("hole")).unwrap().set_len(100 << 20).unwrap();
        let hole = take("hole", KERNEL).unwrap_err().to_string();
        assert!(hole.contains("a hole") && !kept.join("x").exists(), "{hole}");
        std::fs::remove_file(objects.join("hole")).unwrap();
        assert!(take("arch/bzImage", 5).unwrap_err().to_string().contains("more than"));
        std::fs::remove_file(kept.join("x")).unwrap();
        assert_eq!(take("arch/bzImage", 6).unwrap(), 6);
        assert_eq!(kept.join("x").metadata().unwrap().permissions().mode() & 0o7000, 0);

        let tree = dir.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        copy_tree(dir.path(), Path::new("objects"), &tree).unwrap();
        assert!(
            tree.join("arch/bzImage").is_file()
                && !tree.join("vmlinux").exists()
                && !tree.join("up").exists()
        );
    }

    #[test]
    fn a_release_is_one_plain_word() {
        assert_eq!(release(b"6.12.1+deb12-amd64\n").unwrap(), "6.12.1+deb12-amd64");
        for wrong in ["", "../../etc", "6.1/../../etc", "6.1\n6.2", "6.1\u{1b}[2J", ".6", &"6".repeat(65)] {
            assert!(release(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
