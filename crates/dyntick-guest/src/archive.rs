// SPDX-License-Identifier: GPL-2.0-only
//! Named pieces of bytes in one, with a checksum.
//!
//! Root in a guest can write any archive: the checksum is against damage and not against
//! forgery. So an archive that is read has plain names only, no name twice, and few pieces; whether a
//! piece is one that the job yields is for `pieces.rs`.

use dyntick_model::text::shortened;
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
    #[error("checksum mismatch: the guest's observations were damaged in transfer")]
    Checksum,
    /// It ends in the middle.
    #[error("the guest's observations are truncated")]
    Truncated,
    /// A name that no agent gives.
    #[error(
        "the guest sent a file named '{0}', and names of the agent's files have only letters, digits, '.', '_' and '-'"
    )]
    Name(String),
    /// The same name twice.
    #[error("the guest sent two files named '{0}'")]
    Twice(String),
    /// More pieces than any job yields.
    #[error("the guest sent more than {MOST_PIECES} files")]
    TooMany,
}

const DIGEST: usize = size_of::<u64>();

/// Beyond what a job can ask for: a trace of each CPU, two pieces of each file that is read.
const MOST_PIECES: usize = 4096;

/// The names of files that file systems and people accept.
const LONGEST_NAME: usize = 200;

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
    ///
    /// # Errors
    /// If it is damaged, or is none that an agent writes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArchiveError> {
        let (digest, mut rest) = bytes.split_at_checked(DIGEST).ok_or(ArchiveError::Truncated)?;
        if checksum(rest) != digest {
            return Err(ArchiveError::Checksum);
        }
        let mut archive = Archive::default();
        while !rest.is_empty() {
            let name_length = u32::from_le_bytes(take(&mut rest, 4)?.try_into().unwrap_or_default());
            let name = plain_name(take(&mut rest, name_length as usize)?)?;
            let length = u64::from_le_bytes(take(&mut rest, 8)?.try_into().unwrap_or_default());
            let piece = take(&mut rest, usize::try_from(length).map_err(|_| ArchiveError::Truncated)?)?;
            if archive.0.len() == MOST_PIECES {
                return Err(ArchiveError::TooMany);
            }
            if archive.0.insert(name.clone(), piece.to_vec()).is_some() {
                return Err(ArchiveError::Twice(name));
            }
        }
        Ok(archive)
    }
}

/// A name that is one component of a path wherever it is put, and shows nothing but itself.
fn plain_name(bytes: &[u8]) -> Result<String, ArchiveError> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let fits = (1..=LONGEST_NAME).contains(&bytes.len()) && bytes.iter().all(plain) && bytes[0] != b'.';
    let name = String::from_utf8_lossy(bytes);
    if fits {
        Ok(name.into_owned())
    } else {
        Err(ArchiveError::Name(shortened(&name, LONGEST_NAME).replace('\n', " ")))
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
            pieces in prop::collection::btree_map("[A-Za-z0-9_-][A-Za-z0-9._-]{0,12}", prop::collection::vec(any::<u8>(), 0..64), 0..6)
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

    /// The archive as root of the guest would forge it, with a right checksum.
    fn forged(pieces: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; DIGEST];
        for (name, piece) in pieces {
            bytes.extend((name.len() as u32).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.extend((piece.len() as u64).to_le_bytes());
            bytes.extend(*piece);
        }
        let digest = checksum(&bytes[DIGEST..]);
        bytes[..DIGEST].copy_from_slice(&digest);
        bytes
    }

    #[test]
    fn a_name_that_could_leave_its_folder_is_refused() {
        let long = "x".repeat(LONGEST_NAME + 1);
        for name in ["", ".", "..", "../x", "/tmp/x", "a/b", ".hidden", "a\0b", "a\nb", "\x1b[2J", "ä", &long]
        {
            let found = Archive::from_bytes(&forged(&[(name, b"x")]));
            assert!(matches!(found, Err(ArchiveError::Name(_))), "{name:?}: {found:?}");
            assert!(!found.unwrap_err().to_string().chars().any(char::is_control));
        }
        assert!(Archive::from_bytes(&forged(&[("trace.cpu0", b"x"), ("file.stat.before", b"")])).is_ok());
    }

    #[test]
    fn repeated_names_and_endless_pieces_are_refused() {
        let twice = Archive::from_bytes(&forged(&[("a", b"x"), ("a", b"y")]));
        assert_eq!(twice, Err(ArchiveError::Twice("a".into())));
        let names: Vec<String> = (0..=MOST_PIECES).map(|number| number.to_string()).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
        assert_eq!(Archive::from_bytes(&forged(&many)), Err(ArchiveError::TooMany));
    }

    #[test]
    fn lengths_beyond_the_end_are_reported() {
        let mut bytes = forged(&[("a", b"x")]);
        let at = DIGEST + 4 + 1;
        bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        let digest = checksum(&bytes[DIGEST..]);
        bytes[..DIGEST].copy_from_slice(&digest);
        assert_eq!(Archive::from_bytes(&bytes), Err(ArchiveError::Truncated));
    }
}
