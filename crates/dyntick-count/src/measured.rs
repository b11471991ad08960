// SPDX-License-Identifier: GPL-2.0-only
//! The result of one measurement, or of several together.

use crate::{CommandTime, CpuTime, Finished, Longest, TimedCalls};
use dyntick_model::CpuList;
use dyntick_observe::live::{Meters, Missing, Power, Snapshot, Source, WaitKind};

/// The result of a measurement.
#[derive(Default)]
pub struct Measured {
    /// The CPUs.
    pub cpus: CpuList,
    /// True if time slices are counted: of tasks, kernel threads and the idle task.
    pub with_slices: bool,
    /// True if ticks are distinguished from other timers.
    pub with_ticks: bool,
    /// The duration, ns; of several runs their sum.
    pub ns: u64,
    /// When it ended, ns since the first was begun.
    pub at_ns: u64,
    /// The counts, if counting was possible.
    pub counts: Option<Snapshot>,
    /// The source of the counts.
    pub source: Option<CountedBy>,
    /// The machine's own counters.
    pub meters: Meters,
    /// The CPUs that were offline at some time: their figures are not valid.
    pub offline: CpuList,
    /// The things that are not counted here, and their needs.
    pub missing: Vec<Missing>,
    /// The end of the command.
    pub finished: Option<Finished>,
    /// True if the user ended it.
    pub stopped: bool,
    /// The counts of each of several runs, for the spread.
    pub runs: Vec<Snapshot>,
    /// The longest interruptions, if requested and known.
    pub longest: Option<Longest>,
    /// The calls of functions that were named.
    pub calls: Option<TimedCalls>,
    /// The time of the command's threads, if it is known.
    pub command_time: Option<CommandTime>,
    /// True if the kernel is known not to throttle real-time tasks.
    pub no_real_time_limit: bool,
    /// The energy of the processor packages and their parts, if requested and counted.
    pub power: Option<Vec<Power>>,
}

/// The source of counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountedBy {
    /// eBPF programs.
    Bpf,
    /// Trace events.
    Tracefs {
        /// The reason against eBPF programs; none if trace events were requested.
        because: Option<String>,
    },
}

impl CountedBy {
    pub(crate) fn of(source: &Source) -> Self {
        match source {
            Source::Bpf(_) => Self::Bpf,
            Source::Tracefs(_, because) => {
                Self::Tracefs { because: because.as_ref().map(ToString::to_string) }
            }
        }
    }

    /// The name by which users choose it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
            Self::Tracefs { .. } => "tracefs",
        }
    }
}

impl Measured {
    /// This measurement and another one together.
    pub fn with(mut self, other: Measured) -> Self {
        if self.runs.is_empty() {
            self.runs.extend(self.counts.clone());
        }
        self.runs.extend(other.counts.clone());
        if let (Some(sum), Some(more)) = (&mut self.counts, &other.counts) {
            sum.add(more);
        }
        if let (Some(all), Some(more)) = (&mut self.longest, other.longest) {
            all.add(more);
        }
        if let (Some(all), Some(more)) = (&mut self.calls, &other.calls) {
            all.add(more);
        }
        if let (Some(all), Some(more)) = (&mut self.command_time, &other.command_time) {
            all.add(more);
        }
        if let (Some(all), Some(more)) = (&mut self.power, &other.power) {
            add_power(all, more);
        }
        self.meters.add(&other.meters);
        self.ns += other.ns;
        self.offline = self.offline.union(&other.offline);
        self.finished = other.finished;
        self.stopped = other.stopped;
        self
    }

    /// The time for which one CPU was measured, s.
    pub fn seconds(&self) -> f64 {
        self.ns as f64 / dyntick_model::NANOS_PER_SEC as f64
    }

    /// The CPU time of a command that ran elsewhere: less than a tenth of it on the CPUs that were measured, ns.
    /// `None` if it used less than a tenth of the time, as `sleep` does, or 10 ms, or if that is not known.
    pub fn elsewhere_ns(&self) -> Option<u64> {
        const FEW_NS: u64 = 10_000_000;
        let counts = self.counts.as_ref().filter(|_| self.with_slices)?;
        let ran = (WaitKind::Ran, None);
        let all = self.command_time.as_ref()?.waited.sums.get(&ran).map_or(0, |sum| sum.ns);
        let here: u64 = counts.cpus.values().map(|cpu| CpuTime::of(cpu, self.ns).command_ns).sum();
        (here < all / 10 && all > (self.ns / 10).max(FEW_NS)).then_some(all)
    }

    /// The number of runs.
    pub fn repeats(&self) -> usize {
        self.runs.len().max(1)
    }
}

/// Adds the energy of another run.
fn add_power(all: &mut Vec<Power>, more: &[Power]) {
    for zone in more {
        match all.iter_mut().find(|one| (&one.name, &one.part_of) == (&zone.name, &zone.part_of)) {
            Some(sum) => {
                sum.microjoules = sum.microjoules.saturating_add(zone.microjoules);
                sum.ns += zone.ns;
            }
            None => all.push(zone.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_of_runs_adds_up() {
        let zone = |name: &str, part_of: Option<&str>, microjoules| Power {
            name: name.to_owned(),
            part_of: part_of.map(str::to_owned),
            microjoules,
            ns: 2_000_000_000,
        };
        let zones = vec![
            zone("package-0", None, 24_690_000),
            zone("core", Some("package-0"), 8_000_000),
            zone("psys", None, 60_000_000),
        ];
        let mut sum = zones.clone();
        add_power(&mut sum, &zones[1..]);
        let used: Vec<u64> = sum.iter().map(|zone| zone.microjoules).collect();
        assert_eq!(used, [24_690_000, 16_000_000, 120_000_000]);
        assert_eq!(sum[1].watts(), zones[1].watts(), "the mean over both");
    }
}
