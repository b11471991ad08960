// SPDX-License-Identifier: GPL-2.0-only
//! The counts of one CPU, or of several together, in the order in which they are read.

use super::measure::Measured;
use crate::causes;
use dyntick_explain::CauseId;
use dyntick_model::{Softirq, TickDependency};
use dyntick_observe::live::{Count, CpuMeters, Key, Snapshot, VectorKey};
use std::collections::BTreeMap;

/// One CPU, or several together.
pub struct Told {
    /// As `CPU 3`.
    pub name: String,
    /// How much CPU time was looked at, ns.
    pub ns: u64,
    /// What interrupted it: each whole with its parts below it, the longest first.
    pub wholes: Vec<Whole>,
    /// Time in interruptions, ns.
    pub interrupted_ns: u64,
    /// That of it whose cause no rule names, ns.
    pub unattributed_ns: u64,
    /// Turns of the command's tasks, of dyntick's and of the idle task, ns.
    pub command_ns: u64,
    #[allow(missing_docs)]
    pub observer_ns: u64,
    #[allow(missing_docs)]
    pub idle_ns: u64,
    /// Ticks.
    pub ticks: u64,
    /// How often the tick was stopped.
    pub stopped: u64,
    /// How often it was kept, and why; the most frequent first.
    pub kept: Vec<(TickDependency, u64)>,
    /// The machine's own counters.
    pub meters: CpuMeters,
}

/// Something with its parts.
pub struct Whole {
    /// The whole.
    pub row: Row,
    /// Its parts.
    pub parts: Vec<Row>,
}

/// What is told in one line.
#[derive(Clone)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// Its cause, where it has one.
    pub cause: Option<CauseId>,
    /// Time of it whose origin no rule names, ns.
    pub unattributed_ns: u64,
    /// Whether it has durations at all.
    pub counted_only: bool,
    /// All that is in it.
    pub count: Count,
    /// Of several runs: the standard deviation of its count, as a share of the mean.
    pub spread: Option<f64>,
    keys: Vec<Key>,
}

impl Row {
    /// Whether it tells of user tasks.
    pub fn is_task(&self) -> bool {
        self.keys.iter().any(|key| matches!(key, Key::Task { .. }))
    }
}

/// Where a key goes. Wholes of the same name are one.
enum Place {
    Whole(String),
    Part(String, String),
    Elsewhere,
}

const CALLS: &str = "function call interrupts (CAL)";
const KERNEL_THREADS: &str = "kernel threads";
const OTHER_TASKS: &str = "other tasks";

/// The measured CPUs, each alone or all together.
pub fn told(measured: &Measured, together: bool) -> Vec<Told> {
    let none = BTreeMap::new();
    let counts =
        |cpu: u32| measured.counts.as_ref().and_then(|counts| counts.cpus.get(&cpu)).unwrap_or(&none);
    let meters = |cpu: u32| measured.meters.cpus.get(&cpu).cloned().unwrap_or_default();
    if !together {
        let one = |cpu: u32| cpu_told(measured, format!("CPU {cpu}"), 1, counts(cpu), meters(cpu), Some(cpu));
        return measured.cpus.iter().map(one).collect();
    }
    let mut sum: BTreeMap<Key, Count> = BTreeMap::new();
    let mut all = CpuMeters::default();
    for cpu in measured.cpus.iter() {
        counts(cpu).iter().for_each(|(key, count)| sum.entry(key.clone()).or_default().add(count));
        all.add(&meters(cpu));
    }
    let number = measured.cpus.len() as u64;
    vec![cpu_told(measured, format!("CPUs {} together", measured.cpus), number, &sum, all, None)]
}

fn cpu_told(
    measured: &Measured,
    name: String,
    cpus: u64,
    counts: &BTreeMap<Key, Count>,
    meters: CpuMeters,
    cpu: Option<u32>,
) -> Told {
    let times = |wanted: &dyn Fn(&Key) -> bool| -> u64 {
        counts.iter().filter(|(key, _)| wanted(key)).map(|(_, count)| count.count).sum()
    };
    let ns = |wanted: &dyn Fn(&Key) -> bool| -> u64 {
        counts.iter().filter(|(key, _)| wanted(key)).map(|(_, count)| count.ns).sum()
    };
    let mut wholes = grouped(measured, counts);
    for whole in &mut wholes {
        if whole.row.name == CALLS {
            attribute_calls(whole);
        }
        whole.row.spread = spread(measured, &whole.row, cpu);
        for part in &mut whole.parts {
            part.spread = spread(measured, part, cpu);
        }
    }
    let mut kept: Vec<(TickDependency, u64)> = counts
        .iter()
        .filter_map(|(key, count)| match key {
            Key::TickKept { dependency } => Some((*dependency, count.count)),
            _ => None,
        })
        .collect();
    kept.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Told {
        name,
        ns: measured.ns * cpus,
        interrupted_ns: wholes.iter().map(|whole| whole.row.count.ns).sum(),
        unattributed_ns: wholes.iter().map(|whole| whole.row.unattributed_ns).sum(),
        command_ns: ns(&|key| measured.is_own(key)),
        observer_ns: ns(&|key| measured.is_observer(key)),
        idle_ns: ns(&|key| *key == Key::Idle),
        ticks: times(&|key| *key == Key::Tick { stopped: false }),
        stopped: times(&|key| *key == Key::TickStopped),
        wholes,
        kept,
        meters,
    }
}

fn grouped(measured: &Measured, counts: &BTreeMap<Key, Count>) -> Vec<Whole> {
    let mut rows: BTreeMap<(String, Option<String>), Row> = BTreeMap::new();
    for (key, count) in counts {
        let place = match measured.is_own(key) || measured.is_observer(key) {
            true => Place::Elsewhere,
            false => place(key),
        };
        let (whole, part) = match place {
            Place::Whole(whole) => (whole, None),
            Place::Part(whole, part) => (whole, Some(part)),
            Place::Elsewhere => continue,
        };
        let sums_up = matches!(key, Key::KernelThread { .. } | Key::Task { .. });
        if sums_up {
            add(&mut rows, (whole.clone(), None), key, count);
        }
        add(&mut rows, (whole, part), key, count);
    }
    let mut wholes: BTreeMap<String, Whole> = BTreeMap::new();
    // A whole comes before its parts, as None comes before Some.
    for ((name, part), row) in rows {
        match (part, wholes.get_mut(&name)) {
            (Some(_), Some(whole)) => whole.parts.push(row),
            // Parts whose whole was not asked for stand for themselves.
            (part, None) => {
                wholes.insert(part.unwrap_or(name), Whole { row, parts: Vec::new() });
            }
            (None, Some(_)) => {}
        }
    }
    let mut wholes: Vec<Whole> = wholes.into_values().collect();
    let order = |row: &Row| std::cmp::Reverse((row.count.ns, row.count.count));
    wholes.sort_by_key(|whole| order(&whole.row));
    wholes.iter_mut().for_each(|whole| whole.parts.sort_by_key(order));
    wholes
}

fn add(
    rows: &mut BTreeMap<(String, Option<String>), Row>,
    place: (String, Option<String>),
    key: &Key,
    count: &Count,
) {
    let name = place.1.as_ref().unwrap_or(&place.0).clone();
    let cause = causes::cause(key);
    let names_origin = cause.as_ref().and_then(causes::rule).is_none_or(|rule| rule.names_origin);
    let row = rows.entry(place).or_insert_with(|| Row {
        name,
        cause,
        unattributed_ns: 0,
        counted_only: matches!(key, Key::PageFault { .. }),
        count: Count::default(),
        spread: None,
        keys: Vec::new(),
    });
    row.count.add(count);
    row.unattributed_ns += if names_origin { 0 } else { count.ns };
    row.keys.push(key.clone());
}

/// Of the function calls from other CPUs those are attributed whose function was told; the others are the
/// scheduler's own requests and irq_work, which have no event.
fn attribute_calls(whole: &mut Whole) {
    let told: u64 = whole.parts.iter().map(|part| part.count.count).sum();
    let all = whole.row.count.count.max(told);
    if told > 0 {
        whole.row.cause = Some(CauseId::class("function-call"));
        let share = (all - told) as f64 / all as f64;
        whole.row.unattributed_ns = (whole.row.count.ns as f64 * share) as u64;
    }
}

/// What the row is called that counts this.
pub fn name(key: &Key) -> String {
    match place(key) {
        Place::Whole(name) | Place::Part(_, name) => name,
        Place::Elsewhere => causes::name(key),
    }
}

fn place(key: &Key) -> Place {
    let name = causes::name(key);
    let vector = |vector| causes::name(&Key::Vector { vector });
    let part = |whole: &str| Place::Part(whole.to_owned(), name.clone());
    match key {
        Key::Vector { vector: VectorKey::CallFunction | VectorKey::CallFunctionSingle } => {
            Place::Whole(CALLS.to_owned())
        }
        Key::Tick { .. } | Key::Hrtimer { .. } | Key::EmptyTimer => part(&vector(VectorKey::LocalTimer)),
        Key::Called { .. } => part(CALLS),
        Key::Timer { .. } => part(&causes::name(&Key::Softirq { softirq: Softirq::Timer })),
        Key::Work { .. } | Key::KernelThread { .. } => part(KERNEL_THREADS),
        Key::Task { .. } => part(OTHER_TASKS),
        Key::Idle | Key::TickStopped | Key::TickKept { .. } => Place::Elsewhere,
        Key::Vector { .. }
        | Key::Device { .. }
        | Key::Softirq { .. }
        | Key::PageFault { .. }
        | Key::Nmi { .. }
        | Key::Unnamed { .. } => Place::Whole(name),
    }
}

/// How far the runs differ in the count of a row.
fn spread(measured: &Measured, row: &Row, cpu: Option<u32>) -> Option<f64> {
    let in_run = |run: &Snapshot| -> f64 {
        let cpus = run.cpus.iter().filter(|(number, _)| cpu.is_none_or(|cpu| cpu == **number));
        let counts = cpus.flat_map(|(_, counts)| row.keys.iter().filter_map(|key| counts.get(key)));
        counts.map(|count| count.count as f64).sum()
    };
    let counts: Vec<f64> = measured.runs.iter().map(in_run).collect();
    let summary = dyntick_stats::Summary::of(&counts).filter(|summary| summary.count > 1)?;
    (summary.mean > 0.0).then_some(summary.deviation / summary.mean)
}
