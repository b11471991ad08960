// SPDX-License-Identifier: GPL-2.0-only
//! The totals since an exporter started. They never decrease, and their number is limited: CPUs, causes, idle states.

use crate::{Cause, MOST_DEVICES};
use dyntick_count::{Class, CpuCounts, GroupRows, Measured, What, per_cpu};
use dyntick_model::text::clean_line;
use dyntick_model::{StateReading, TickDependency};
use dyntick_observe::live::{IdleState, RunTime};
use std::collections::BTreeMap;

/// The totals of an exporter.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The version of dyntick.
    pub version: String,
    /// The source of the counts, `bpf` or `tracefs`; `None` if only the machine's own counters can be read.
    pub source: Option<&'static str>,
    /// True if ticks can be distinguished from other timers.
    pub with_ticks: bool,
    /// The measured CPUs by number.
    pub cpus: BTreeMap<u32, CpuTotals>,
    /// The number of events that were not counted, by reason.
    pub lost: BTreeMap<&'static str, u64>,
    /// The number of events that were counted without their name.
    pub unnamed: u64,
    /// The cost of the exporter itself.
    pub own: Own,
}

/// One CPU.
#[derive(Clone, Debug, Default)]
pub struct CpuTotals {
    /// The number of ticks.
    pub ticks: u64,
    /// The number of times that the tick was stopped.
    pub ticks_stopped: u64,
    /// The number of times that the tick was kept, by tick dependency.
    pub ticks_kept: BTreeMap<TickDependency, u64>,
    /// The interruptions by cause.
    pub interruptions: BTreeMap<Cause, Sum>,
    /// The time in interruptions whose cause no rule names, ns.
    pub unattributed_ns: u64,
    /// The number of page faults, which are not interruptions.
    pub page_faults: u64,
    /// The time slices of the exporter's own tasks on this CPU, ns.
    pub observer_ns: u64,
    /// The number of system management interrupts, if counted.
    pub smis: Option<u64>,
    /// The idle states by name.
    pub idle: BTreeMap<String, IdleTotals>,
    /// The exit latencies of idle states by name, as the idle driver declares them, µs.
    pub(crate) exit_latency_us: BTreeMap<String, u64>,
}

/// A count and a total time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The count.
    pub count: u64,
    /// The total time, ns.
    pub ns: u64,
}

/// An idle state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleTotals {
    /// The number of entries.
    pub entries: u64,
    /// The time in the state, µs.
    pub time_us: u64,
    /// The number of times that it was too deep (`above`).
    pub too_deep: u64,
    /// The number of times that it was too shallow (`below`).
    pub too_shallow: u64,
}

/// The cost of an exporter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// The CPU time of its process, ns.
    pub cpu_ns: u64,
    /// The readings of the counters, and their time.
    pub readings: Sum,
    /// The runs of the eBPF programs, if the kernel counts them (`kernel.bpf_stats_enabled`).
    pub programs: Option<RunTime>,
}

impl Totals {
    /// Makes empty totals for this version of dyntick.
    pub fn new(version: &str) -> Self {
        Self { version: version.to_owned(), ..Self::default() }
    }

    /// Takes the exit latencies of idle states, which never change.
    pub fn learn(&mut self, states: &BTreeMap<u32, Vec<StateReading>>) {
        for (cpu, states) in states {
            let cpu = self.cpus.entry(*cpu).or_insert_with(CpuTotals::with_known_causes);
            cpu.exit_latency_us =
                states.iter().map(|state| (clean_line(&state.name), state.latency_us)).collect();
        }
    }

    /// Adds the counts since the last call.
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
    /// Makes empty totals with all causes that every CPU has.
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

    /// The cause, or the common one of its kind if there are too many. A cause with a label keeps it, since no counter
    /// may decrease.
    fn bounded(&self, cause: Cause) -> Cause {
        let is_device = |cause: &Cause| matches!(cause, Cause::Device(_));
        if !is_device(&cause) || self.interruptions.contains_key(&cause) {
            return cause;
        }
        let devices = self.interruptions.keys().filter(|cause| is_device(cause)).count();
        if devices < MOST_DEVICES { cause } else { Cause::OtherDevices }
    }

    /// Adds a state. States with the same name are counted together: two series with the same labels would void all of
    /// them.
    fn add_idle(&mut self, state: &IdleState) {
        let sum = self.idle.entry(clean_line(&state.name)).or_default();
        grow(&mut sum.entries, state.usage);
        grow(&mut sum.time_us, state.time_us);
        grow(&mut sum.too_deep, state.above);
        grow(&mut sum.too_shallow, state.below);
    }
}

impl Sum {
    /// Adds one reading that took this time, ns.
    pub fn took(&mut self, ns: u64) {
        grow(&mut self.count, 1);
        grow(&mut self.ns, ns);
    }
}

/// Increases a counter, which never decreases.
fn grow(counter: &mut u64, by: u64) {
    *counter = counter.saturating_add(by);
}
