// SPDX-License-Identifier: GPL-2.0-only
//! The states of a CPU as its kernel has them, and the kernel's judgement of a choice among them.

use dyntick_model::{IdleTable, StateReading};
use serde::{Deserialize, Serialize};

/// A state as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Exit latency, ns.
    pub exit_latency_ns: u64,
    /// Target residency, ns.
    pub target_residency_ns: u64,
    /// From the wake-up to the end of the sleep, ns: the exit latency, or where that is the package's, what a core
    /// takes while the package is awake; or what was measured, where the emulator takes that
    /// ([`IdleTable::leaving_ns`]).
    pub leaving_ns: u64,
    /// The CPU spins in it.
    pub polling: bool,
    /// It cannot be chosen, because it is disabled.
    pub disabled: bool,
}

/// The state as sysfs has it: its times are in µs there.
impl From<&StateReading> for State {
    fn from(reading: &StateReading) -> Self {
        let us = 1000;
        Self {
            name: reading.name.clone(),
            exit_latency_ns: reading.latency_us * us,
            target_residency_ns: reading.residency_us * us,
            leaving_ns: reading.latency_us * us,
            polling: reading.name == "POLL",
            disabled: false,
        }
    }
}

/// The way in which a choice missed, by the kernel's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Miss {
    /// The state was too deep: the sleep was shorter than its target residency.
    Above,
    /// The state was too shallow: the next deeper one would have paid.
    Below,
}

/// The states of a CPU, from the shallowest to the deepest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct States(pub Vec<State>);

impl States {
    /// The state of this place; none where there is none.
    pub fn get(&self, place: usize) -> Option<&State> {
        self.0.get(place)
    }

    /// The kernel's judgement of a sleep of `duration_ns`, from before to after the driver, in the state `entered`
    /// (`drivers/cpuidle/cpuidle.c: cpuidle_enter_state`, 6.1 to 7.2). Only the next deeper state is
    /// looked at, and a sleep that lasted longer than the target residency but less than the
    /// exit latency has missed nothing.
    pub fn judge(&self, entered: usize, duration_ns: u64) -> Option<Miss> {
        let state = self.get(entered)?;
        if duration_ns < state.target_residency_ns {
            let has_shallower = self.0[..entered].iter().any(|state| !state.disabled);
            return has_shallower.then_some(Miss::Above);
        }
        if duration_ns <= state.exit_latency_ns {
            return None;
        }
        let deeper = self.0[entered + 1..].iter().find(|state| !state.disabled)?;
        (duration_ns - state.exit_latency_ns >= deeper.target_residency_ns).then_some(Miss::Below)
    }

    /// The deepest state whose target residency an idle time reaches, from its begin to the wake-up, and whose exit
    /// latency is within the limit that was in force, if there was one (`menu_select` and `teo_select` leave out all
    /// others, 5.10 to 7.2): what would have been right. The shallowest where there is none.
    pub fn ideal(&self, idle_ns: u64, limit_ns: Option<u64>) -> Option<usize> {
        let enabled = || self.0.iter().enumerate().filter(|(_, state)| !state.disabled);
        let allowed = |state: &State| limit_ns.is_none_or(|limit_ns| state.exit_latency_ns <= limit_ns);
        let fitting = enabled().rfind(|(_, state)| state.target_residency_ns <= idle_ns && allowed(state));
        fitting.or_else(|| enabled().next()).map(|(place, _)| place)
    }
}

impl From<&IdleTable> for States {
    fn from(table: &IdleTable) -> Self {
        let states = table.states.iter().enumerate().map(|(place, state)| State {
            name: state.name.clone(),
            exit_latency_ns: state.exit_latency_ns,
            target_residency_ns: state.target_residency_ns,
            leaving_ns: table.leaving_ns(place),
            polling: state.polling,
            disabled: state.unusable || state.off,
        });
        Self(states.collect())
    }
}
