// SPDX-License-Identifier: GPL-2.0-only
//! What the screen shows of one interval: plain figures, made from what `stat` measures.

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
    /// As the kernel names it: `package-0`, `psys`.
    pub name: String,
    /// Watts.
    pub watts: f64,
}

/// One interval.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Sample {
    /// How long it was, s.
    pub seconds: f64,
    /// The CPUs, by number.
    pub cpus: Vec<Cpu>,
    /// Mean power of each processor package, where it is measured.
    pub power: Vec<Power>,
    /// By what was counted: `bpf` or `tracefs`; none where nothing was.
    pub source: Option<&'static str>,
    /// Of trace events: that they are it, why, and what that costs.
    pub source_note: Option<String>,
    /// Events of the interval that could not be counted.
    pub lost: Lost,
    /// What cannot be told, and what it needs.
    pub missing: Vec<Missing>,
    /// The CPUs that were offline meanwhile: their figures do not hold.
    pub offline: CpuList,
}

/// One CPU in that interval.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// What it is set aside for.
    pub role: Role,
    /// Ticks per second; none without counters.
    pub ticks_per_s: Option<f64>,
    /// Local timer interrupts (LOC): ticks and other timers.
    pub local_timer_per_s: f64,
    /// Why the tick was kept, the most frequent reason; known of `nohz_full` CPUs only.
    pub tick_kept: Option<TickDependency>,
    /// Interruptions per second ([`Class::Interruption`]); without counters, the interrupts of `/proc/interrupts`.
    pub interruptions_per_s: f64,
    /// Page faults per second, which are no interruptions; none without counters.
    pub page_faults_per_s: Option<f64>,
    /// The share of the time that interruptions took, of 1; unknown without counters.
    pub interrupted: Option<f64>,
    /// The share that user tasks took, dyntick's own among them, of 1; unknown without counters.
    pub user_tasks: Option<f64>,
    /// The share that no counted event accounts for, of 1; unknown without counters.
    pub uncounted: Option<f64>,
    /// The share of that time whose origin no rule names, of 1.
    pub unattributed: Option<f64>,
    /// The share of the time that was idle, of 1; without counters by `/proc/stat`. With counters this, `interrupted`,
    /// `user_tasks` and `uncounted` add up to 1.
    pub idle: f64,
    /// The share that the hypervisor took, of 1.
    pub steal: f64,
    /// System management interrupts per second, where they are counted.
    pub smis_per_s: Option<f64>,
    /// The idle states, the shallowest first.
    pub idle_states: Vec<IdleState>,
    /// What interrupted, what took the most time first, each with its parts after it; then what is no interruption:
    /// page faults, and the user tasks that ran. Which of those is the one that is to run here, only the user knows.
    pub causes: Vec<Cause>,
}

/// What a CPU is set aside for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Nothing: it does all that comes.
    #[default]
    Housekeeping,
    /// Outside of load balancing.
    Isolated,
    /// It stops its tick while one task runs.
    NohzFull,
    /// Both.
    IsolatedNohzFull,
}

/// An idle state of a CPU.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// The share of the time spent in it, of 1.
    pub share: f64,
    /// Entries per second.
    pub per_s: f64,
    /// Of them those that were too deep, per second.
    pub above_per_s: f64,
    /// Of them those that were too shallow, per second.
    pub below_per_s: f64,
}

/// Something that interrupted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cause {
    /// As in a table.
    pub name: String,
    /// Whether it is a part of the one before that is not.
    pub is_part: bool,
    /// How often per second.
    pub per_s: f64,
    /// The share of the time that it took, of 1; none where it has no duration.
    pub share: Option<f64>,
    /// Its mean duration, ns.
    pub mean_ns: Option<f64>,
    /// What it is, in words.
    pub meaning: Option<&'static str>,
    /// What removes it on this kernel.
    pub fix: Option<Fix>,
}

impl Cpu {
    /// Ticks a second; where nothing is counted, local timer interrupts.
    pub fn ticks(&self) -> f64 {
        self.ticks_per_s.unwrap_or(self.local_timer_per_s)
    }
}

impl Role {
    /// Of a CPU on this machine.
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
    /// What [`Cpu::ticks`] are called.
    pub fn ticks_heading(&self) -> &'static str {
        if self.source.is_some() { "ticks/s" } else { "LOC/s" }
    }

    /// From a measurement of one interval.
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

/// What turns counts into rates and shares.
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
        let cause = row.cause.as_ref().filter(|_| !row.is_user_tasks());
        let (meaning, fix) = self.words(cause, row.irq());
        Cause {
            name: labels::of(&row.what),
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

    /// Without counters: the rows of `/proc/interrupts`, the most frequent first.
    fn uncounted(&self, meters: &CpuMeters) -> Vec<Cause> {
        let mut rows: Vec<_> = meters.interrupts.iter().collect();
        rows.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let cause = |(name, count): (&String, &u64)| Cause {
            name: format!("interrupt {name}"),
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
