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
