// SPDX-License-Identifier: GPL-2.0-only
//! Kernel modules for the guest, in the order in which they must be loaded.
//!
//! A kernel package carries no `modules.dep` (depmod writes it at installation), so the
//! dependencies are read where depmod reads them: in each module's `.modinfo` section.

use dyntick_kernels::elf_tables::{ElfTables, Malformed};
use dyntick_kernels::find::Kernel;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// One module, uncompressed.
pub struct Module {
    /// Its name with underscores, as in `/proc/modules`.
    pub name: String,
    /// The ELF file.
    pub contents: Vec<u8>,
}

/// The reason why a module cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The kernel came without modules.
    #[error(
        "the module '{module}' is requested, but {kernel} has no modules; build it in or choose a packaged kernel"
    )]
    NoModules {
        /// The module.
        module: String,
        /// The kernel.
        kernel: String,
    },
    /// The kernel has no such module.
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
        /// The reason.
        reason: String,
    },
    /// They depend on each other without end, or fill a guest.
    #[error("the modules are more than {MOST}, or larger than {} MiB together, at '{module}'", LARGEST >> 20)]
    TooMany {
        /// The file.
        module: String,
    },
}

/// The options of modules that a kernel for the laboratory may have built in.
const OPTIONS: [(&str, &str); 1] = [("null_blk", "BLK_DEV_NULL_BLK")];

/// Returns true if a kernel needs no module of this name, because it has it built in.
fn is_built_in(kernel: &Kernel, name: &str) -> bool {
    OPTIONS.iter().any(|(module, option)| *module == name && kernel.config.get(option) == Some("y"))
}

/// The modules of these names and all that they depend on, dependencies first. It omits those that are built in.
pub fn with_dependencies(kernel: &Kernel, names: &[String]) -> Result<Vec<Module>, ModuleError> {
    let names = names.iter().map(|name| canonical(name)).filter(|name| !is_built_in(kernel, name));
    let names: Vec<String> = names.collect();
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let folder = kernel.modules.as_ref().ok_or_else(|| ModuleError::NoModules {
        module: first.clone(),
        kernel: kernel.release.to_string(),
    })?;
    let mut files = BTreeMap::new();
    list(folder, &mut files);
    let (begun, loaded) = (BTreeSet::new(), Vec::new());
    let mut wanted = Wanted { folder, files: &files, kernel, begun, bytes: 0, loaded };
    for name in &names {
        wanted.add(name)?;
    }
    Ok(wanted.loaded)
}

/// True if the kernel has a module of this name.
pub fn has(kernel: &Kernel, name: &str) -> bool {
    let mut files = BTreeMap::new();
    kernel.modules.iter().for_each(|folder| list(folder, &mut files));
    files.contains_key(name)
}

/// Chains of dependencies are short: Debian's kernels have none of more than 20.
const MOST: usize = 256;

/// The modules that go into the guest.
struct Wanted<'a> {
    folder: &'a Path,
    files: &'a BTreeMap<String, PathBuf>,
    kernel: &'a Kernel,
    /// The modules that were visited, so that a circle of dependencies ends.
    begun: BTreeSet<String>,
    /// The size of all of those.
    bytes: u64,
    loaded: Vec<Module>,
}

impl Wanted<'_> {
    fn add(&mut self, name: &str) -> Result<(), ModuleError> {
        if !self.begun.insert(name.to_owned()) {
            return Ok(());
        }
        let path = self.files.get(name).ok_or_else(|| ModuleError::Unknown {
            module: name.to_owned(),
            kernel: self.kernel.release.to_string(),
        })?;
        let damaged = |reason: String| ModuleError::Damaged { path: path.clone(), reason };
        let contents = decompress(self.folder, path).map_err(|error| damaged(error.to_string()))?;
        self.bytes += contents.len() as u64;
        if self.begun.len() > MOST || self.bytes > LARGEST {
            return Err(ModuleError::TooMany { module: name.to_owned() });
        }
        for dependency in dependencies(&contents).map_err(|error| damaged(error.to_string()))? {
            self.add(&dependency)?;
        }
        self.loaded.push(Module { name: name.to_owned(), contents });
        Ok(())
    }
}

fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

fn list(folder: &Path, files: &mut BTreeMap<String, PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        // No link is followed: one may lead to a folder above, or to any file of this machine.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            list(&path, files);
        } else if !kind.is_file() {
            continue;
        } else if let Some((name, _)) =
            path.file_name().and_then(|n| n.to_str()).and_then(|n| n.split_once(".ko"))
        {
            files.insert(canonical(name), path.clone());
        }
    }
}

/// The limit of one module, and of all together. The largest modules, graphics drivers, have a twentieth of it.
pub const LARGEST: u64 = 256 << 20;

/// Through no link: what was listed as a file may be one by now.
fn decompress(folder: &Path, path: &Path) -> std::io::Result<Vec<u8>> {
    let inner = path.strip_prefix(folder).map_err(std::io::Error::other)?;
    let bytes = dyntick_system::read_beneath(folder, inner, LARGEST).map_err(std::io::Error::other)?;
    let mut contents = Vec::new();
    match path.extension().and_then(|e| e.to_str()) {
        Some("xz") => {
            liblzma::read::XzDecoder::new(bytes.as_slice()).take(LARGEST).read_to_end(&mut contents)?;
        }
        Some("zst") => {
            zstd::Decoder::with_buffer(bytes.as_slice())?.take(LARGEST).read_to_end(&mut contents)?;
        }
        Some("gz") => {
            flate2::read::GzDecoder::new(bytes.as_slice()).take(LARGEST).read_to_end(&mut contents)?;
        }
        _ => contents = bytes,
    }
    Ok(contents)
}

/// The `depends=` entry of `.modinfo`, a list of NUL-terminated texts.
fn dependencies(module: &[u8]) -> Result<Vec<String>, Malformed> {
    let tables = ElfTables::of(module)?;
    if !tables.is_module() {
        return Err(Malformed("it is not a kernel module for x86-64".to_owned()));
    }
    let info = tables.section(".modinfo")?.map_or(&module[..0], |range| &module[range]);
    let entry = info.split(|byte| *byte == 0).find_map(|text| text.strip_prefix(b"depends="));
    let names = String::from_utf8_lossy(entry.unwrap_or_default()).into_owned();
    Ok(names.split(',').filter(|name| !name.is_empty()).map(canonical).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_kernels::elf_tables::made;

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

    /// A core dump has the memory of a process that crashed, and a link leads to any file.
    #[test]
    fn modules_are_read_through_no_link() {
        const E_TYPE: usize = 16;
        let dir = tempfile::tempdir().unwrap();
        let (core, link) = (dir.path().join("core.ko"), dir.path().join("link.ko"));
        let mut bytes = module("");
        assert!(dependencies(&bytes).is_ok());
        bytes[E_TYPE] = 4;
        std::fs::write(&core, &bytes).unwrap();
        assert!(dependencies(&bytes).unwrap_err().to_string().contains("not a kernel module"));
        std::os::unix::fs::symlink(&core, &link).unwrap();
        assert!(decompress(dir.path(), &core).is_ok() && decompress(dir.path(), &link).is_err());
    }

    /// A module that needs others.
    fn module(needs: &str) -> Vec<u8> {
        made::of_sections(&[(".modinfo", 1, &[b"depends=", needs.as_bytes(), b"\0"].concat())], 0)
    }

    fn kernel(modules: Option<&Path>, config: &str) -> Kernel {
        Kernel {
            spec: String::new(),
            release: "6.12.0".parse().unwrap(),
            image: PathBuf::new(),
            modules: modules.map(Path::to_owned),
            config: dyntick_model::KernelConfig::parse(config),
            sha256: String::new(),
            source: String::new(),
            package: None,
            fallback: None,
            built: None,
            tree: None,
        }
    }

    #[test]
    fn built_in_module_is_not_loaded() {
        let names = ["null-blk".to_owned()];
        let of = |config: &str| with_dependencies(&kernel(None, config), &names).map(|modules| modules.len());
        assert_eq!(of("CONFIG_BLK_DEV_NULL_BLK=y\n").unwrap(), 0);
        assert!(of("CONFIG_BLK_DEV_NULL_BLK=m\n").is_err() && of("").is_err());
    }

    fn wanted(modules: &[(String, String)], first: &str) -> Result<Vec<String>, ModuleError> {
        let dir = tempfile::tempdir().unwrap();
        for (name, needs) in modules {
            std::fs::write(dir.path().join(format!("{name}.ko")), module(needs)).unwrap();
        }
        let loaded = with_dependencies(&kernel(Some(dir.path()), ""), &[first.to_owned()])?;
        Ok(loaded.into_iter().map(|module| module.name).collect())
    }

    #[test]
    fn dependencies_come_first_and_end() {
        let pair = |name: &str, needs: &str| (name.to_owned(), needs.to_owned());
        let told = wanted(&[pair("a", "b,c"), pair("b", "c"), pair("c", "")], "a").unwrap();
        assert_eq!(told, ["c", "b", "a"]);
        assert_eq!(wanted(&[pair("a", "b"), pair("b", "a")], "a").unwrap(), ["b", "a"]);
        assert_eq!(wanted(&[pair("a", "a")], "a").unwrap(), ["a"]);
        let chain: Vec<_> = (0..=MOST).map(|n| pair(&format!("m{n}"), &format!("m{}", n + 1))).collect();
        assert!(matches!(wanted(&chain, "m0"), Err(ModuleError::TooMany { .. })));
    }
}
