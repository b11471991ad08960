// SPDX-License-Identifier: GPL-2.0-only
//! What a file holds, without holding it.

use dyntick_system::{InputError, open_regular};
use sha2::{Digest, Sha256};
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
    /// Of a regular file, read piece by piece.
    ///
    /// # Errors
    /// Where it cannot be read or is no regular file.
    pub fn of(path: &Path) -> Result<Self, InputError> {
        let mut hash = Sha256::new();
        let copied = std::io::copy(&mut open_regular(path)?, &mut hash);
        let bytes = copied.map_err(|source| InputError::Io { path: path.to_owned(), source })?;
        Ok(Self { bytes, sha256: hex::encode(hash.finalize()) })
    }
}
