// SPDX-License-Identifier: GPL-2.0-only
//! The hash and length of a file, without its contents in memory.

use dyntick_system::{InputError, open_regular};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Length and SHA-256 of a file: two files with the same are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl Contents {
    /// Hashes a regular file of at most `limit` bytes, read piece by piece: a hole of any size takes no place on a
    /// disk, and hours to read.
    ///
    /// # Errors
    /// If it cannot be read, is no regular file or larger.
    pub fn of(path: &Path, limit: u64) -> Result<Self, InputError> {
        Self::of_open(&open_regular(path)?, path, limit)
    }

    /// The same of a file that is open.
    ///
    /// # Errors
    /// If it cannot be read or is larger.
    pub fn of_open(file: &File, path: &Path, limit: u64) -> Result<Self, InputError> {
        let mut hash = Sha256::new();
        let copied = std::io::copy(&mut file.take(limit.saturating_add(1)), &mut hash);
        let bytes = copied.map_err(|source| InputError::Io { path: path.to_owned(), source })?;
        if bytes > limit {
            return Err(InputError::TooLarge { path: path.to_owned(), limit });
        }
        Ok(Self { bytes, sha256: hex::encode(hash.finalize()) })
    }
}

/// The SHA-256 of several texts, in hexadecimal. The length of each is hashed too, so that no two lists give the same.
pub fn of_parts(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::of_parts;

    #[test]
    fn parts_are_kept_apart() {
        assert_eq!(of_parts(&[b"ab", b"c"]), of_parts(&[b"ab", b"c"]));
        assert_ne!(of_parts(&[b"ab", b"c"]), of_parts(&[b"a", b"bc"]));
        assert_ne!(of_parts(&[b"ab"]), of_parts(&[b"ab", b""]));
    }
}
