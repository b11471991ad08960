// SPDX-License-Identifier: GPL-2.0-only
//! Several named files in one input, so that what changes bytes changes files and not the checksums
//! of an archive: a line `== NAME`, then the bytes of that file up to the next such line.

use flate2::Compression;
use flate2::write::GzEncoder;

const MARK: &[u8] = b"== ";

/// Named files, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces<'a>(pub Vec<(String, &'a [u8])>);

impl<'a> Pieces<'a> {
    /// Splits an input; text before the first name is left out. The end of line before a
    /// name belongs to neither file.
    pub fn split(bytes: &'a [u8]) -> Self {
        let begins = |at: usize| (at == 0 || bytes[at - 1] == b'\n') && bytes[at..].starts_with(MARK);
        let marks: Vec<usize> = (0..bytes.len()).filter(|at| begins(*at)).collect();
        let ends = marks.iter().skip(1).map(|next| next - 1).chain([bytes.len()]);
        let piece = |(begin, end): (&usize, usize)| {
            let whole = &bytes[begin + MARK.len()..end.max(begin + MARK.len())];
            let line = whole.iter().position(|byte| *byte == b'\n').unwrap_or(whole.len());
            let content = whole.get(line + 1..).unwrap_or_default();
            (String::from_utf8_lossy(&whole[..line]).into_owned(), content)
        };
        Self(marks.iter().zip(ends).map(piece).collect())
    }

    /// The files as a compressed tar. What a tar cannot hold, as an empty name, is left out.
    pub fn archive(&self) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, bytes) in &self.0 {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            let _ = archive.append_data(&mut header, name, *bytes);
        }
        archive.into_inner().and_then(GzEncoder::finish).unwrap_or_default()
    }

    /// The files as a tar in which those are compressed whose names end in `.zst`.
    pub fn members(&self) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, bytes) in &self.0 {
            let packed = name.ends_with(".zst").then(|| zstd::bulk::compress(bytes, 1).unwrap_or_default());
            let bytes = packed.as_deref().unwrap_or(bytes);
            let mut header = tar::Header::new_ustar();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            let _ = archive.append_data(&mut header, name, bytes);
        }
        archive.into_inner().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_split_at_its_names() {
        let pieces = Pieces::split(b"x\n== a\n1\n2\n== b\n== c\nx== d");
        let expected: [(String, &[u8]); 3] =
            [("a".into(), b"1\n2"), ("b".into(), b""), ("c".into(), b"x== d")];
        assert_eq!(pieces.0, expected);
        assert_eq!(Pieces::split(b"== ").0, [(String::new(), &b""[..])]);
        assert_eq!(Pieces::split(b"nothing"), Pieces::default());
    }
}
