// SPDX-License-Identifier: GPL-2.0-only
//! Idle states, from `cpuidle` in sysfs.

use super::Machine;
use crate::sources::{IDLE_DISABLE, IDLE_LATENCY, IDLE_NAME};

/// One idle state of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// As in `state3`.
    pub number: u32,
    /// Its name, as `C6`.
    pub name: String,
    /// Its exit latency, us.
    pub exit_us: u64,
    /// Whether it may be chosen.
    pub enabled: bool,
    /// The file that the latency is from.
    pub file: String,
}

impl Machine<'_> {
    /// The idle states of a CPU, shallowest first.
    pub fn idle_states(&self, cpu: u32) -> Vec<IdleState> {
        let state = |number: u32| {
            let of = |pattern: &str| {
                let (path, _) = self.of_cpu(pattern, cpu);
                path.replace("state*", &format!("state{number}"))
            };
            Some(IdleState {
                number,
                name: self.text(&of(IDLE_NAME))?.to_owned(),
                exit_us: self.text(&of(IDLE_LATENCY))?.parse().ok()?,
                enabled: self.text(&of(IDLE_DISABLE)) != Some("1"),
                file: of(IDLE_LATENCY),
            })
        };
        // `include/linux/cpuidle.h: CPUIDLE_STATE_MAX`.
        (0..10).map_while(state).collect()
    }
}
