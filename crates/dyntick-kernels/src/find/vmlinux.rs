// SPDX-License-Identifier: GPL-2.0-only
//! The uncompressed kernel inside a bzImage (`Documentation/arch/x86/boot.rst`).

use crate::elf_tables::ElfTables;
use object::LittleEndian as Little;
use std::borrow::Cow;
use std::io::Read;

/// The reason why a kernel image is not understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Neither a bzImage nor an ELF file.
    #[error("this is neither a bzImage nor an uncompressed vmlinux")]
    NotAKernel,
    /// A boot protocol before 2.08 (Linux 2.6.26) does not tell where the kernel proper is.
    #[error("the image's boot protocol {0:#x} is too old")]
    OldProtocol(u16),
    /// The payload reaches beyond the file.
    #[error("the image is truncated: its payload extends beyond its end")]
    Truncated,
    /// A compression that is not known here.
    #[error(
        "the kernel's compression is not known (it begins with {0:02x?}); build it with CONFIG_KERNEL_ZSTD, _XZ, _GZIP, _LZMA or _LZ4"
    )]
    Compression(Vec<u8>),
    /// The decompressor refused.
    #[error("the kernel in the image cannot be decompressed: {0}")]
    Decompress(String),
}

/// Signature and place of the fields of the setup header.
const BOOT_SIGNATURE: (usize, &[u8]) = (0x202, b"HdrS");
const SETUP_SECTORS: usize = 0x1f1;
const PROTOCOL: usize = 0x206;
const KERNEL_VERSION: usize = 0x20e;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// The uncompressed ELF kernel: the image itself where it is one, else what its bzImage holds.
pub fn extract(image: &[u8]) -> Result<Cow<'_, [u8]>, ImageError> {
    if image.starts_with(b"\x7fELF") {
        return Ok(image.into());
    }
    decompress(payload(image)?).map(Cow::Owned)
}

/// The release that a bzImage names in its header.
pub fn release(image: &[u8]) -> Option<String> {
    is_bzimage(image).then_some(())?;
    let text = image.get(usize::from(word16(image, KERNEL_VERSION)?) + 0x200..)?;
    let end = text.iter().position(|byte| *byte == 0 || *byte == b' ')?;
    Some(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// The release that an uncompressed kernel announces: `Linux version RELEASE (…`.
pub fn release_of_vmlinux(vmlinux: &[u8]) -> Option<String> {
    const BANNER: &[u8] = b"Linux version ";
    let begin = find(vmlinux, BANNER)? + BANNER.len();
    let end = vmlinux[begin..].iter().take(128).position(|byte| *byte == b' ')?;
    Some(String::from_utf8_lossy(&vmlinux[begin..begin + end]).into_owned())
}

/// True if the kernel can be entered directly, in 32-bit mode, by its PVH note
/// (`XEN_ELFNOTE_PHYS32_ENTRY`, CONFIG_PVH).
pub fn has_pvh_entry(vmlinux: &[u8]) -> bool {
    const PHYS32_ENTRY: u32 = 18;
    /// A kernel has some ten; thousands of headers may name the same million.
    const MOST: usize = 10_000;
    let Ok(tables) = ElfTables::of(vmlinux) else { return false };
    tables.notes().take(MOST).any(|note| note.name() == b"Xen" && note.n_type(Little) == PHYS32_ENTRY)
}

/// The configuration that a kernel with CONFIG_IKCONFIG carries, if it does.
pub fn embedded_config(vmlinux: &[u8]) -> Option<String> {
    // With what follows it: the bare word may stand elsewhere too.
    const MARK: &[u8] = b"IKCFG_ST\x1f\x8b";
    let begin = find(vmlinux, MARK)? + MARK.len() - 2;
    let mut text = String::new();
    flate2::read::GzDecoder::new(&vmlinux[begin..])
        .take(crate::build::LARGEST_CONFIG)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

fn is_bzimage(image: &[u8]) -> bool {
    image.get(BOOT_SIGNATURE.0..BOOT_SIGNATURE.0 + 4) == Some(BOOT_SIGNATURE.1)
}

fn payload(image: &[u8]) -> Result<&[u8], ImageError> {
    if !is_bzimage(image) {
        return Err(ImageError::NotAKernel);
    }
    let protocol = word16(image, PROTOCOL).ok_or(ImageError::Truncated)?;
    if protocol < 0x208 {
        return Err(ImageError::OldProtocol(protocol));
    }
    let sectors = match image[SETUP_SECTORS] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let offset = word32(image, PAYLOAD_OFFSET).ok_or(ImageError::Truncated)? as usize;
    let length = word32(image, PAYLOAD_LENGTH).ok_or(ImageError::Truncated)? as usize;
    let begin = (sectors + 1) * 512 + offset;
    image.get(begin..begin + length).ok_or(ImageError::Truncated)
}

/// A kernel with all built in has some 60 MiB; what unpacks to more is made to fill a memory or a cache.
const LARGEST: u64 = 256 << 20;

fn decompress(payload: &[u8]) -> Result<Vec<u8>, ImageError> {
    let failed = |error: &dyn std::fmt::Display| ImageError::Decompress(error.to_string());
    let mut reader: Box<dyn Read + '_> = match payload {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Box::new(liblzma::read::XzDecoder::new(payload)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = zstd::Decoder::with_buffer(payload).map_err(|error| failed(&error))?;
            // The size of the kernel follows its data.
            Box::new(decoder.single_frame())
        }
        [0x5d, 0, 0, ..] => Box::new(liblzma::read::XzDecoder::new_stream(
            payload,
            liblzma::stream::Stream::new_lzma_decoder(u64::MAX).map_err(|error| failed(&error))?,
        )),
        // The size of the kernel follows its data; this old format of lz4 has no end of its own.
        [0x02, 0x21, 0x4c, 0x18, ..] => {
            Box::new(lz4_flex::frame::FrameDecoder::new(&payload[..payload.len().saturating_sub(4)]))
        }
        [0x1f, 0x8b, ..] => Box::new(flate2::read::GzDecoder::new(payload)),
        [0x7f, b'E', b'L', b'F', ..] => Box::new(payload),
        other => return Err(ImageError::Compression(other.iter().take(6).copied().collect())),
    };
    let mut kernel = Vec::new();
    reader.by_ref().take(LARGEST).read_to_end(&mut kernel).map_err(|error| failed(&error))?;
    if kernel.len() as u64 == LARGEST {
        return Err(failed(&format!("it unpacks to more than {} MiB", LARGEST >> 20)));
    }
    if kernel.starts_with(b"\x7fELF") { Ok(kernel) } else { Err(ImageError::NotAKernel) }
}

fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(haystack, needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    /// A bzImage with one setup sector and this payload.
    fn bzimage(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0u8; 1024];
        image[SETUP_SECTORS] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[PROTOCOL..PROTOCOL + 2].copy_from_slice(&0x20fu16.to_le_bytes());
        image[KERNEL_VERSION..KERNEL_VERSION + 2].copy_from_slice(&0x100u16.to_le_bytes());
        image[0x300..0x30e].copy_from_slice(b"6.12.1-test (x");
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend_from_slice(payload);
        image
    }

    #[test]
    fn gzip_payload_and_release() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"\x7fELF and more").unwrap();
        let image = bzimage(&gz.finish().unwrap());
        assert_eq!(*extract(&image).unwrap(), *b"\x7fELF and more");
        assert_eq!(release(&image).as_deref(), Some("6.12.1-test"));
    }

    /// Made like the kernel's build does: by `lzma -9` and `lz4 -l -9`, followed by the size.
    #[test]
    fn lzma_and_lz4_payloads() {
        let kernel = [b"\x7fELF".as_slice(), &[b'x'; 5000]].concat();
        let size = (kernel.len() as u32).to_le_bytes();
        let options = liblzma::stream::LzmaOptions::new_preset(9).unwrap();
        let encoder = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
        let mut lzma = liblzma::write::XzEncoder::new_stream(Vec::new(), encoder);
        lzma.write_all(&kernel).unwrap();
        let lzma = [lzma.finish().unwrap(), size.to_vec()].concat();
        assert_eq!(extract(&bzimage(&lzma)).as_deref(), Ok(&kernel[..]));

        let block = lz4_flex::block::compress(&kernel);
        let magic = 0x184c_2102u32.to_le_bytes();
        let lz4 = [&magic[..], &(block.len() as u32).to_le_bytes(), &block, &size].concat();
        assert_eq!(extract(&bzimage(&lz4)).as_deref(), Ok(&kernel[..]));
        assert!(matches!(extract(&bzimage(&magic)), Err(ImageError::Decompress(_) | ImageError::NotAKernel)));
    }

    #[test]
    fn a_configuration_inside_the_kernel() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"CONFIG_HZ=1000\n").unwrap();
        let kernel =
            [b"\x7fELF IKCFG_ST, the word alone; IKCFG_ST".as_slice(), &gz.finish().unwrap(), b"IKCFG_ED"];
        assert_eq!(embedded_config(&kernel.concat()).as_deref(), Some("CONFIG_HZ=1000\n"));
        assert_eq!(embedded_config(b"IKCFG_ST\x1f\x8bnoise"), None);
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(extract(b"#!/bin/sh\n"), Err(ImageError::NotAKernel));
        assert_eq!(extract(&bzimage(b"BZh9xxxx")), Err(ImageError::Compression(b"BZh9xx".to_vec())));
        let mut cut = bzimage(b"\x1f\x8bxxxxxxxx");
        cut.truncate(1026);
        assert_eq!(extract(&cut), Err(ImageError::Truncated));
    }

    const MAGIC: [&[u8]; 6] =
        [b"", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"\x5d\0\0", b"\x02\x21\x4c\x18"];

    proptest! {
        #[test]
        fn never_panics(
            noise in prop::collection::vec(any::<u8>(), 0..2048),
            magic in prop::sample::select(MAGIC.as_slice()),
            at in 0usize..1100,
        ) {
            let mut image = bzimage(&[magic, &noise].concat());
            let _ = extract(&image);
            let _ = embedded_config(&[b"IKCFG_ST\x1f\x8b", &noise[..]].concat());
            if let Some(byte) = image.get_mut(at) { *byte ^= 0x5a; }
            let _ = extract(&image);
            let _ = release(&image);
            let _ = has_pvh_entry(&noise);
        }
    }
}
