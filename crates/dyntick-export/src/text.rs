// SPDX-License-Identifier: GPL-2.0-only
//! The totals as text: the metrics with their names, labels and meaning. Names have base units and end as Prometheus
//! requires; the book's page `export.md` has the same list.

use crate::totals::{CpuTotals, IdleTotals, Totals};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet, prometheus_text,
    text as openmetrics,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt::{Error, Result};

/// The layout of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0, as Prometheus scrapes it.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus, the only one that node_exporter's textfile collector accepts.
    Prometheus,
}

/// Formats all metrics.
///
/// # Errors
///
/// Only errors of the library that writes it.
pub fn text(totals: &Totals, format: Format) -> std::result::Result<String, Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(totals.clone()));
    let mut text = String::new();
    match format {
        Format::OpenMetrics => openmetrics::encode(&mut text, &registry)?,
        Format::Prometheus => prometheus_text::encode(&mut text, &registry)?,
    }
    Ok(text)
}

/// The labels of one sample, in their order.
type Labels = Vec<(&'static str, String)>;

impl Collector for Totals {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result {
        let mut to = Families(encoder);
        self.about(&mut to)?;
        if self.source.is_some() {
            self.counts(&mut to)?;
            self.losses(&mut to)?;
        }
        self.machine(&mut to)?;
        self.own(&mut to)
    }
}

impl Totals {
    fn about(&self, to: &mut Families<'_>) -> Result {
        let labels =
            vec![("version", self.version.clone()), ("source", self.source.unwrap_or("none").to_owned())];
        to.gauges(
            "dyntick_export_info",
            "Version of dyntick, and by what it counts",
            None,
            [(labels, 1u64)],
        )?;
        let counting = u64::from(self.source.is_some());
        let help = "Whether interruptions are counted (1), or only what the machine counts by itself (0)";
        to.gauges("dyntick_counting", help, None, [(Vec::new(), counting)])
    }

    /// Encodes the counts from the kernel.
    fn counts(&self, to: &mut Families<'_>) -> Result {
        if self.with_ticks {
            to.counters("dyntick_cpu_ticks", "Timer ticks", None, self.each(|cpu| cpu.ticks))?;
        }
        to.counters(
            "dyntick_cpu_ticks_stopped",
            "Decisions to stop the tick",
            None,
            self.each(|cpu| cpu.ticks_stopped),
        )?;
        to.counters(
            "dyntick_cpu_ticks_kept",
            "Decisions to keep the tick, by tick dependency",
            None,
            self.kept(),
        )?;
        let help = "Interruptions: interrupts, softirqs, time slices of kernel threads";
        to.counters("dyntick_cpu_interruptions", help, None, self.by_cause(|sum| sum.count))?;
        let help = "Time that interruptions took, without the interrupts within them";
        to.counters("dyntick_cpu_interruption", help, SECONDS, self.by_cause(|sum| seconds(sum.ns)))?;
        let help = "Time of interruptions whose cause no rule of dyntick names";
        to.counters(
            "dyntick_cpu_unattributed",
            help,
            SECONDS,
            self.each(|cpu| seconds(cpu.unattributed_ns)),
        )?;
        to.counters("dyntick_cpu_page_faults", "Page faults", None, self.each(|cpu| cpu.page_faults))?;
        let help = "Time slices of dyntick's own tasks on the measured CPU";
        to.counters("dyntick_cpu_observer", help, SECONDS, self.each(|cpu| seconds(cpu.observer_ns)))
    }

    fn losses(&self, to: &mut Families<'_>) -> Result {
        let lost = self.lost.iter().map(|(source, count)| (vec![("source", (*source).to_owned())], *count));
        to.counters("dyntick_events_lost", "Events that were not counted", None, lost)?;
        let help = "Events that were counted without their name";
        to.counters("dyntick_events_unnamed", help, None, [(Vec::new(), self.unnamed)])
    }

    /// Encodes the machine's own counters.
    fn machine(&self, to: &mut Families<'_>) -> Result {
        let smis = self.cpus.iter().filter_map(|(cpu, totals)| Some((of_cpu(*cpu), totals.smis?)));
        to.counters("dyntick_cpu_smis", "System management interrupts", None, smis)?;
        to.counters(
            "dyntick_cpuidle_entries",
            "Entries into an idle state",
            None,
            self.idle(|idle| idle.entries),
        )?;
        let seconds_in = |idle: &IdleTotals| idle.time_us as f64 / 1e6;
        to.counters("dyntick_cpuidle", "Time in an idle state", SECONDS, self.idle(seconds_in))?;
        let help = "Idle states that were left before their target residency (above)";
        to.counters("dyntick_cpuidle_too_deep", help, None, self.idle(|idle| idle.too_deep))?;
        let help = "Idle states that were held long enough for a deeper one (below)";
        to.counters("dyntick_cpuidle_too_shallow", help, None, self.idle(|idle| idle.too_shallow))?;
        let latencies = self.cpus.iter().flat_map(|(cpu, totals)| {
            let states = totals.exit_latency_us.iter();
            states.map(|(state, us)| (of_state(*cpu, state), *us as f64 / 1e6))
        });
        let help = "Exit latency of an idle state as the idle driver declares it; not measured";
        to.gauges("dyntick_cpuidle_exit_latency", help, SECONDS, latencies)
    }

    /// Encodes the cost of the exporter.
    fn own(&self, to: &mut Families<'_>) -> Result {
        let one = |value| [(Labels::new(), value)];
        let own = &self.own;
        to.counters("dyntick_export_cpu", "CPU time of the exporter", SECONDS, one(seconds(own.cpu_ns)))?;
        let readings = [(Labels::new(), own.readings.count)];
        to.counters("dyntick_export_readings", "Readings of the counters", None, readings)?;
        to.counters(
            "dyntick_export_reading",
            "Time that readings took",
            SECONDS,
            one(seconds(own.readings.ns)),
        )?;
        let Some(programs) = own.programs else { return Ok(()) };
        let runs = [(Labels::new(), programs.runs)];
        to.counters("dyntick_export_program_runs", "Runs of the eBPF programs that count", None, runs)?;
        let help = "Time of the eBPF programs that count, on all CPUs";
        to.counters("dyntick_export_program", help, SECONDS, one(seconds(programs.ns)))
    }

    fn each<'a, V>(&'a self, value: impl Fn(&CpuTotals) -> V + 'a) -> impl Iterator<Item = (Labels, V)> + 'a {
        self.cpus.iter().map(move |(cpu, totals)| (of_cpu(*cpu), value(totals)))
    }

    fn kept(&self) -> impl Iterator<Item = (Labels, u64)> {
        self.cpus.iter().flat_map(|(cpu, totals)| {
            let kept = totals.ticks_kept.iter();
            kept.map(|(reason, count)| (with(*cpu, "cause", reason.kernel_name().to_owned()), *count))
        })
    }

    fn by_cause<'a, V>(
        &'a self,
        value: impl Fn(&crate::Sum) -> V + Copy + 'a,
    ) -> impl Iterator<Item = (Labels, V)> + 'a {
        self.cpus.iter().flat_map(move |(cpu, totals)| {
            let causes = totals.interruptions.iter();
            causes.map(move |(cause, sum)| (with(*cpu, "cause", cause.to_string()), value(sum)))
        })
    }

    fn idle<'a, V>(
        &'a self,
        value: impl Fn(&IdleTotals) -> V + Copy + 'a,
    ) -> impl Iterator<Item = (Labels, V)> + 'a {
        self.cpus.iter().flat_map(move |(cpu, totals)| {
            totals.idle.iter().map(move |(state, idle)| (of_state(*cpu, state), value(idle)))
        })
    }
}

/// The unit of times.
const SECONDS: Option<Unit> = Some(Unit::Seconds);

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn of_cpu(cpu: u32) -> Labels {
    vec![("cpu", cpu.to_string())]
}

fn of_state(cpu: u32, state: &str) -> Labels {
    with(cpu, "state", state.to_owned())
}

fn with(cpu: u32, name: &'static str, value: String) -> Labels {
    vec![("cpu", cpu.to_string()), (name, value)]
}

/// A writer of metric families, which leaves out those without a sample.
struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    /// Writes a family of counters; the library adds the suffix `_total`.
    fn counters<V: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        samples: impl IntoIterator<Item = (Labels, V)>,
    ) -> Result {
        self.family((name, help, unit, MetricType::Counter), samples, |mut to, value| {
            to.encode_counter::<NoLabelSet, _, u64>(value, None)
        })
    }

    fn gauges<V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        samples: impl IntoIterator<Item = (Labels, V)>,
    ) -> Result {
        self.family((name, help, unit, MetricType::Gauge), samples, |mut to, value| to.encode_gauge(value))
    }

    fn family<V>(
        &mut self,
        (name, help, unit, kind): (&str, &str, Option<Unit>, MetricType),
        samples: impl IntoIterator<Item = (Labels, V)>,
        write: impl Fn(MetricEncoder<'_>, &V) -> Result,
    ) -> Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, unit.as_ref(), kind)?;
        for (labels, value) in samples {
            write(family.encode_family(&labels)?, &value)?;
        }
        Ok(())
    }
}
