// SPDX-License-Identifier: GPL-2.0-only
//! Built kernels in the cache: a folder for each, with the kernel and what is known of it.

use super::compile::Compiled;
use super::configure::CONFIG;
use super::parts::Part;
use super::products;
use super::program::Builder;
use super::{BuildError, LARGEST_CONFIG};
use crate::cache::{Cache, CacheError, write_whole};
use dyntick_model::Recipe;
use dyntick_model::text::shortened;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

pub const FOLDER: &str = "built";
/// The limit of all together, bytes; a kernel for the laboratory has some 30 MiB.
pub const MOST_BYTES: u64 = 16 << 30;
const RECORD: &str = "built.json";
/// The folders in that of the objects: the kernel as it is kept, and its modules as they are installed.
const STRIPPED: &str = "dyntick.vmlinux";
const INSTALLED: &str = "dyntick.modules";

/// A kernel that was built here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Built {
    /// Its key.
    pub key: String,
    /// Its source.
    pub source: String,
    /// With what.
    pub compiler: String,
    /// The fragments by name or path, from its first build.
    pub config: Vec<String>,
    /// The patches likewise.
    pub patches: Vec<String>,
    /// SHA-256 of the patches' texts, in hexadecimal; unknown of kernels from before it was kept.
    #[serde(default)]
    pub patch_sha256: Vec<String>,
    /// The number of files that each patch changes; 0 for a semantic patch, empty for kernels from before it was kept.
    #[serde(default)]
    pub patch_files: Vec<usize>,
    /// Its recipe, with complete paths; unknown of kernels from before it was kept.
    #[serde(default)]
    pub recipe: Option<Recipe>,
    /// `uname -r`.
    pub release: String,
    /// The number of its objects.
    pub objects: u32,
    /// Wall time that it took here, s.
    pub seconds: u64,
    /// A note if Debian could not be asked, and the recipe may mean another source today.
    #[serde(skip)]
    pub fallback: Option<String>,
    /// True if it was built just now.
    #[serde(skip)]
    pub is_new: bool,
    /// Its path.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Built {
    /// The kernel itself.
    pub fn image(&self) -> PathBuf {
        let vmlinux = self.folder.join("vmlinux");
        if vmlinux.is_file() { vmlinux } else { self.folder.join("bzImage") }
    }

    /// Its symbols.
    pub fn symbols(&self) -> PathBuf {
        self.folder.join("System.map")
    }

    /// Its configuration.
    pub fn config_file(&self) -> PathBuf {
        self.folder.join("config")
    }

    /// Its `lib/modules/RELEASE`, if it has modules.
    pub fn modules(&self) -> Option<PathBuf> {
        Some(self.folder.join("lib/modules").join(&self.release)).filter(|folder| folder.is_dir())
    }
}

/// A record has names of parts, shortened, and a hash of each patch: some 300 KiB for the most that a kernel may have.
const LARGEST_RECORD: u64 = 1 << 20;

/// The names of parts, as they are recorded.
pub fn names(parts: &[Part]) -> Vec<String> {
    const LONGEST: usize = 200;
    parts.iter().map(|part| shortened(&part.name, LONGEST)).collect()
}

/// The cache's entry for a key.
pub fn entry(key: &str) -> String {
    format!("{FOLDER}/{key}")
}

/// Fills an entry from the folder of the objects.
pub fn keep(
    record: &Built,
    compiled: &Compiled,
    builder: &Builder<'_>,
    folder: &Path,
) -> Result<(), BuildError> {
    let objects = builder.space.objects();
    let take = |inner: &str, name: &str, limit| {
        products::copy(&objects, Path::new(inner), &folder.join(name), limit).map(|_| ())
    };
    match compiled.image.ends_with("vmlinux") {
        // As it would be inside a bzImage: symbols and debug information are not loaded.
        true => {
            strip(builder, compiled.image)?;
            take(STRIPPED, "vmlinux", products::KERNEL)?;
        }
        false => take(compiled.image, "bzImage", products::KERNEL)?,
    }
    take(CONFIG, "config", LARGEST_CONFIG)?;
    take("System.map", "System.map", products::TEXT)?;
    if compiled.modules {
        let mut install = builder.make(&["modules_install", "INSTALL_MOD_STRIP=1"]);
        install.arg(format!("INSTALL_MOD_PATH={}", objects.join(INSTALLED).display()));
        builder.run("install the modules", install, &[])?;
        let inner = Path::new("lib/modules").join(&compiled.release);
        let to = folder.join(&inner);
        std::fs::create_dir_all(&to).map_err(|error| CacheError::from_io(&to, error))?;
        products::copy_tree(&objects, &Path::new(INSTALLED).join(inner), &to)?;
    }
    write_whole(&folder.join(RECORD), &serde_json::to_vec_pretty(record).unwrap_or_default())?;
    Ok(())
}

fn strip(builder: &Builder<'_>, image: &str) -> Result<(), BuildError> {
    let objects = builder.space.objects();
    let mut objcopy = builder.program("objcopy");
    objcopy.args(["-R", ".comment", "-S"]).arg(objects.join(image)).arg(objects.join(STRIPPED));
    builder.run("strip the kernel", objcopy, &[]).map(|_| ())
}

/// Reads an entry.
pub fn read(folder: &Path) -> Result<Built, BuildError> {
    let path = folder.join(RECORD);
    // All of them are read together, and an untrusted kernel may name parts by any path.
    let bytes = dyntick_system::read_regular(&path, LARGEST_RECORD)?;
    let record: Built =
        serde_json::from_slice(&bytes).map_err(|source| BuildError::Read { path, source: source.into() })?;
    Ok(Built { folder: folder.to_owned(), ..record })
}

/// All kernels that were built here, by release and key.
pub fn all(cache: &Cache) -> Vec<Built> {
    let entries = std::fs::read_dir(cache.path(FOLDER)).into_iter().flatten().flatten();
    let mut all: Vec<Built> = entries.filter_map(|entry| read(&entry.path()).ok()).collect();
    all.retain(|built| built.folder.ends_with(&built.key));
    all.sort_by(|a, b| (&a.release, &a.key).cmp(&(&b.release, &b.key)));
    all
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A kernel with these fragments.
    pub fn record(key: &str, config: &[&str]) -> Built {
        Built {
            key: key.to_owned(),
            source: String::new(),
            compiler: String::new(),
            config: config.iter().map(|name| (*name).to_owned()).collect(),
            patches: Vec::new(),
            patch_sha256: Vec::new(),
            recipe: None,
            patch_files: Vec::new(),
            release: "6.12.0".to_owned(),
            objects: 1,
            seconds: 1,
            fallback: None,
            is_new: false,
            folder: PathBuf::new(),
        }
    }

    fn put(cache: &Cache, key: &str, patches: Vec<String>) {
        let patch_sha256 = patches.iter().map(|_| "0".repeat(64)).collect();
        let built = Built { patch_sha256, patches, ..record(key, &[]) };
        let place = cache.path(&entry(key)).join(RECORD);
        write_whole(&place, &serde_json::to_vec_pretty(&built).unwrap()).unwrap();
    }

    /// A kernel has 1024 parts at most (`recipe.rs`), of any names.
    #[test]
    fn the_largest_record_is_read_and_a_larger_one_is_no_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let part = Part { name: "x/".repeat(2000), file: String::new(), text: String::new(), folder: None };
        put(&cache, "largest", names(&vec![part; 1024]));
        put(&cache, "larger", vec!["x".repeat(1 << 20)]);
        let keys: Vec<String> = all(&cache).into_iter().map(|built| built.key).collect();
        assert_eq!(keys, ["largest"]);
    }
}
