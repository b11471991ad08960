// SPDX-License-Identifier: GPL-2.0-only
//! The calls of the kernel's functions, for JSON.

use super::{OnCpu, TimedCalls, on_cpus};
use dyntick_observe::live::{FunctionCalls, Pair, ProbeCost};
use schemars::JsonSchema;
use serde::Serialize;

/// The calls that were timed.
#[derive(Serialize, JsonSchema)]
pub struct PrintedCalls<'a> {
    /// Each function, in the order in which they were named.
    functions: Vec<Function<'a>>,
    /// The cost of the probes.
    probes: Vec<Probe<'a>>,
}

/// A function.
#[derive(Serialize, JsonSchema)]
struct Function<'a> {
    /// Its name, as in `/proc/kallsyms`.
    name: &'a str,
    /// The kind of probe that timed its calls.
    probe: Pair,
    /// Entries and returns that were not seen: they occurred while their own program ran.
    missed: u64,
    /// Its calls on each CPU.
    cpus: Vec<Calls>,
}

/// The calls of a function on one CPU.
#[derive(Serialize, JsonSchema)]
struct Calls {
    /// The CPU.
    cpu: u32,
    /// The number of calls that ended.
    calls: u64,
    /// The total time of the calls.
    total_ns: u64,
    /// The mean time.
    mean_ns: Option<f64>,
    /// The shortest time.
    shortest_ns: Option<u64>,
    /// The longest time.
    longest_ns: Option<u64>,
    /// The number of calls that began.
    began: u64,
    /// Calls that were not timed: too many were in progress at the same time.
    no_room: u64,
    /// Calls that returned without a recorded entry.
    unpaired: u64,
    /// The octaves of durations with at least one call.
    histogram: Vec<Octave>,
}

/// An octave of durations.
#[derive(Serialize, JsonSchema)]
struct Octave {
    /// The beginning of the octave.
    from_ns: u64,
    /// The end of the octave; the last has none.
    below_ns: Option<u64>,
    /// The number of calls in it.
    count: u64,
}

/// The cost of a kind of probe.
#[derive(Serialize, JsonSchema)]
struct Probe<'a> {
    /// The kind of probe.
    probe: Pair,
    /// The time that it adds to a call.
    added_ns: Option<f64>,
    /// The largest part of that in the figures.
    inside_ns: Option<u64>,
    /// The number of calls on which it was measured.
    measured_calls: Option<u64>,
    /// The CPU on which it was measured.
    measured_on_cpu: Option<u32>,
    /// The reason why it could not be measured.
    error: Option<&'a str>,
}

impl<'a> PrintedCalls<'a> {
    /// Converts the calls of one measurement.
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
