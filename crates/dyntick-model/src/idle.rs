// SPDX-License-Identifier: GPL-2.0-only
//! The idle states of a machine: what the kernel's idle driver knows of them, and what they take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The origin of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// It was measured on such a machine.
    Measured,
    /// It was derived from other figures; [`Power::remark`] says how.
    Estimated,
}

impl std::fmt::Display for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Basis::Measured => "measured",
            Basis::Estimated => "estimated",
        })
    }
}

/// A power, W, with the range in which it is believed to lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Power {
    /// The value to reckon with.
    pub watts: f64,
    /// The least that is believed possible; not above `watts`.
    pub low: f64,
    /// The most that is believed possible; not below `watts`.
    pub high: f64,
    /// The origin.
    pub basis: Basis,
    /// The source: a key of [`Machine::sources`].
    pub source: String,
    /// The way of an estimate, or a remark on a measurement.
    pub remark: String,
}

/// Published measurements of a state's exit latency, ns, in addition to the kernel's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredExit {
    /// The median, or what was published instead of one.
    pub exit_latency_ns: u64,
    /// The distribution of the exits, from the shortest to the longest; empty if it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<Quantile>,
    /// The source: a key of [`Machine::sources`].
    pub source: String,
    /// The method of measurement.
    pub remark: String,
}

/// One point of a distribution: the share of all values that are not above this one. Between two points it is linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quantile {
    /// The share of all values, in millionths.
    pub millionths: u32,
    /// The value, ns.
    pub ns: u64,
}

impl Quantile {
    /// The share of all values.
    pub const ALL: u32 = 1_000_000;
}

/// The duration of an emulated exit. The kernel uses the table's latency in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// The latency of the kernel's table, which is the worst case.
    #[default]
    Table,
    /// The measured [`MeasuredExit::exit_latency_ns`], or the table's if there is none.
    Measured,
    /// Another one each time, as they were distributed: [`MeasuredExit::quantiles`], and the table's where
    /// there are none.
    Distribution,
}

/// An idle state, as the kernel's `struct cpuidle_state` has it, with its power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// The kernel's name, at most 15 bytes: `C1E`.
    pub name: String,
    /// The description, at most 31 bytes, e.g. `MWAIT 0x01`.
    pub description: String,
    /// The time from the wake-up event to the first instruction, ns, as the kernel knows it.
    pub exit_latency_ns: u64,
    /// The shortest idle time for which it is worth being entered, entering included, ns.
    pub target_residency_ns: u64,
    /// From the decision to being in the state, ns; 0 where it is not known. A wake-up during it
    /// must wait for its end.
    pub entry_ns: u64,
    /// The CPU spins and waits for no interrupt (`CPUIDLE_FLAG_POLLING`).
    pub polling: bool,
    /// The TLB does not survive it (`CPUIDLE_FLAG_TLB_FLUSHED`).
    pub tlb_flushed: bool,
    /// The interrupt that wakes is taken before the driver returns, so that its handler counts as sleep
    /// (`CPUIDLE_FLAG_IRQ_ENABLE` of intel_idle).
    #[serde(default)]
    pub irq_enable: bool,
    /// The driver does not let it be chosen (`CPUIDLE_FLAG_UNUSABLE`).
    pub unusable: bool,
    /// It is disabled until it is enabled in sysfs (`CPUIDLE_FLAG_OFF`).
    pub off: bool,
    /// The power of one core in it, W, without the shared parts of a package.
    pub power: Power,
    /// Published measurements.
    pub measured: Option<MeasuredExit>,
    /// The source of the latencies: a key of [`Machine::sources`].
    pub source: String,
}

/// A state of what the cores of a package share, entered when all of them are idle deeply enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PackageState {
    /// Its name: `PC6`.
    pub name: String,
    /// The shallowest state, by its place in [`IdleTable::states`], that every CPU must be in.
    pub needs: usize,
    /// The time from the wake-up event to the first instruction of a CPU that wakes the package out of it, ns.
    pub exit_latency_ns: u64,
    /// The same time for a CPU that leaves the state `needs` while the package is not in this state, ns.
    pub core_exit_latency_ns: u64,
    /// The power of the shared parts, W, while it lasts.
    pub power: Power,
    /// The source of the latencies: a key of [`Machine::sources`].
    pub source: String,
}

/// The idle states of a machine, from the shallowest to the deepest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleTable {
    /// The states of a CPU, at most [`IdleTable::MOST_STATES`], as in sysfs: `state0` first.
    pub states: Vec<IdleState>,
    /// The states of a package, from the shallowest to the deepest.
    pub package_states: Vec<PackageState>,
    /// The duration of exits if this table is emulated.
    #[serde(default)]
    pub exit: Exit,
    /// True if a CPU is woken ahead of its own timer, by the length of its exit, where this table is emulated.
    #[serde(default)]
    pub pre_wake: bool,
}

impl IdleState {
    /// The most points of a distribution that the emulator has room for.
    pub const MOST_QUANTILES: usize = 16;
}

impl IdleTable {
    /// The kernel's `CPUIDLE_STATE_MAX` (`include/linux/cpuidle.h`, 6.1 to 7.2).
    pub const MOST_STATES: usize = 10;

    /// The place of the state of this name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.states.iter().position(|state| state.name == name)
    }

    /// Returns the measurement of this state, if exits take that time.
    pub fn measured(&self, place: usize) -> Option<&MeasuredExit> {
        let measured = self.states.get(place)?.measured.as_ref()?;
        let in_force = match self.exit {
            Exit::Table => false,
            Exit::Measured => true,
            Exit::Distribution => !measured.quantiles.is_empty(),
        };
        in_force.then_some(measured)
    }

    /// From the wake-up to the end of a sleep in this state, ns, where the package need not be woken. Where exits
    /// differ, the median.
    pub fn leaving_ns(&self, place: usize) -> u64 {
        let of_table = || match self.package_states.iter().find(|package| package.needs == place) {
            Some(package) => package.core_exit_latency_ns,
            None => self.states.get(place).map_or(0, |state| state.exit_latency_ns),
        };
        self.measured(place).map_or_else(of_table, |measured| measured.exit_latency_ns)
    }

    /// The deepest state that can be chosen without anybody enabling it, and whose target residency
    /// is not above this idle time, ns: what would have been right for it.
    pub fn ideal(&self, idle_ns: u64) -> Option<usize> {
        let fits = |state: &&IdleState| !state.unusable && !state.off && state.target_residency_ns <= idle_ns;
        self.states.iter().rposition(|state| fits(&state))
    }
}

/// A machine whose idle states can be emulated and whose energy can be modelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// A short name: its file's, without the ending.
    pub name: String,
    /// The name.
    pub title: String,
    /// A remark.
    pub description: String,
    /// Cores of a package: what [`Machine::uncore`] is shared by.
    pub cores: u32,
    /// The publications that the figures are from, by the key that figures name them by.
    pub sources: std::collections::BTreeMap<String, String>,
    /// Its idle states.
    pub idle: IdleTable,
    /// The power of one core that executes instructions, W, without the shared parts.
    pub active: Power,
    /// The power of the shared parts of a package, W, while no package state is entered.
    pub uncore: Power,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, residency: u64) -> IdleState {
        IdleState {
            name: name.into(),
            description: String::new(),
            exit_latency_ns: residency,
            target_residency_ns: residency,
            entry_ns: 0,
            polling: false,
            tlb_flushed: false,
            irq_enable: false,
            unusable: false,
            off: false,
            power: Power {
                watts: 1.0,
                low: 1.0,
                high: 1.0,
                basis: Basis::Measured,
                source: "s".into(),
                remark: String::new(),
            },
            measured: None,
            source: "s".into(),
        }
    }

    #[test]
    fn an_exit_takes_what_was_measured_where_that_is_asked_for() {
        let measured = |quantiles| MeasuredExit {
            exit_latency_ns: 100,
            quantiles,
            source: "s".into(),
            remark: String::new(),
        };
        let mut table = IdleTable { states: vec![state("C1", 1), state("C6", 290)], ..Default::default() };
        table.states[1].measured = Some(measured(Vec::new()));
        let mut takes = |exit| {
            table.exit = exit;
            [table.leaving_ns(0), table.leaving_ns(1)]
        };
        assert_eq!(takes(Exit::Table), [1, 290]);
        assert_eq!(takes(Exit::Measured), [1, 100]);
        assert_eq!(takes(Exit::Distribution), [1, 290]);
        table.states[1].measured = Some(measured(vec![Quantile { millionths: Quantile::ALL, ns: 100 }]));
        assert_eq!(table.leaving_ns(1), 100);
    }

    #[test]
    fn the_ideal_state_is_the_deepest_that_pays() {
        let mut table = IdleTable {
            states: vec![state("C1", 1), state("C1E", 4), state("C6", 800)],
            ..Default::default()
        };
        assert_eq!(table.ideal(0), None);
        assert_eq!([1, 3, 4, 799, 800].map(|ns| table.ideal(ns).unwrap()), [0, 0, 1, 1, 2]);
        table.states[2].off = true;
        assert_eq!(table.ideal(1_000_000), Some(1));
        assert_eq!(table.index_of("C1E"), Some(1));
    }
}
