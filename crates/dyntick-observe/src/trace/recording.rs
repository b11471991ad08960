// SPDX-License-Identifier: GPL-2.0-only
//! A recording: raw bytes and what is needed to read them later, on any machine.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What tracefs counted for one CPU (`per_cpu/cpuN/stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuStats {
    /// Events recorded and not yet read when recording ended.
    pub entries: u64,
    /// Events overwritten or refused because the buffer was full.
    pub lost: u64,
}

/// All about a recording but its raw bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Size of a raw page, bytes.
    pub page_size: usize,
    /// The text of each event's `format` file, by `system:name`.
    pub formats: BTreeMap<String, String>,
    /// Names of the function addresses that occur.
    pub symbols: BTreeMap<u64, String>,
    /// What was counted, by CPU.
    pub stats: BTreeMap<u32, CpuStats>,
    /// Events that were asked for and that this kernel does not have.
    pub missing_events: Vec<String>,
}

/// A recording of some CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// How to read it.
    pub metadata: Metadata,
    /// Raw ring-buffer pages, by CPU.
    pub raw: BTreeMap<u32, Vec<u8>>,
}
