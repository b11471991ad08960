// SPDX-License-Identifier: GPL-2.0-only
//! The energy that a machine would have spent: modelled, from how long its states lasted.

use crate::observe::Observed;
use crate::state::States;
use dyntick_model::{CpuList, Machine, NANOS_PER_SEC, PackageState, Power};
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
    /// The sum of both, over both windows.
    pub fn plus(mut self, other: &Energy) -> Energy {
        self.window_ns += other.window_ns;
        self.active = self.active.plus(other.active);
        self.transitions = self.transitions.plus(other.transitions);
        self.idle = self.idle.plus(other.idle);
        self.package = self.package.plus(other.package);
        self.package_ns.resize(other.package_ns.len(), 0);
        self.package_ns.iter_mut().zip(&other.package_ns).for_each(|(sum, more)| *sum += more);
        self
    }

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
    let table = States::from(&machine.idle);
    let ended = observed.sleeps.iter().map(|sleep| (sleep.cpu, sleep.state, sleep.entry_ns, sleep.exit_ns));
    let open = observed.unfinished.iter().map(|open| (open.cpu, open.state, open.entry_ns, u64::MAX));
    let stay = |(cpu, state, begin, end)| Stay::of(machine, &table, cpu, state, begin, end);
    let counts = |stay: &Stay| cpus.contains(stay.cpu) && stay.is_in(window);
    let stays = ended.chain(open).map(stay).filter(counts).collect();
    of_stays(machine, stays, cpus.len(), window)
}

fn of_stays(machine: &Machine, mut stays: Vec<Stay>, cpus: usize, window: (u64, u64)) -> Energy {
    let mut model = Energy { window_ns: window.1 - window.0, ..Energy::default() };
    leave_packages(machine, &mut stays, cpus);
    stays.retain(|stay| stay.is_in(window));
    for stay in &mut stays {
        for moment in [&mut stay.begin, &mut stay.end, &mut stay.since, &mut stay.until] {
            *moment = (*moment).clamp(window.0, window.1);
        }
    }
    let mut asleep_ns = 0;
    for stay in &stays {
        let Some(state) = machine.idle.states.get(stay.state) else { continue };
        let total = stay.end - stay.begin;
        let in_state = stay.until.saturating_sub(stay.since);
        model.idle.add(&state.power, in_state);
        model.transitions.add(&machine.active, total - in_state);
        asleep_ns += total;
    }
    let all_ns = cpus as u64 * model.window_ns;
    model.active.add(&machine.active, all_ns.saturating_sub(asleep_ns));
    package(machine, &stays, cpus, &mut model);
    model
}

/// The energy of sleeps that come one after another, as [`energy`] has it, in memory that does not grow with them.
pub struct Meter<'a> {
    machine: &'a Machine,
    states: States,
    cpus: &'a CpuList,
    window: (u64, u64),
    /// The sleeps that are not counted yet, or that may decide how those are counted.
    stays: Vec<Stay>,
    /// The number of these at which they are counted.
    most: usize,
    at_once: usize,
    /// All before is counted.
    done_ns: u64,
    sum: Energy,
}

impl<'a> Meter<'a> {
    /// The number of sleeps that are counted at once.
    const AT_ONCE: usize = 1 << 15;

    /// Counts after so few sleeps.
    #[cfg(test)]
    pub(crate) fn count_at_once(&mut self, sleeps: usize) {
        (self.at_once, self.most) = (sleeps, sleeps);
    }

    /// Creates one for the CPUs of a package, over a window.
    pub fn new(machine: &'a Machine, cpus: &'a CpuList, window: (u64, u64)) -> Self {
        let sum = Energy { package_ns: vec![0; machine.idle.package_states.len()], ..Energy::default() };
        let (states, at_once) = (States::from(&machine.idle), Self::AT_ONCE);
        let (stays, done_ns) = (Vec::new(), window.0);
        Self { machine, states, cpus, window, stays, most: at_once, at_once, done_ns, sum }
    }

    /// Notes that all sleeps that begin before this moment were added.
    pub fn reach(&mut self, now_ns: u64) {
        if self.stays.len() >= self.most {
            self.count(now_ns.clamp(self.done_ns, self.window.1));
            self.most = self.at_once + 2 * self.stays.len();
        }
    }

    /// Adds a sleep, whose CPU's last one must have ended.
    pub fn add(&mut self, cpu: u32, state: usize, begin_ns: u64, end_ns: u64) {
        let stay = Stay::of(self.machine, &self.states, cpu, state, begin_ns, end_ns.max(begin_ns));
        if self.cpus.contains(cpu) && stay.is_in(self.window) {
            self.stays.push(stay);
        }
    }

    /// Counts the time before `end_ns`, when all sleeps that begin earlier are known.
    fn count(&mut self, end_ns: u64) {
        let part = of_stays(self.machine, self.stays.clone(), self.cpus.len(), (self.done_ns, end_ns));
        self.sum = std::mem::take(&mut self.sum).plus(&part);
        self.done_ns = end_ns;
        // How a sleep is left depends on those that ended a while before it, for each package state.
        let packages = &self.machine.idle.package_states;
        let longest = packages.iter().map(|package| leaving_package_ns(self.machine, package)).max();
        let ago_ns = longest.unwrap_or(0).saturating_mul(packages.len() as u64 + 1);
        let since_ns = end_ns.saturating_sub(ago_ns);
        self.stays.retain(|stay| stay.end > since_ns);
    }

    /// The energy in the window.
    pub fn finish(mut self) -> Energy {
        self.count(self.window.1.max(self.done_ns));
        self.sum
    }
}

/// A sleep, or the part of it that lies in the window.
#[derive(Clone)]
struct Stay {
    cpu: u32,
    state: usize,
    begin: u64,
    end: u64,
    /// The interval in which the CPU is in the state and neither enters nor leaves it.
    since: u64,
    until: u64,
}

impl Stay {
    fn of(machine: &Machine, states: &States, cpu: u32, state: usize, begin: u64, end: u64) -> Self {
        let entering = machine.idle.states.get(state).map_or(0, |state| state.entry_ns);
        let since = begin.saturating_add(entering).min(end);
        let until = end.saturating_sub(states.get(state).map_or(0, |state| state.leaving_ns)).max(since);
        Self { cpu, state, begin, end, since, until }
    }

    fn is_in(&self, window: (u64, u64)) -> bool {
        self.begin < window.1 && self.end > window.0
    }
}

/// The time from the wake-up to the end of the sleep of the CPU that must leave a package state, ns.
fn leaving_package_ns(machine: &Machine, package: &PackageState) -> u64 {
    let of_package_ns = package.exit_latency_ns.saturating_sub(package.core_exit_latency_ns);
    of_package_ns + machine.idle.leaving_ns(package.needs)
}

/// A CPU that wakes while all the others are deep enough must leave the package state, which takes longer.
fn leave_packages(machine: &Machine, stays: &mut [Stay], cpus: usize) {
    for package in machine.idle.package_states.iter().rev() {
        let deep = |stay: &Stay| stay.state >= package.needs;
        let leaving_ns = leaving_package_ns(machine, package);
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
    if states.is_empty() {
        model.package.add(&machine.uncore, model.window_ns);
        return;
    }
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
