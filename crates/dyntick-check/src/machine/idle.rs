// SPDX-License-Identifier: GPL-2.0-only
//! The idle states, from `cpuidle` in sysfs.

use super::Machine;
use crate::sources::{IDLE_DISABLE, IDLE_LATENCY, IDLE_NAME};

/// One idle state of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// The state's number, as in `state3`.
    pub number: u32,
    /// The state's name, e.g. `C6`.
    pub name: String,
    /// The exit latency, µs.
    pub exit_us: u64,
    /// True if the governor may select it.
    pub enabled: bool,
    /// The file with the latency.
    pub file: String,
}

impl Machine<'_> {
    /// The idle states of a CPU, shallowest first.
    pub fn idle_states(&self, cpu: u32) -> Vec<IdleState> {
        // `include/linux/cpuidle.h: CPUIDLE_STATE_MAX`.
        (0..10).map_while(|number| self.idle_state(cpu, number)).collect()
    }

    fn idle_state(&self, cpu: u32, number: u32) -> Option<IdleState> {
        let path_of =
            |pattern: &str| self.of_cpu(pattern, cpu).0.replace("state*", &format!("state{number}"));
        Some(IdleState {
            number,
            name: self.text(&path_of(IDLE_NAME))?.to_owned(),
            exit_us: self.text(&path_of(IDLE_LATENCY))?.parse().ok()?,
            enabled: self.text(&path_of(IDLE_DISABLE)) != Some("1"),
            file: path_of(IDLE_LATENCY),
        })
    }
}
