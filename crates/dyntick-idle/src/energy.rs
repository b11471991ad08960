// SPDX-License-Identifier: GPL-2.0-only
//! The energy that a machine would have spent: modelled, from how long its states lasted.

use crate::observe::Observed;
use crate::state::States;
use dyntick_model::{CpuList, Machine, NANOS_PER_SEC, Power};
use serde::{Deserialize, Serialize};

/// A modelled energy, J, or power, W, with the range that follows from the ranges of the powers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Modelled {
    /// The value with the machine's powers.
    pub value: f64,
    /// The value with all powers at their low end.
    pub low: f64,
    /// The value with all powers at their high end.
    pub high: f64,
}

impl Modelled {
    fn add(&mut self, power: &Power, ns: u64) {
        let seconds = ns as f64 / NANOS_PER_SEC as f64;
        self.value += power.watts * seconds;
        self.low += power.low * seconds;
        self.high += power.high * seconds;
    }

    /// The sum of both.
    pub fn plus(self, other: Modelled) -> Modelled {
        Modelled { value: self.value + other.value, low: self.low + other.low, high: self.high + other.high }
    }

    /// The mean power over this time, W.
    pub fn mean_power(self, ns: u64) -> Modelled {
        let seconds = ns.max(1) as f64 / NANOS_PER_SEC as f64;
        Modelled { value: self.value / seconds, low: self.low / seconds, high: self.high / seconds }
    }
}

/// The modelled energy of some CPUs, each its own core, over a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// The window, ns.
    pub window_ns: u64,
    /// While instructions were executed.
    pub active: Modelled,
    /// While states were entered and left, at the power of an active core.
    pub transitions: Modelled,
    /// While the CPUs were in a state.
    pub idle: Modelled,
    /// The energy of the shared parts of a package.
    pub package: Modelled,
    /// The duration of each package state, ns, in the machine's order.
    pub package_ns: Vec<u64>,
}

impl Energy {
    /// The energy of the cores.
    pub fn cores(&self) -> Modelled {
        self.active.plus(self.transitions).plus(self.idle)
    }

    /// The energy of cores and package.
    pub fn total(&self) -> Modelled {
        self.cores().plus(self.package)
    }
}

/// Returns the energy of `cpus` on this machine over the window. No other CPU shares their package.
///
/// A sleep takes the power of its state but for the time of entering and of leaving it, which take an
/// active core's. A package state lasts from the moment at which the last CPU has entered a state that is deep
/// enough, until the first begins to leave it, which takes the package's exit latency. Caches that must be
/// refilled, and clocks that change with the load, are not modelled.
pub fn energy(machine: &Machine, observed: &Observed, cpus: &CpuList, window: (u64, u64)) -> Energy {
    let mut model = Energy { window_ns: window.1 - window.0, ..Energy::default() };
    let stays = stays(machine, observed, cpus, window);
    let mut asleep_ns = 0;
    for stay in &stays {
        let Some(state) = machine.idle.states.get(stay.state) else { continue };
        let total = stay.end - stay.begin;
        let in_state = stay.until.saturating_sub(stay.since);
        model.idle.add(&state.power, in_state);
        model.transitions.add(&machine.active, total - in_state);
        asleep_ns += total;
    }
    let all_ns = cpus.len() as u64 * model.window_ns;
    model.active.add(&machine.active, all_ns.saturating_sub(asleep_ns));
    package(machine, &stays, cpus.len(), &mut model);
    model
}

/// The part of a sleep that lies in the window.
struct Stay {
    cpu: u32,
    state: usize,
    begin: u64,
    end: u64,
    /// The interval in which the CPU is in the state and neither enters nor leaves it.
    since: u64,
    until: u64,
}

fn stays(machine: &Machine, observed: &Observed, cpus: &CpuList, window: (u64, u64)) -> Vec<Stay> {
    let states = States::from(&machine.idle);
    let ended = observed.sleeps.iter().map(|sleep| (sleep.cpu, sleep.state, sleep.entry_ns, sleep.exit_ns));
    let open = observed.unfinished.iter().map(|open| (open.cpu, open.state, open.entry_ns, u64::MAX));
    let mut stays: Vec<Stay> = ended
        .chain(open)
        .map(|(cpu, state, begin, end)| {
            let entering = machine.idle.states.get(state).map_or(0, |state| state.entry_ns);
            let since = begin.saturating_add(entering).min(end);
            let until = end.saturating_sub(states.get(state).map_or(0, |state| state.leaving_ns)).max(since);
            Stay { cpu, state, begin, end, since, until }
        })
        .filter(|stay| cpus.contains(stay.cpu) && stay.begin < window.1 && stay.end > window.0)
        .collect();
    leave_packages(machine, &mut stays, cpus.len());
    for stay in &mut stays {
        for moment in [&mut stay.begin, &mut stay.end, &mut stay.since, &mut stay.until] {
            *moment = (*moment).clamp(window.0, window.1);
        }
    }
    stays
}

/// A CPU that wakes while all the others are deep enough must leave the package state, which takes longer.
fn leave_packages(machine: &Machine, stays: &mut [Stay], cpus: usize) {
    for package in machine.idle.package_states.iter().rev() {
        let deep = |stay: &Stay| stay.state >= package.needs;
        let of_package_ns = package.exit_latency_ns.saturating_sub(package.core_exit_latency_ns);
        let leaving_ns = of_package_ns + machine.idle.leaving_ns(package.needs);
        let woken = |stay: &Stay| stay.end.saturating_sub(leaving_ns).max(stay.since);
        let deep_at = Counts::of(stays.iter().filter(|stay| deep(stay)));
        let leaving: Vec<usize> = (0..stays.len())
            .filter(|index| {
                let (stay, moment) = (&stays[*index], woken(&stays[*index]));
                // A CPU is in one state at a time.
                let own = i64::from((stay.since..stay.until).contains(&moment));
                deep(stay) && stay.end != u64::MAX && deep_at.at(moment) - own + 1 >= cpus as i64
            })
            .collect();
        for index in leaving {
            stays[index].until = stays[index].until.min(woken(&stays[index]));
        }
    }
}

/// The number of stays at each moment, so that a look-up does not scan all sleeps.
struct Counts(Vec<(u64, i64)>);

impl Counts {
    fn of<'a>(stays: impl Iterator<Item = &'a Stay>) -> Self {
        let lasting = stays.filter(|stay| stay.until > stay.since);
        let mut edges: Vec<(u64, i64)> =
            lasting.flat_map(|stay| [(stay.since, 1), (stay.until, -1)]).collect();
        edges.sort_unstable();
        let mut count = 0;
        for (_, step) in &mut edges {
            count += *step;
            *step = count;
        }
        Self(edges)
    }

    fn at(&self, moment: u64) -> i64 {
        match self.0.partition_point(|(at, _)| *at <= moment) {
            0 => 0,
            passed => self.0[passed - 1].1,
        }
    }
}

/// Goes through the moments at which any CPU enters or leaves its state.
fn package(machine: &Machine, stays: &[Stay], cpus: usize, model: &mut Energy) {
    let states = &machine.idle.package_states;
    model.package_ns = vec![0; states.len()];
    let mut changes: Vec<(u64, i64, usize)> = stays
        .iter()
        .filter(|stay| stay.until > stay.since)
        .flat_map(|stay| [(stay.since, 1, stay.state), (stay.until, -1, stay.state)])
        .collect();
    changes.sort_unstable();
    // How many CPUs are deep enough for each package state.
    let mut deep = vec![0i64; states.len()];
    let mut last = changes.first().map_or(0, |change| change.0);
    for (at, step, state) in changes {
        if let Some(deepest) = deep.iter().rposition(|count| *count >= cpus as i64 && cpus > 0) {
            model.package_ns[deepest] += at - last;
        }
        last = at;
        for (count, package) in deep.iter_mut().zip(states) {
            *count += if state >= package.needs { step } else { 0 };
        }
    }
    let mut awake_ns = model.window_ns;
    for (ns, state) in model.package_ns.iter().zip(states) {
        model.package.add(&state.power, *ns);
        awake_ns = awake_ns.saturating_sub(*ns);
    }
    model.package.add(&machine.uncore, awake_ns);
}
