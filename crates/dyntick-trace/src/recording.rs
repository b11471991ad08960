// SPDX-License-Identifier: GPL-2.0-only
//! A recording: raw bytes and what is needed to read them later, on any machine.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counters of tracefs for one CPU (`per_cpu/cpuN/stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuStats {
    /// Events recorded and not yet read when recording ended.
    pub entries: u64,
    /// Events overwritten or refused because the buffer was full.
    pub lost: u64,
}

/// The description of a recording: all but its raw bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Size of a raw page, bytes.
    pub page_size: usize,
    /// The text of each event's `format` file, by `system:name`.
    pub formats: BTreeMap<String, String>,
    /// Names of the function addresses that occur.
    pub symbols: BTreeMap<u64, String>,
    /// The counters, by CPU.
    pub stats: BTreeMap<u32, CpuStats>,
    /// The requested events that this kernel does not have.
    pub missing_events: Vec<String>,
}

/// Pages of the ring buffer: those of memory, or sub-buffers of up to 1 MiB.
const PAGE_SIZES: std::ops::RangeInclusive<usize> = 1 << 10..=1 << 20;
/// `KSYM_NAME_LEN` is 512; with a module's name.
const LONGEST_SYMBOL: usize = 1024;
/// Each event is counted on each CPU. Records have less than a hundred events, and Linux has 8192 CPUs.
const MOST_COUNTS: usize = 1 << 20;
/// Names of events have some 30 bytes.
const LONGEST_EVENT: usize = 128;

impl Metadata {
    /// Returns the defect that makes a recording unreadable, if this came from a damaged or forged file.
    pub fn problem(&self) -> Option<String> {
        if !self.page_size.is_power_of_two() || !PAGE_SIZES.contains(&self.page_size) {
            return Some(format!("page_size: {} is not a valid trace page size", self.page_size));
        }
        if let Some(name) = self.symbols.values().find(|name| name.len() > LONGEST_SYMBOL) {
            return Some(format!("symbols: a name has {} bytes, more than any function's", name.len()));
        }
        let mut events = self.formats.keys().chain(&self.missing_events);
        if let Some(name) = events.find(|name| name.len() > LONGEST_EVENT) {
            return Some(format!("formats: a name has {} bytes, more than any event's", name.len()));
        }
        let (events, cpus) = (self.formats.len(), self.stats.len());
        (events.saturating_mul(cpus) > MOST_COUNTS)
            .then(|| format!("formats: {events} events on {cpus} CPUs, more than any record has"))
    }
}

/// A recording of some CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The description.
    pub metadata: Metadata,
    /// Raw ring-buffer pages, by CPU.
    pub raw: BTreeMap<u32, Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_metadata_is_named() {
        let problem = |page_size, events: u32, cpus| {
            let formats = (0..events).map(|event| (event.to_string(), String::new())).collect();
            let stats = (0..cpus).map(|cpu| (cpu, CpuStats::default())).collect();
            Metadata { page_size, formats, stats, ..Metadata::default() }.problem()
        };
        assert_eq!(problem(4096, 100, 8192), None);
        assert_eq!(problem(1 << 16, 2000, 2), None);
        for size in [0, 16, 4095, 1 << 30] {
            assert_eq!(
                problem(size, 1, 1).unwrap(),
                format!("page_size: {size} is not a valid trace page size")
            );
        }
        let long = Metadata {
            page_size: 4096,
            formats: [("x".repeat(200), String::new())].into(),
            ..Metadata::default()
        };
        assert_eq!(long.problem().unwrap(), "formats: a name has 200 bytes, more than any event's");
        assert!(problem(4096, 100_000, 100).unwrap().starts_with("formats: 100000 events on 100 CPUs"));
    }
}
