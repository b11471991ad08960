// SPDX-License-Identifier: GPL-2.0-only
//! What was counted since an exporter began. Nothing in here falls, and all of it is bounded: CPUs, causes, idle
//! states.

use crate::{Cause, MOST_DEVICES};
use dyntick_count::{Class, CpuCounts, GroupRows, Measured, What, per_cpu};
use dyntick_model::text::clean_line;
use dyntick_model::{StateReading, TickDependency};
use dyntick_observe::live::{IdleState, RunTime};
use std::collections::BTreeMap;

/// All that an exporter has counted.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The version of dyntick.
    pub version: String,
    /// By what is counted, `bpf` or `tracefs`; none where nothing can be, and only the machine's own counters are read.
    pub source: Option<&'static str>,
    /// Whether ticks are told from other timers.
    pub with_ticks: bool,
    /// The measured CPUs by number.
    pub cpus: BTreeMap<u32, CpuTotals>,
    /// Events that were not counted, by the reason.
    pub lost: BTreeMap<&'static str, u64>,
    /// Events that were counted without their name.
    pub unnamed: u64,
    /// What the exporter itself costs.
    pub own: Own,
}

/// One CPU.
#[derive(Clone, Debug, Default)]
pub struct CpuTotals {
    /// Ticks.
    pub ticks: u64,
    /// How often the tick was stopped.
    pub ticks_stopped: u64,
    /// How often it was kept, by the reason.
    pub ticks_kept: BTreeMap<TickDependency, u64>,
    /// Interruptions by cause.
    pub interruptions: BTreeMap<Cause, Sum>,
    /// Time in interruptions whose cause no rule names, ns.
    pub unattributed_ns: u64,
    /// Page faults, which are no interruptions.
    pub page_faults: u64,
    /// Time slices of the exporter's own tasks on this CPU, ns.
    pub observer_ns: u64,
    /// System management interrupts, where they are counted.
    pub smis: Option<u64>,
    /// Idle states by name.
    pub idle: BTreeMap<String, IdleTotals>,
    /// Exit latencies of idle states by name, as the idle driver declares them, us.
    pub(crate) exit_latency_us: BTreeMap<String, u64>,
}

/// How often, and how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How often.
    pub count: u64,
    /// How long all together, ns.
    pub ns: u64,
}

/// An idle state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleTotals {
    /// How often it was entered.
    pub entries: u64,
    /// How long it was held, us.
    pub time_us: u64,
    /// How often it was too deep (`above`).
    pub too_deep: u64,
    /// How often it was too shallow (`below`).
    pub too_shallow: u64,
}

/// What an exporter costs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// CPU time of its process, ns.
    pub cpu_ns: u64,
    /// How often the counters were read, and how long that took.
    pub readings: Sum,
    /// Runs of the eBPF programs, where the kernel counts them (`kernel.bpf_stats_enabled`).
    pub programs: Option<RunTime>,
}

impl Totals {
    /// Nothing yet, by this version of dyntick.
    pub fn new(version: &str) -> Self {
        Self { version: version.to_owned(), ..Self::default() }
    }

    /// Takes the exit latencies of idle states, which do not change.
    pub fn learn(&mut self, states: &BTreeMap<u32, Vec<StateReading>>) {
        for (cpu, states) in states {
            let cpu = self.cpus.entry(*cpu).or_insert_with(CpuTotals::with_known_causes);
            let latency = |state: &StateReading| (clean_line(&state.name), state.latency_us);
            cpu.exit_latency_us = states.iter().map(latency).collect();
        }
    }

    /// Adds what was counted since this was called before.
    pub fn add(&mut self, measured: &Measured) {
        self.source = measured.source.as_ref().map(|source| source.name());
        self.with_ticks = measured.with_ticks;
        for (number, counts) in measured.cpus.iter().zip(&per_cpu(measured)) {
            self.cpus.entry(number).or_insert_with(CpuTotals::with_known_causes).add(counts);
        }
        let lost = measured.counts.as_ref().map(|counts| counts.lost).unwrap_or_default();
        for (reason, count) in lost.by_reason() {
            match reason {
                "unnamed" => grow(&mut self.unnamed, count),
                _ => grow(self.lost.entry(reason).or_default(), count),
            }
        }
    }
}

impl CpuTotals {
    /// Nothing yet, but with all causes that every CPU has.
    fn with_known_causes() -> Self {
        use TickDependency::*;
        let reasons = [PosixTimer, PerfEvents, Sched, ClockUnstable, Rcu, RcuExp];
        Self {
            ticks_kept: reasons.into_iter().map(|reason| (reason, 0)).collect(),
            interruptions: Cause::known().map(|cause| (cause, Sum::default())).collect(),
            ..Self::default()
        }
    }

    fn add(&mut self, counts: &CpuCounts) {
        grow(&mut self.ticks, counts.ticks);
        grow(&mut self.ticks_stopped, counts.stopped);
        for (reason, count) in &counts.kept {
            grow(self.ticks_kept.entry(*reason).or_default(), *count);
        }
        counts.of_class(Class::Interruption).for_each(|group| self.add_interruptions(group));
        grow(&mut self.unattributed_ns, counts.unattributed_ns);
        grow(&mut self.page_faults, counts.page_faults());
        grow(&mut self.observer_ns, counts.time.observer_ns);
        if let Some(smis) = counts.meters.smis {
            grow(self.smis.get_or_insert(0), smis);
        }
        counts.meters.idle.iter().for_each(|state| self.add_idle(state));
    }

    fn add_interruptions(&mut self, rows: &GroupRows) {
        let What::Group(group) = &rows.row.what else { return };
        let Some(cause) = Cause::of(group) else { return };
        let sum = self.interruptions.entry(self.bounded(cause)).or_default();
        grow(&mut sum.count, rows.row.count.count);
        grow(&mut sum.ns, rows.row.count.ns);
    }

    /// The cause, or the one for all others of its sort where there are too many. One that has a label keeps it, since
    /// no counter may fall.
    fn bounded(&self, cause: Cause) -> Cause {
        let is_device = |cause: &Cause| matches!(cause, Cause::Device(_));
        if !is_device(&cause) || self.interruptions.contains_key(&cause) {
            return cause;
        }
        let devices = self.interruptions.keys().filter(|cause| is_device(cause)).count();
        if devices < MOST_DEVICES { cause } else { Cause::OtherDevices }
    }

    /// States of one name are counted together: two series with the same labels would void all of them.
    fn add_idle(&mut self, state: &IdleState) {
        let sum = self.idle.entry(clean_line(&state.name)).or_default();
        grow(&mut sum.entries, state.usage);
        grow(&mut sum.time_us, state.time_us);
        grow(&mut sum.too_deep, state.above);
        grow(&mut sum.too_shallow, state.below);
    }
}

impl Sum {
    /// Adds one that took so long, ns.
    pub fn took(&mut self, ns: u64) {
        grow(&mut self.count, 1);
        grow(&mut self.ns, ns);
    }
}

/// A counter never falls, whatever it counts.
fn grow(counter: &mut u64, by: u64) {
    *counter = counter.saturating_add(by);
}
