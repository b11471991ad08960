// SPDX-License-Identifier: GPL-2.0-only
//! The figures of `dyntick top` of one interval, made from a measurement.

use crate::adviser::Adviser;
use crate::labels;
use dyntick_count::{Class, CpuCounts, Measured, Row, per_cpu, rule};
use dyntick_explain::CauseId;
use dyntick_model::{CpuList, Fix, NANOS_PER_SEC, TickDependency};
use dyntick_observe::facts::Cpus;
use dyntick_observe::live::{CpuMeters, Lost, Missing};
use schemars::JsonSchema;
use serde::Serialize;

/// The mean power of a processor package, or of the platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Power {
    /// The kernel's name: `package-0`, `psys`.
    pub name: String,
    /// The power, W.
    pub watts: f64,
}

/// One interval.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Sample {
    /// The length, s.
    pub seconds: f64,
    /// The CPUs, by number.
    pub cpus: Vec<Cpu>,
    /// The mean power of each processor package, if measured.
    pub power: Vec<Power>,
    /// The source of the counts: `bpf` or `tracefs`; null if nothing was counted.
    pub source: Option<&'static str>,
    /// A note about counting from trace events: the reason, and the cost.
    pub source_note: Option<String>,
    /// The events of the interval that could not be counted.
    pub lost: Lost,
    /// The counters that are not available, and what they need.
    pub missing: Vec<Missing>,
    /// The CPUs that were offline meanwhile: their figures do not hold.
    pub offline: CpuList,
}

/// One CPU in that interval.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Cpu {
    /// The CPU number.
    pub cpu: u32,
    /// The isolation of the CPU.
    pub role: Role,
    /// The ticks per second; null without counters.
    pub ticks_per_s: Option<f64>,
    /// The local timer interrupts (LOC) per second: ticks and other timers.
    pub local_timer_per_s: f64,
    /// The most frequent reason for a kept tick; known only for `nohz_full` CPUs.
    pub tick_kept: Option<TickDependency>,
    /// The interruptions per second ([`Class::Interruption`]); without counters, the interrupts of `/proc/interrupts`.
    pub interruptions_per_s: f64,
    /// The page faults per second, which are not interruptions; null without counters.
    pub page_faults_per_s: Option<f64>,
    /// The share of the time in interruptions, from 0 to 1; null without counters.
    pub interrupted: Option<f64>,
    /// The share of the time in user tasks, dyntick's own included, from 0 to 1; null without counters.
    pub user_tasks: Option<f64>,
    /// The share of the time that no counted event accounts for, from 0 to 1; null without counters.
    pub uncounted: Option<f64>,
    /// The share of the time in interruptions whose cause no rule names, from 0 to 1.
    pub unattributed: Option<f64>,
    /// The share of idle time, from 0 to 1; without counters, from `/proc/stat`. With counters this, `interrupted`,
    /// `user_tasks` and `uncounted` add up to 1.
    pub idle: f64,
    /// The share of the time that the hypervisor took, from 0 to 1.
    pub steal: f64,
    /// The system management interrupts per second, if counted.
    pub smis_per_s: Option<f64>,
    /// The idle states, the shallowest first.
    pub idle_states: Vec<IdleState>,
    /// The causes of interruptions, by their time, each followed by its parts. Page faults and user tasks, which are
    /// not interruptions, come last: only the user knows which task is to run here.
    pub causes: Vec<Cause>,
}

/// The isolation of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// None: the CPU runs everything.
    #[default]
    Housekeeping,
    /// The CPU is outside load balancing.
    Isolated,
    /// The CPU stops its tick while one task runs.
    NohzFull,
    /// Both.
    IsolatedNohzFull,
}

/// An idle state of a CPU.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// The share of the time in the state, from 0 to 1.
    pub share: f64,
    /// Entries per second.
    pub per_s: f64,
    /// The entries that were too deep, per second.
    pub above_per_s: f64,
    /// The entries that were too shallow, per second.
    pub below_per_s: f64,
}

/// A cause of interruptions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cause {
    /// The name, as in a table.
    pub name: String,
    /// The name of its cause, as in a limit; null for a sum of several.
    pub cause: Option<String>,
    /// True if it is a part of the last cause before it that is not.
    pub is_part: bool,
    /// The occurrences per second.
    pub per_s: f64,
    /// The share of the time, from 0 to 1; null if it has no duration.
    pub share: Option<f64>,
    /// The mean duration, ns.
    pub mean_ns: Option<f64>,
    /// The meaning, in words.
    pub meaning: Option<&'static str>,
    /// The fix on this kernel.
    pub fix: Option<Fix>,
}

impl Cpu {
    /// The ticks per second; if nothing is counted, the local timer interrupts.
    pub fn ticks(&self) -> f64 {
        self.ticks_per_s.unwrap_or(self.local_timer_per_s)
    }
}

impl Role {
    /// The isolation of a CPU on this machine.
    pub fn of(cpu: u32, cpus: &Cpus) -> Self {
        match (cpus.isolated.contains(cpu), cpus.nohz_full.contains(cpu)) {
            (false, false) => Role::Housekeeping,
            (true, false) => Role::Isolated,
            (false, true) => Role::NohzFull,
            (true, true) => Role::IsolatedNohzFull,
        }
    }
}

impl Sample {
    /// The heading for [`Cpu::ticks`].
    pub fn ticks_heading(&self) -> &'static str {
        if self.source.is_some() { "ticks/s" } else { "LOC/s" }
    }

    /// Converts a measurement of one interval.
    pub fn of(measured: &Measured, power: Vec<Power>, adviser: &Adviser) -> Self {
        let counts = per_cpu(measured);
        let counted = measured.counts.is_some();
        let cpu = |(number, counts): (u32, &CpuCounts)| {
            let role = Role::of(number, &adviser.cpus);
            let figures = Figures { seconds: measured.seconds(), counted, adviser, number };
            figures.cpu(number, role, counts)
        };
        Sample {
            seconds: measured.seconds(),
            cpus: measured.cpus.iter().zip(&counts).map(cpu).collect(),
            power,
            source: measured.source.as_ref().map(|source| source.name()),
            source_note: measured.source.as_ref().and_then(labels::note),
            lost: measured.counts.as_ref().map(|counts| counts.lost).unwrap_or_default(),
            missing: measured.missing.clone(),
            offline: measured.offline.clone(),
        }
    }
}

/// The conversion of counts to rates and shares.
struct Figures<'a> {
    seconds: f64,
    counted: bool,
    adviser: &'a Adviser,
    /// The CPU.
    number: u32,
}

impl Figures<'_> {
    fn cpu(&self, cpu: u32, role: Role, counts: &CpuCounts) -> Cpu {
        let (meters, time) = (&counts.meters, counts.time);
        let counted = |value: f64| self.counted.then_some(value);
        let local_timer = meters.interrupts.get("LOC").copied().unwrap_or(0);
        let by_row = meters.interrupts.values().sum();
        Cpu {
            cpu,
            role,
            ticks_per_s: counted(self.rate(counts.ticks)),
            local_timer_per_s: self.rate(local_timer),
            tick_kept: counts.kept.first().map(|(dependency, _)| *dependency),
            interruptions_per_s: self.rate(if self.counted { counts.interruptions() } else { by_row }),
            page_faults_per_s: counted(self.rate(counts.page_faults())),
            interrupted: counted(time.share(time.interruptions_ns)),
            user_tasks: counted(time.share(time.user_tasks_ns())),
            uncounted: counted(time.share(time.uncounted_ns)),
            unattributed: counted(counts.unattributed_ns as f64 / time.interruptions_ns.max(1) as f64),
            idle: counted(time.share(time.idle_ns)).unwrap_or_else(|| idle(meters)),
            steal: self.share(meters.times.steal_ns),
            smis_per_s: meters.smis.map(|smis| self.rate(smis)),
            idle_states: self.idle_states(meters),
            causes: if self.counted { self.causes(counts) } else { self.uncounted(meters) },
        }
    }

    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }

    fn share(&self, ns: u64) -> f64 {
        ns as f64 / NANOS_PER_SEC as f64 / self.seconds
    }

    fn idle_states(&self, meters: &CpuMeters) -> Vec<IdleState> {
        let state = |state: &dyntick_observe::live::IdleState| IdleState {
            name: state.name.clone(),
            share: self.share(state.time_us * 1000),
            per_s: self.rate(state.usage),
            above_per_s: self.rate(state.above),
            below_per_s: self.rate(state.below),
        };
        meters.idle.iter().map(state).collect()
    }

    fn causes(&self, counts: &CpuCounts) -> Vec<Cause> {
        let mut causes = Vec::new();
        let classes = [Some(Class::Interruption), None, Some(Class::PageFaults), Some(Class::UserTasks)];
        for group in
            classes.into_iter().flat_map(|class| counts.groups.iter().filter(move |g| g.class() == class))
        {
            causes.push(self.cause(&group.row, false));
            causes.extend(group.parts.iter().map(|part| self.cause(part, true)));
        }
        causes
    }

    fn cause(&self, row: &Row, is_part: bool) -> Cause {
        let cause = self.adviser.cause_of(row).filter(|_| !row.is_user_tasks());
        let (meaning, fix) = self.words(cause.as_ref(), row.irq());
        Cause {
            name: labels::of(&row.what),
            cause: cause.map(|cause| cause.to_string()),
            is_part,
            per_s: self.rate(row.count.count),
            share: (!row.is_counted_only()).then(|| self.share(row.count.ns)),
            mean_ns: row.count.mean_ns().filter(|_| !row.is_counted_only()),
            meaning,
            fix,
        }
    }

    fn words(&self, cause: Option<&CauseId>, irq: Option<u32>) -> (Option<&'static str>, Option<Fix>) {
        let Some(rule) = cause.map(rule) else { return (None, None) };
        let fixes = self.adviser.fixes(rule, self.number, &CpuList::from_iter([self.number]), irq);
        (Some(rule.title), fixes.into_iter().next())
    }

    /// The rows of `/proc/interrupts`, if there are no counters; the most frequent first.
    fn uncounted(&self, meters: &CpuMeters) -> Vec<Cause> {
        let mut rows: Vec<_> = meters.interrupts.iter().collect();
        rows.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let cause = |(name, count): (&String, &u64)| Cause {
            name: format!("interrupt {name}"),
            cause: None,
            is_part: false,
            per_s: self.rate(*count),
            share: None,
            mean_ns: None,
            meaning: None,
            fix: None,
        };
        rows.into_iter().map(cause).collect()
    }
}

/// The share of the accounted time that was idle; its resolution is 10 ms.
fn idle(meters: &CpuMeters) -> f64 {
    let times = meters.times;
    let all = times.user_ns + times.system_ns + times.idle_ns + times.interrupts_ns + times.steal_ns;
    times.idle_ns as f64 / all.max(1) as f64
}
