// SPDX-License-Identifier: GPL-2.0-only
//! The errors of reading a record, and the limits on its texts.

use crate::accept::Accept;

pub(crate) const LONGEST_VERSION: u64 = 64;
/// The maximum size of a text, bytes. The `about.json` of a machine with 100 000 threads has 20 MiB.
pub(crate) const LONGEST_TEXT: u64 = 64 << 20;

/// An error of reading a record, without the file's name.
#[derive(Debug)]
pub(crate) enum Trouble {
    Foreign,
    Damaged(String),
    Version(String),
    /// Compressed with gzip, as records of format 1 were.
    Gzip,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Foreign => f.write_str("it is no record"),
            Trouble::Damaged(reason) => f.write_str(reason),
            Trouble::Version(version) => write!(f, "it has format {version}"),
            Trouble::Gzip => f.write_str("it is compressed with gzip"),
        }
    }
}

/// Parses a JSON text, and checks its values.
pub(crate) fn json<T: serde::de::DeserializeOwned + Accept>(bytes: &[u8]) -> Result<T, String> {
    let value: T = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    value.accept().map(|()| value)
}
