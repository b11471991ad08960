// SPDX-License-Identifier: GPL-2.0-only
//! The calls of the kernel's functions, for programs.

use super::{OnCpu, TimedCalls, on_cpus};
use dyntick_observe::live::{FunctionCalls, Pair, ProbeCost};
use schemars::JsonSchema;
use serde::Serialize;

/// Calls that were timed.
#[derive(Serialize, JsonSchema)]
pub struct PrintedCalls<'a> {
    /// Each function, in the order in which they were named.
    functions: Vec<Function<'a>>,
    /// What the probes cost.
    probes: Vec<Probe<'a>>,
}

/// A function.
#[derive(Serialize, JsonSchema)]
struct Function<'a> {
    /// Its name, as in `/proc/kallsyms`.
    name: &'a str,
    /// By what its calls were timed.
    probe: Pair,
    /// Entries and returns that were not seen: they came while their own program ran.
    missed: u64,
    /// Its calls on each CPU.
    cpus: Vec<Calls>,
}

/// The calls of a function on one CPU.
#[derive(Serialize, JsonSchema)]
struct Calls {
    /// The CPU.
    cpu: u32,
    /// How many ended.
    calls: u64,
    /// How long they took together.
    total_ns: u64,
    /// Their mean.
    mean_ns: Option<f64>,
    /// The shortest.
    shortest_ns: Option<u64>,
    /// The longest.
    longest_ns: Option<u64>,
    /// How many began.
    began: u64,
    /// Calls that were not timed: too many were in progress at the same time.
    no_room: u64,
    /// Calls that returned and whose entry was not seen.
    unpaired: u64,
    /// The octaves of durations that have any.
    histogram: Vec<Octave>,
}

/// An octave of durations.
#[derive(Serialize, JsonSchema)]
struct Octave {
    /// Where it begins.
    from_ns: u64,
    /// Where it ends; the last has no end.
    below_ns: Option<u64>,
    /// How many are in it.
    count: u64,
}

/// What a kind of probe costs.
#[derive(Serialize, JsonSchema)]
struct Probe<'a> {
    /// Which.
    probe: Pair,
    /// By how much it makes a call longer.
    added_ns: Option<f64>,
    /// How much of that is at most in the figures.
    inside_ns: Option<u64>,
    /// On how many calls it was measured.
    measured_calls: Option<u64>,
    /// On which CPU.
    measured_on_cpu: Option<u32>,
    /// Why it could not be measured.
    error: Option<&'a str>,
}

impl<'a> PrintedCalls<'a> {
    /// Of one measurement.
    pub fn of(calls: &'a TimedCalls) -> Self {
        Self {
            functions: calls.functions.iter().map(Function::of).collect(),
            probes: calls.costs.iter().map(Probe::of).collect(),
        }
    }
}

impl<'a> Function<'a> {
    fn of(function: &'a FunctionCalls) -> Self {
        let cpus = on_cpus(function).iter().map(Calls::of).collect();
        Self { name: &function.name, probe: function.pair, missed: function.missed, cpus }
    }
}

impl Calls {
    fn of(one: &OnCpu<'_>) -> Self {
        let count = one.count;
        let octave = |(from_ns, below_ns, count)| Octave { from_ns, below_ns, count };
        Self {
            cpu: one.cpu,
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

impl<'a> Probe<'a> {
    fn of(cost: &'a ProbeCost) -> Self {
        let measured = cost.measured.as_ref();
        Self {
            probe: cost.pair,
            added_ns: measured.map(|cost| cost.added_ns).ok(),
            inside_ns: measured.map(|cost| cost.inside_ns).ok(),
            measured_calls: measured.map(|cost| cost.calls).ok(),
            measured_on_cpu: measured.map(|cost| cost.cpu).ok(),
            error: measured.err().map(String::as_str),
        }
    }
}
