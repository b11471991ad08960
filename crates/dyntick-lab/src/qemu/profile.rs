// SPDX-License-Identifier: GPL-2.0-only
//! Loading the plugin that records what a guest executes.

use crate::cache::{Cache, CacheError, write_whole};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The stream of a run, in its folder.
pub const STREAM: &str = "profile.bin";

/// No run keeps more than about so many bytes; a second of a busy CPU in the kernel is some 100 MiB.
const LIMIT: u64 = 1 << 30;

/// How a machine's instructions are recorded.
#[derive(Clone, Debug)]
pub struct Profile {
    library: PathBuf,
    stream: PathBuf,
}

impl Profile {
    /// Has the plugin in the cache, under a name that changes with its bytes, and the stream of a
    /// run in its folder.
    pub fn new(cache: &Cache, run: &Path) -> Result<Self, CacheError> {
        let digest = hex::encode(&Sha256::digest(dyntick_plugin::LIBRARY)[..8]);
        let library = cache.path(&format!("plugins/{digest}.so"));
        if !std::fs::read(&library).is_ok_and(|bytes| bytes == dyntick_plugin::LIBRARY) {
            write_whole(&library, dyntick_plugin::LIBRARY)?;
        }
        Ok(Self { library, stream: run.join(STREAM) })
    }

    /// What QEMU is told.
    pub fn arguments(&self) -> Vec<String> {
        let (library, stream) = (self.library.to_string_lossy(), self.stream.to_string_lossy());
        vec!["-plugin".to_owned(), dyntick_plugin::argument(&library, &stream, LIMIT)]
    }
}
