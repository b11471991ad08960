// SPDX-License-Identifier: GPL-2.0-only
//! Loading the plugin that records what a guest executes.

use super::unpacked;
use dyntick_kernels::cache::{Cache, CacheError};
use std::path::{Path, PathBuf};

/// The stream of a run, in its folder.
pub const STREAM: &str = "profile.bin";

/// The limit of a recording, roughly; a second of a busy CPU in the kernel is some 100 MiB.
pub(super) const LIMIT: u64 = 1 << 30;

/// The recording of a machine's instructions.
#[derive(Clone, Debug)]
pub struct Profile {
    library: PathBuf,
    stream: PathBuf,
}

impl Profile {
    /// Unpacks the plugin into the cache; the stream of the run is in its folder.
    pub fn new(cache: &Cache, run: &Path) -> Result<Self, CacheError> {
        Ok(Self { library: unpacked(cache, dyntick_plugin::PLUGIN)?, stream: run.join(STREAM) })
    }

    /// The library that QEMU loads, and the file that it writes.
    pub(super) fn files(&self) -> [&Path; 2] {
        [&self.library, &self.stream]
    }

    /// The arguments of QEMU.
    pub fn arguments(&self) -> Vec<String> {
        let (library, stream) = (self.library.to_string_lossy(), self.stream.to_string_lossy());
        vec!["-plugin".to_owned(), dyntick_plugin::argument(&library, &stream, LIMIT)]
    }
}
