// SPDX-License-Identifier: GPL-2.0-only
//! The compressed parts of files. A part unpacks to at most the size that it declares, which has a limit.

use crate::ImportError;
use crate::bytes::Damage;
use std::io::Read;

/// An algorithm of trace-cmd (`lib/trace-cmd/trace-compress.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Zstd,
    Zlib,
}

impl Algorithm {
    /// The algorithm of a name; `None` for `none`.
    pub fn named(name: &str, at: Damage) -> Result<Option<Self>, ImportError> {
        match name {
            "none" | "" => Ok(None),
            "zstd" => Ok(Some(Algorithm::Zstd)),
            "zlib" => Ok(Some(Algorithm::Zlib)),
            _ => Err(at.is(format!("the compression '{}' is unknown", name.escape_debug()))),
        }
    }

    /// Unpacks bytes to exactly `size`, of which the caller knows that memory has room for it.
    pub fn unpack(self, packed: &[u8], size: usize, at: Damage) -> Result<Vec<u8>, ImportError> {
        let wrong = |error: std::io::Error| at.is(format!("it cannot be unpacked: {error}"));
        let mut unpacked = Vec::new();
        let limit = size as u64 + 1;
        match self {
            Algorithm::Zstd => {
                let decoder = zstd::stream::Decoder::new(packed).map_err(wrong)?.single_frame();
                decoder.take(limit).read_to_end(&mut unpacked)
            }
            Algorithm::Zlib => flate2::read::ZlibDecoder::new(packed).take(limit).read_to_end(&mut unpacked),
        }
        .map_err(wrong)?;
        if unpacked.len() == size {
            Ok(unpacked)
        } else {
            Err(at.is(format!("it does not unpack to the {size} bytes that it declares")))
        }
    }
}
