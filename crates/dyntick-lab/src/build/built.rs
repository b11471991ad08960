// SPDX-License-Identifier: GPL-2.0-only
//! Built kernels in the cache: a folder for each, with the kernel and what is known of it.

use super::BuildError;
use super::compile::Compiled;
use super::configure::CONFIG;
use super::program::{Builder, run};
use crate::cache::{Cache, CacheError, write_whole};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "built";
const RECORD: &str = "built.json";

/// A kernel that was built here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// What it is known by.
    pub key: String,
    /// What it was built from.
    pub source: String,
    /// With what.
    pub compiler: String,
    /// The fragments by name or path, as whoever built it first called them.
    pub config: Vec<String>,
    /// The patches likewise.
    pub patches: Vec<String>,
    /// The texts of the patches.
    pub patch_texts: Vec<String>,
    /// `uname -r`.
    pub release: String,
    /// How many objects it took.
    pub objects: u32,
    /// Wall time that it took here, s.
    pub seconds: u64,
    /// Where it is.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Built {
    /// The kernel itself.
    pub fn image(&self) -> PathBuf {
        let vmlinux = self.folder.join("vmlinux");
        if vmlinux.is_file() { vmlinux } else { self.folder.join("bzImage") }
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
    let copy = |from: PathBuf, name: &str| {
        let to = folder.join(name);
        std::fs::copy(from, &to).map(|_| ()).map_err(|error| CacheError::from_io(&to, error))
    };
    match compiled.image.ends_with("vmlinux") {
        // As it would be inside a bzImage: symbols and debug information are not loaded.
        true => strip(&compiled.image, &folder.join("vmlinux"))?,
        false => copy(compiled.image.clone(), "bzImage")?,
    }
    copy(objects.join(CONFIG), "config")?;
    copy(objects.join("System.map"), "System.map")?;
    if compiled.modules {
        let mut install = builder.make(&["modules_install", "INSTALL_MOD_STRIP=1"]);
        run("install the modules", install.arg(format!("INSTALL_MOD_PATH={}", folder.display())))?;
        // Links into the folders that are removed now.
        for link in ["build", "source"] {
            let _ = std::fs::remove_file(folder.join("lib/modules").join(&compiled.release).join(link));
        }
    }
    write_whole(&folder.join(RECORD), &serde_json::to_vec_pretty(record).unwrap_or_default())?;
    Ok(())
}

fn strip(image: &Path, to: &Path) -> Result<(), BuildError> {
    let mut objcopy = Command::new("objcopy");
    objcopy.args(["-R", ".comment", "-S"]).arg(image).arg(to);
    run("strip the kernel", &mut objcopy).map(|_| ())
}

/// Reads an entry.
pub fn read(folder: &Path) -> Result<Built, BuildError> {
    let path = folder.join(RECORD);
    let bytes = std::fs::read(&path).map_err(|source| BuildError::Read { path: path.clone(), source })?;
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
