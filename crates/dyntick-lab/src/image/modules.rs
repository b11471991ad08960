// SPDX-License-Identifier: GPL-2.0-only
//! Kernel modules for the guest, in the order in which they must be loaded.
//!
//! A kernel package carries no `modules.dep` (depmod writes it at installation), so the
//! dependencies are read where depmod reads them: in each module's `.modinfo` section.

use crate::kernels::Kernel;
use goblin::elf::Elf;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One module, uncompressed.
pub struct Module {
    /// Its name with underscores, as in `/proc/modules`.
    pub name: String,
    /// The ELF file.
    pub contents: Vec<u8>,
}

/// Why a module cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The kernel came without modules.
    #[error(
        "the module '{module}' was asked for, but {kernel} came without modules; build it in or choose a packaged kernel"
    )]
    NoModules {
        /// The module.
        module: String,
        /// The kernel.
        kernel: String,
    },
    /// No such module beside the kernel.
    #[error("{kernel} has no module '{module}'")]
    Unknown {
        /// The module.
        module: String,
        /// The kernel.
        kernel: String,
    },
    /// A module file is damaged or unreadable.
    #[error("cannot read the module {path}: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was wrong.
        reason: String,
    },
}

/// The modules of these names and all that they depend on, dependencies first.
pub fn with_dependencies(kernel: &Kernel, names: &[String]) -> Result<Vec<Module>, ModuleError> {
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let folder = kernel.modules.as_ref().ok_or_else(|| ModuleError::NoModules {
        module: first.clone(),
        kernel: kernel.release.to_string(),
    })?;
    let mut files = BTreeMap::new();
    list(folder, &mut files);
    let mut loaded = Vec::new();
    for name in names {
        add(&canonical(name), &files, kernel, &mut loaded)?;
    }
    Ok(loaded)
}

fn add(
    name: &str,
    files: &BTreeMap<String, PathBuf>,
    kernel: &Kernel,
    loaded: &mut Vec<Module>,
) -> Result<(), ModuleError> {
    if loaded.iter().any(|module| module.name == name) {
        return Ok(());
    }
    let path = files.get(name).ok_or_else(|| ModuleError::Unknown {
        module: name.to_owned(),
        kernel: kernel.release.to_string(),
    })?;
    let damaged = |reason: String| ModuleError::Damaged { path: path.clone(), reason };
    let contents = decompress(path).map_err(|error| damaged(error.to_string()))?;
    for dependency in dependencies(&contents).map_err(|error| damaged(error.to_string()))? {
        add(&dependency, files, kernel, loaded)?;
    }
    loaded.push(Module { name: name.to_owned(), contents });
    Ok(())
}

fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

fn list(folder: &Path, files: &mut BTreeMap<String, PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        // A link to a folder, which may be one above, is not followed.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&path, files);
        } else if let Some((name, _)) =
            path.file_name().and_then(|n| n.to_str()).and_then(|n| n.split_once(".ko"))
        {
            files.insert(canonical(name), path.clone());
        }
    }
}

/// The largest modules, graphics drivers, have a twentieth of it.
const LARGEST: u64 = 256 << 20;

fn decompress(path: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = dyntick_system::read_regular(path, LARGEST).map_err(std::io::Error::other)?;
    let mut contents = Vec::new();
    match path.extension().and_then(|e| e.to_str()) {
        Some("xz") => {
            liblzma::read::XzDecoder::new(bytes.as_slice()).take(LARGEST).read_to_end(&mut contents)?;
        }
        Some("zst") => {
            let decoder =
                ruzstd::decoding::StreamingDecoder::new(bytes.as_slice()).map_err(std::io::Error::other)?;
            decoder.take(LARGEST).read_to_end(&mut contents)?;
        }
        Some("gz") => {
            flate2::read::GzDecoder::new(bytes.as_slice()).take(LARGEST).read_to_end(&mut contents)?;
        }
        _ => contents = bytes,
    }
    Ok(contents)
}

/// The `depends=` entry of `.modinfo`, a list of NUL-terminated texts.
fn dependencies(module: &[u8]) -> Result<Vec<String>, goblin::error::Error> {
    let elf = Elf::parse(module)?;
    let section = elf.section_headers.iter().find(|s| elf.shdr_strtab.get_at(s.sh_name) == Some(".modinfo"));
    let info = section.and_then(|s| s.file_range()).and_then(|range| module.get(range)).unwrap_or_default();
    let entry = info.split(|byte| *byte == 0).find_map(|text| text.strip_prefix(b"depends="));
    let names = String::from_utf8_lossy(entry.unwrap_or_default()).into_owned();
    Ok(names.split(',').filter(|name| !name.is_empty()).map(canonical).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_folders_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::os::unix::fs::symlink(".", dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("x-y.ko.xz"), "").unwrap();
        let mut files = BTreeMap::new();
        list(dir.path(), &mut files);
        assert_eq!(files.keys().collect::<Vec<_>>(), ["x_y"]);
    }
}
