// SPDX-License-Identifier: GPL-2.0-only
//! Source archives, unpacked without their outermost folder.

use super::SourceError;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Component, Path, PathBuf};

/// Unpacks a .tar, .tar.xz, .tar.gz or .tar.zst; its first bytes tell which.
pub fn file(path: &Path, folder: &Path) -> Result<(), SourceError> {
    let read = |source| SourceError::Read { path: path.to_owned(), source };
    let what = path.display().to_string();
    let mut magic = Vec::new();
    File::open(path).and_then(|file| file.take(6).read_to_end(&mut magic)).map_err(read)?;
    let file = BufReader::with_capacity(1 << 20, File::open(path).map_err(read)?);
    match magic[..] {
        [0xfd, b'7', b'z', b'X', b'Z', 0] => stream(liblzma::read::XzDecoder::new(file), folder, &what),
        [0x1f, 0x8b, ..] => stream(flate2::read::GzDecoder::new(file), folder, &what),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match ruzstd::decoding::StreamingDecoder::new(file) {
            Ok(decoder) => stream(decoder, folder, &what),
            Err(error) => Err(SourceError::Unpack { what, reason: error.to_string() }),
        },
        _ => stream(file, folder, &what),
    }
}

/// Unpacks the stream of a tar archive.
pub fn stream(reader: impl Read, folder: &Path, what: &str) -> Result<(), SourceError> {
    let mut archive = tar::Archive::new(reader);
    let failed =
        |error: std::io::Error| SourceError::Unpack { what: what.to_owned(), reason: error.to_string() };
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let Some(inner) = without_outermost(&entry.path().map_err(failed)?) else { continue };
        let place = folder.join(inner);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        entry.unpack(place).map_err(failed)?;
    }
    Ok(())
}

/// `linux-6.12/kernel/fork.c` is `kernel/fork.c`. Whatever would lead out of the folder is left out.
fn without_outermost(path: &Path) -> Option<PathBuf> {
    let plain = path.components().filter(|part| *part != Component::CurDir);
    let inner: Vec<Component> = plain.skip(1).collect();
    let safe = !inner.is_empty() && inner.iter().all(|part| matches!(part, Component::Normal(_)));
    safe.then(|| inner.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn archive() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, text) in [("linux-6/Kconfig", "a"), ("linux-6/kernel/fork.c", "b")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap()
    }

    #[test]
    fn every_compression_gives_the_same_tree() {
        let dir = tempfile::tempdir().unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&archive()).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
        xz.write_all(&archive()).unwrap();
        let zst =
            ruzstd::encoding::compress_to_vec(&archive()[..], ruzstd::encoding::CompressionLevel::Fastest);
        let all = [("gz", gz.finish().unwrap()), ("xz", xz.finish().unwrap()), ("zst", zst), ("", archive())];
        for (name, bytes) in all {
            let path = dir.path().join(format!("a.tar.{name}"));
            std::fs::write(&path, bytes).unwrap();
            let folder = dir.path().join(format!("tree-{name}"));
            file(&path, &folder).unwrap();
            assert_eq!(std::fs::read_to_string(folder.join("kernel/fork.c")).unwrap(), "b", "{name}");
        }
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let inner = |path: &str| without_outermost(Path::new(path));
        assert_eq!(inner("./linux/a/b"), Some("a/b".into()));
        assert_eq!(inner("linux/../../etc/passwd"), None);
        assert_eq!(inner("linux/"), None);
    }

    #[test]
    fn what_is_no_archive_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar.xz");
        std::fs::write(&path, b"\xfd7zXZ\0damaged").unwrap();
        let error = file(&path, dir.path()).unwrap_err().to_string();
        assert!(error.contains("x.tar.xz"), "{error}");
        assert!(matches!(file(Path::new("/no/such"), dir.path()), Err(SourceError::Read { .. })));
    }
}
