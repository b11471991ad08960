// SPDX-License-Identifier: GPL-2.0-only
//! The idle states that a recording is made with, for a replay of governors.

use crate::IdleStates;
use dyntick_model::CpuList;
use dyntick_observe::{cpuidle, latency_limit};

/// The events of idle states, in addition to those of every recording.
pub(crate) const EVENTS: [&str; 2] = ["power:cpu_idle", "power:cpu_idle_miss"];

/// Reads the idle states of these CPUs.
pub(crate) fn read(cpus: &CpuList) -> IdleStates {
    let text = |name: &str| {
        let path = format!("/sys/devices/system/cpu/cpuidle/{name}");
        std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
    };
    IdleStates {
        driver: text("current_driver"),
        governor: text("current_governor"),
        states: cpuidle::read(cpus),
        limits: latency_limit::read(cpus).ok(),
    }
}
