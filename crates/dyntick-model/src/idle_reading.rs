// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own accounts of idle states and the limits on them, as they were read at one moment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A number, and the times before and after it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The number.
    pub value: u64,
    /// The time before it was read, ns on CLOCK_MONOTONIC.
    pub from_ns: u64,
    /// The time after it was read, ns.
    pub to_ns: u64,
}

/// An idle state of a CPU (`/sys/devices/system/cpu/cpuN/cpuidle/stateM`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateReading {
    /// Its name.
    pub name: String,
    /// The exit latency, us, rounded down.
    pub latency_us: u64,
    /// The target residency, us, rounded down.
    pub residency_us: u64,
    /// True if it was disabled, or is off by default.
    pub disabled: bool,
    /// The counters, by name; without those that this kernel does not have.
    pub counters: BTreeMap<String, Reading>,
}

/// An idle state of a CPU as a dump or this machine has it: what is missing there is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedState {
    /// The name, as `C6`.
    pub name: String,
    /// The exit latency, µs.
    pub latency_us: Option<u64>,
    /// The target residency, µs.
    pub residency_us: Option<u64>,
    /// True if it was disabled.
    pub disabled: Option<bool>,
    /// The counters since the boot, by the names of their files; `time` in µs.
    pub counters: BTreeMap<String, u64>,
}

/// The states of all CPUs at one moment, by the numbers of CPU and state.
pub type IdleSnapshot = BTreeMap<(u32, u32), CountedState>;

impl From<&StateReading> for CountedState {
    fn from(reading: &StateReading) -> Self {
        let counters = reading.counters.iter().map(|(name, reading)| (name.clone(), reading.value)).collect();
        Self {
            name: reading.name.clone(),
            latency_us: Some(reading.latency_us),
            residency_us: Some(reading.residency_us),
            disabled: Some(reading.disabled),
            counters,
        }
    }
}

/// The limits for the exit latency of idle states (PM QoS) at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyLimits {
    /// The limit of all CPUs, µs; none if no process requests one.
    pub of_all_us: Option<u32>,
    /// The commands of the processes that hold it, or a looser one, by opening `/dev/cpu_dma_latency`.
    pub held_by: BTreeSet<String>,
    /// The limits of single CPUs (`pm_qos_resume_latency_us`), µs; only CPUs that have one.
    pub of_cpus_us: BTreeMap<u32, u32>,
}

impl LatencyLimits {
    /// Returns the limit in force on a CPU, µs: the tighter of both.
    pub fn of_cpu(&self, cpu: u32) -> Option<u32> {
        self.of_all_us.into_iter().chain(self.of_cpus_us.get(&cpu).copied()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_limit_is_in_force() {
        let limits = LatencyLimits {
            of_all_us: Some(50),
            of_cpus_us: [(1, 20), (2, 300)].into(),
            ..LatencyLimits::default()
        };
        assert_eq!([0, 1, 2].map(|cpu| limits.of_cpu(cpu)), [Some(50), Some(20), Some(50)]);
        assert_eq!(LatencyLimits { of_all_us: None, ..limits }.of_cpu(0), None);
    }
}
