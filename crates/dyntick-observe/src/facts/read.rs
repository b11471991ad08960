// SPDX-License-Identifier: GPL-2.0-only
//! Files of /proc and /sys as text, and why they could not be read.

/// The reason why the facts could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
    /// A file's contents are not what every kernel since 6.1 writes.
    #[error("{path}: {reason}")]
    Contents {
        /// The file.
        path: String,
        /// The defect.
        reason: String,
    },
}

/// The text of a file without its last line's end.
pub(super) fn text(path: &str) -> Result<String, FactsError> {
    let read = std::fs::read(path).map_err(|source| FactsError::Read { path: path.to_owned(), source })?;
    Ok(String::from_utf8_lossy(&read).trim_end_matches(['\n', '\0']).to_owned())
}

pub(super) fn contents(path: &str, reason: impl std::fmt::Display) -> FactsError {
    FactsError::Contents { path: path.to_owned(), reason: reason.to_string() }
}
