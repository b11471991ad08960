// SPDX-License-Identifier: GPL-2.0-only
//! The modules that a kernel needs for a disk with ext4.

use super::modules;
use dyntick_kernels::find::Kernel;

/// A part of the kernel, and its module.
struct Part {
    option: &'static str,
    module: &'static str,
    /// Some kernels have neither option nor module, and need none.
    of_some: bool,
}

const fn part(option: &'static str, module: &'static str, of_some: bool) -> Part {
    Part { option, module, of_some }
}

/// In the order in which they are loaded. ext4 asks the kernel's cryptography for CRC-32C by name before Linux 6.15
/// (`fs/ext4/super.c`: `crypto_alloc_shash("crc32c", 0, 0)`); that is no dependency which `.modinfo` would tell.
const PARTS: [Part; 4] = [
    part("VIRTIO_PCI", "virtio_pci", false),
    part("VIRTIO_BLK", "virtio_blk", false),
    part("CRYPTO_CRC32C", "crc32c_generic", true),
    part("EXT4_FS", "ext4", false),
];

/// The names of those that this kernel has as modules. Where its configuration is not known, what is there as a module.
pub fn modules(kernel: &Kernel) -> Vec<String> {
    let there = |part: &Part| modules::has(kernel, part.module);
    let is_module = |part: &&Part| match kernel.config.get(part.option) {
        // One that is missing is reported with its name when the image is made.
        Some("m") => !part.of_some || there(part),
        Some(_) => false,
        None => kernel.config.is_empty() && there(part),
    };
    PARTS.iter().filter(is_module).map(|part| part.module.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::KernelConfig;
    use std::path::{Path, PathBuf};

    fn kernel(config: &str, folder: &Path) -> Kernel {
        Kernel {
            spec: String::new(),
            release: "6.12.0".parse().unwrap(),
            image: PathBuf::new(),
            modules: Some(folder.to_owned()),
            config: KernelConfig::parse(config),
            sha256: String::new(),
            source: String::new(),
            package: None,
            fallback: None,
            built: None,
            tree: None,
        }
    }

    #[test]
    fn built_in_code_needs_no_module() {
        let folder = tempfile::tempdir().unwrap();
        let of = |config: &str| modules(&kernel(config, folder.path()));
        let debian = "CONFIG_VIRTIO_PCI=y\nCONFIG_VIRTIO_BLK=m\nCONFIG_CRYPTO_CRC32C=m\nCONFIG_EXT4_FS=m\n";
        assert_eq!(of(debian), ["virtio_blk", "ext4"]);
        std::fs::write(folder.path().join("crc32c_generic.ko.xz"), "").unwrap();
        assert_eq!(of(debian), ["virtio_blk", "crc32c_generic", "ext4"]);
        assert_eq!(of(&debian.replace("=m", "=y")), [] as [&str; 0]);
        assert_eq!(of(""), ["crc32c_generic"], "what there is, where nothing is known");
    }
}
