// SPDX-License-Identifier: GPL-2.0-only
//! The output of `dyntick lab cache`.

use dyntick_kernels::cache::contents::Entry;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// The contents of the cache.
#[derive(Serialize, JsonSchema)]
pub struct CacheContents {
    /// The folder of the cache.
    pub folder: PathBuf,
    /// The entries that were removed by this call.
    pub removed: Vec<Entry>,
    /// The entries that are there, the least recently used first.
    pub entries: Vec<Entry>,
    /// The bytes of all entries that are there.
    pub bytes: u64,
}
