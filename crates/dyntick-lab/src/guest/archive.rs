// SPDX-License-Identifier: GPL-2.0-only
//! Named pieces of bytes in one, with a checksum.

use std::collections::BTreeMap;
use twox_hash::XxHash64;

/// Named pieces of bytes: a JSON text, a raw trace, a tool's output.
///
/// On the wire: xxHash64 of all that follows (u64; against damage, not against forgery, and some ten times
/// cheaper than a SHA in an emulated guest), then for each piece the length of its name
/// (u32), the name, the length of its bytes (u64), the bytes; little endian.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive(pub BTreeMap<String, Vec<u8>>);

/// A damaged archive.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// The bytes are not those that were sent.
    #[error("the checksum of the guest's observations does not fit: they were damaged on the way")]
    Checksum,
    /// It ends in the middle.
    #[error("the guest's observations end in the middle of a piece")]
    Truncated,
}

const DIGEST: usize = size_of::<u64>();

impl Archive {
    /// Adds or replaces a piece.
    pub fn insert(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.insert(name.into(), bytes.into());
    }

    /// The piece of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The bytes for the wire.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; DIGEST];
        for (name, piece) in &self.0 {
            bytes.extend((name.len() as u32).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.extend((piece.len() as u64).to_le_bytes());
            bytes.extend(piece);
        }
        let digest = checksum(&bytes[DIGEST..]);
        bytes[..DIGEST].copy_from_slice(&digest);
        bytes
    }

    /// Reads what [`Archive::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArchiveError> {
        let (digest, mut rest) = bytes.split_at_checked(DIGEST).ok_or(ArchiveError::Truncated)?;
        if checksum(rest) != digest {
            return Err(ArchiveError::Checksum);
        }
        let mut archive = Archive::default();
        while !rest.is_empty() {
            let name_length = u32::from_le_bytes(take(&mut rest, 4)?.try_into().unwrap_or_default());
            let name = String::from_utf8_lossy(take(&mut rest, name_length as usize)?).into_owned();
            let length = u64::from_le_bytes(take(&mut rest, 8)?.try_into().unwrap_or_default());
            archive.insert(name, take(&mut rest, length as usize)?);
        }
        Ok(archive)
    }
}

fn checksum(bytes: &[u8]) -> [u8; DIGEST] {
    XxHash64::oneshot(0, bytes).to_le_bytes()
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], ArchiveError> {
    let (head, tail) = rest.split_at_checked(count).ok_or(ArchiveError::Truncated)?;
    *rest = tail;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_back_as_it_went(
            pieces in prop::collection::btree_map(".{0,12}", prop::collection::vec(any::<u8>(), 0..64), 0..6)
        ) {
            let archive = Archive(pieces);
            prop_assert_eq!(Archive::from_bytes(&archive.to_bytes()), Ok(archive));
        }

        #[test]
        fn any_changed_bit_is_noticed(position in 0usize..60, bit in 0u8..8) {
            let mut archive = Archive::default();
            archive.insert("trace", vec![7; 40]);
            let mut bytes = archive.to_bytes();
            bytes[position] ^= 1 << bit;
            prop_assert_eq!(Archive::from_bytes(&bytes), Err(ArchiveError::Checksum));
        }
    }
}
