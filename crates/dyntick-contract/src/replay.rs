// SPDX-License-Identifier: GPL-2.0-only
//! The result of `dyntick replay`.

use dyntick_idle::Modelled;
use schemars::JsonSchema;
use serde::Serialize;

/// Governors on recorded idle periods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Replay {
    /// The records.
    pub files: Vec<String>,
    /// The governor of the recorded kernel; empty if it is not known.
    pub recorded_governor: String,
    /// The machine whose idle states and powers were used; null for the recorded states, without powers.
    pub machine: Option<String>,
    /// True if a choice delayed what followed it (`--feedback`); governors have no energy then.
    pub feedback: bool,
    /// The idle states, the shallowest first.
    pub states: Vec<IdleState>,
    /// The governors in the order of the command line, each with all latency limits; then `recorded`, `oracle` and the
    /// best static limit.
    pub results: Vec<Scored>,
    /// The differences of each governor from the first one, within the same latency limit; last those of the recorded
    /// choices, `recorded`, if they are known.
    pub differences: Vec<Difference>,
    /// The numbers of inputs of decisions that no event shows.
    pub assumed: Assumed,
    /// Remarks, in words.
    pub notes: Vec<String>,
}

/// An idle state.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// The exit latency, ns.
    pub exit_latency_ns: u64,
    /// The target residency, ns.
    pub target_residency_ns: u64,
}

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A governor that was run.
    Governor,
    /// The recorded choices.
    Recorded,
    /// The choices of an oracle that knows the end of each sleep.
    Oracle,
    /// Always the deepest state that a latency limit allows.
    Static,
}

/// The score of a governor, modelled.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scored {
    /// Its name as it was asked for.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The exact source, e.g. a package with its version; empty for a file.
    pub origin: String,
    /// The latency limit (PM QoS) in addition to the recorded ones, ns; null for none.
    pub limit_ns: Option<u64>,
    /// The recorded sleeps.
    pub sleeps: u64,
    /// The choices: more than sleeps if a tick or the limit of polling ended some.
    pub choices: u64,
    /// The choices of each state.
    pub states: Vec<u64>,
    /// Sleeps that were too short for their state, as the kernel's counter `above`.
    pub too_deep: u64,
    /// Sleeps that were long enough for the next deeper state, as the kernel's counter `below`.
    pub too_shallow: u64,
    /// Sleeps in the state of the oracle.
    pub right: u64,
    /// The modelled wake-up latency: the time to leave the state at the end of each sleep.
    pub latency: Latency,
    /// The modelled energy, J, with the range that follows from the ranges of the powers; null without a machine.
    pub energy: Option<Joules>,
    /// The agreement with the recorded choices; null if these were of other states.
    pub agreement: Option<Agreement>,
    /// Sleeps that a tick ended which the governor would have stopped: its sleep would have gone on.
    pub would_go_on: u64,
    /// The figures with the earliest and with the latest timers that the trace allows; null if they are all known.
    pub bounds: Option<Bounds>,
}

/// Quantiles of a latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    /// The mean, ns.
    pub mean_ns: f64,
    /// The median, ns.
    pub p50_ns: u64,
    /// The 99th percentile, ns.
    pub p99_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

/// An energy, J.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Joules {
    /// With the machine's powers.
    pub value: f64,
    /// With all powers at their low end.
    pub low: f64,
    /// With all powers at their high end.
    pub high: f64,
}

impl From<Modelled> for Joules {
    fn from(Modelled { value, low, high }: Modelled) -> Self {
        Self { value, low, high }
    }
}

/// Equal choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Agreement {
    /// Sleeps with the recorded state.
    pub same: u64,
    /// Sleeps whose recorded state is known.
    pub of: u64,
}

/// The least and the most of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Between {
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// The figures under all assumptions about timers that no event shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bounds {
    /// Sleeps that were too short for their state.
    pub too_deep: Between,
    /// Sleeps that were long enough for the next deeper state.
    pub too_shallow: Between,
    /// The mean wake-up latency, ns.
    pub mean_latency_ns: Between,
    /// The energy, J.
    pub energy: Option<Between>,
    /// Sleeps with the recorded state.
    pub same: Option<Between>,
}

/// The differences of a governor from the first one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The governor.
    pub name: String,
    /// The latency limit of both, ns; null for none.
    pub limit_ns: Option<u64>,
    /// The sleeps with another state.
    pub sleeps: u64,
    /// The differences by what woke the CPU, the most frequent first.
    pub wakes: Vec<DifferentWake>,
    /// The differences of the recorded choices by their reasons; empty for governors.
    pub reasons: Vec<DifferentReason>,
    /// The first of them (`--first`).
    pub first: Vec<DifferentChoice>,
}

/// Differences with one reason.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DifferentReason {
    /// The reason, in words.
    pub reason: String,
    /// The number of sleeps.
    pub sleeps: u64,
}

/// Differences with one cause of the wake-up.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DifferentWake {
    /// The cause, e.g. `timer hrtimer_wakeup`.
    pub wake: String,
    /// The state that the first governor chose.
    pub first: String,
    /// The state that this one chose.
    pub other: String,
    /// The number of sleeps.
    pub sleeps: u64,
    /// The number of these for which the first governor's state was the oracle's.
    pub first_right: u64,
    /// The number for which this one's was.
    pub other_right: u64,
}

/// A sleep for which two governors chose another state.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DifferentChoice {
    /// The file.
    pub file: String,
    /// The number of the decision in it, from 1.
    pub decision: u64,
    /// The time of the choice, ns on the trace's clock.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// The time from the choice to the wake-up, ns.
    pub idle_ns: u64,
    /// The time to the next timer, ns; null for none.
    pub next_timer_ns: Option<u64>,
    /// The cause of the wake-up.
    pub wake: String,
    /// The state that the first governor chose.
    pub first: String,
    /// The state that this one chose.
    pub other: String,
    /// The state of the oracle.
    pub oracle: String,
}

/// The numbers of decisions with an input that no event shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Assumed {
    /// All decisions.
    pub decisions: u64,
    /// The next timer without the tick: a timer that ran later, or none.
    pub timer: u64,
    /// The tick before the choice: running.
    pub tick: u64,
    /// The time of the next tick: half a tick later.
    pub next_tick: u64,
}
