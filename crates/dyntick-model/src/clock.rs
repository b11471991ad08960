// SPDX-License-Identifier: GPL-2.0-only
//! The clock on which a figure was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The clock of a run. A figure of one clock is never compared with a figure of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Emulated time that advances by a fixed step per executed instruction and jumps over
    /// idleness: repeatable to the bit, knows nothing of caches, pipelines or real latencies.
    Virtual,
    /// Real time: noisy, and the only clock that knows the hardware.
    #[default]
    Wall,
}

impl Clock {
    /// The file with the clock of a guest, which its agent writes for the programs there. A host has none.
    pub const FILE: &str = "/run/dyntick-clock";
}

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Clock::Virtual => "virtual",
            Clock::Wall => "wall",
        })
    }
}
