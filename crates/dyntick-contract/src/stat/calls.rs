// SPDX-License-Identifier: GPL-2.0-only
//! The calls of the kernel's functions.

use dyntick_count::TimedCalls;
use dyntick_observe::live::{CallCount, FunctionCalls, Pair, ProbeCost};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The calls that were timed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrintedCalls {
    /// Each function, in the order in which they were named.
    pub functions: Vec<Function>,
    /// The cost of the probes.
    pub probes: Vec<Probe>,
}

/// A function.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Function {
    /// Its name, as in `/proc/kallsyms`.
    pub name: String,
    /// The kind of probe that timed its calls.
    pub probe: Pair,
    /// Entries and returns that were not seen: they occurred while their own program ran.
    pub missed: u64,
    /// Its calls on each CPU.
    pub cpus: Vec<Calls>,
}

/// The calls of a function on one CPU.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// The CPU.
    pub cpu: u32,
    /// The number of calls that ended.
    pub calls: u64,
    /// The total time of the calls.
    pub total_ns: u64,
    /// The mean time.
    pub mean_ns: Option<f64>,
    /// The shortest time.
    pub shortest_ns: Option<u64>,
    /// The longest time.
    pub longest_ns: Option<u64>,
    /// The number of calls that began.
    pub began: u64,
    /// Calls that were not timed: too many were in progress at the same time.
    pub no_room: u64,
    /// Calls that returned without a recorded entry.
    pub unpaired: u64,
    /// The octaves of durations with at least one call.
    pub histogram: Vec<Octave>,
}

/// An octave of durations.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Octave {
    /// The beginning of the octave.
    pub from_ns: u64,
    /// The end of the octave; the last has none.
    pub below_ns: Option<u64>,
    /// The number of calls in it.
    pub count: u64,
}

/// The cost of a kind of probe.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// The kind of probe.
    pub probe: Pair,
    /// The time that it adds to a call.
    pub added_ns: Option<f64>,
    /// The largest part of that in the figures.
    pub inside_ns: Option<u64>,
    /// The number of calls on which it was measured.
    pub measured_calls: Option<u64>,
    /// The CPU on which it was measured.
    pub measured_on_cpu: Option<u32>,
    /// The reason why it could not be measured.
    pub error: Option<String>,
}

impl PrintedCalls {
    /// Converts the calls of one measurement.
    pub fn of(calls: &TimedCalls) -> Self {
        Self {
            functions: calls.functions.iter().map(Function::of).collect(),
            probes: calls.costs.iter().map(Probe::of).collect(),
        }
    }
}

impl Function {
    fn of(function: &FunctionCalls) -> Self {
        let cpus = function.cpus.iter().map(|(cpu, count)| Calls::of(*cpu, count)).collect();
        Self { name: function.name.clone(), probe: function.pair, missed: function.missed, cpus }
    }
}

impl Calls {
    fn of(cpu: u32, count: &CallCount) -> Self {
        let octave = |(from_ns, below_ns, count)| Octave { from_ns, below_ns, count };
        Self {
            cpu,
            calls: count.ended(),
            total_ns: count.ns,
            mean_ns: count.mean_ns(),
            shortest_ns: count.shortest_ns,
            longest_ns: count.longest_ns,
            began: count.began,
            no_room: count.no_room,
            unpaired: count.unpaired,
            histogram: count.octaves().map(octave).collect(),
        }
    }
}

impl Probe {
    fn of(cost: &ProbeCost) -> Self {
        let measured = cost.measured.as_ref();
        Self {
            probe: cost.pair,
            added_ns: measured.map(|cost| cost.added_ns).ok(),
            inside_ns: measured.map(|cost| cost.inside_ns).ok(),
            measured_calls: measured.map(|cost| cost.calls).ok(),
            measured_on_cpu: measured.map(|cost| cost.cpu).ok(),
            error: measured.err().cloned(),
        }
    }
}
