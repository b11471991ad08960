// SPDX-License-Identifier: GPL-2.0-only
//! The counts of one CPU, or of several together, in the order in which they are read.

use crate::{Class, CountedAs, CpuTime, Group, Measured, Part, What, cause, rule};
use dyntick_explain::CauseId;
use dyntick_explain::rules::named::FUNCTION_CALL;
use dyntick_model::{CpuList, TickDependency};
use dyntick_observe::live::{Count, CpuMeters, Key, Snapshot};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The counts of one CPU, or of several together.
pub struct CpuCounts {
    /// The CPUs.
    pub cpus: CpuList,
    /// The use of their time.
    pub time: CpuTime,
    /// The counts, each group with its parts below it, the longest first. User tasks are those of others
    /// than the command and dyntick.
    pub groups: Vec<GroupRows>,
    /// Time in interruptions whose cause no rule names, ns.
    pub unattributed_ns: u64,
    /// Ticks.
    pub ticks: u64,
    /// The number of times that the tick was stopped.
    pub stopped: u64,
    /// The number of times that it was kept, by reason; the most frequent first.
    pub kept: Vec<(TickDependency, u64)>,
    /// The machine's own counters.
    pub meters: CpuMeters,
}

/// A group with its parts. If only parts of a group are counted, each is its own group.
pub struct GroupRows {
    /// The group.
    pub row: Row,
    /// Its parts.
    pub parts: Vec<Row>,
}

/// The contents of one line.
#[derive(Clone)]
pub struct Row {
    /// The subject.
    pub what: What,
    /// Its cause, where it has one.
    pub cause: Option<CauseId>,
    /// Time of it whose origin no rule names, ns.
    pub unattributed_ns: u64,
    /// All that is in it.
    pub count: Count,
    /// The standard deviation of its count over several runs, as a share of the mean.
    pub spread: Option<f64>,
    keys: Vec<Key>,
}

/// Each measured CPU.
pub fn per_cpu(measured: &Measured) -> Vec<CpuCounts> {
    measured.cpus.iter().map(|cpu| of_cpus(measured, CpuList::from_iter([cpu]))).collect()
}

/// All measured CPUs together.
pub fn together(measured: &Measured) -> CpuCounts {
    of_cpus(measured, measured.cpus.clone())
}

impl CpuCounts {
    /// The groups of one class.
    pub fn of_class(&self, class: Class) -> impl Iterator<Item = &GroupRows> {
        self.groups.iter().filter(move |rows| rows.class() == Some(class))
    }

    /// Returns the number of interruptions.
    pub fn interruptions(&self) -> u64 {
        self.of_class(Class::Interruption).map(|rows| rows.row.count.count).sum()
    }

    /// Returns the number of page faults.
    pub fn page_faults(&self) -> u64 {
        self.of_class(Class::PageFaults).map(|rows| rows.row.count.count).sum()
    }

    /// Returns true if tasks ran that are neither the command's nor dyntick's, threads of the kernel among them.
    pub fn had_other_tasks(&self) -> bool {
        let is_task = |key: &Key| matches!(key, Key::Task { .. } | Key::KernelThread { .. });
        self.groups.iter().flat_map(GroupRows::rows).flat_map(|row| &row.keys).any(is_task)
    }
}

impl GroupRows {
    /// Returns the class of the group; none for a part that is its own group.
    pub fn class(&self) -> Option<Class> {
        match &self.row.what {
            What::Group(group) => Some(group.class()),
            What::Part(_) => None,
        }
    }

    /// The group's row, and those of its parts.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        std::iter::once(&self.row).chain(&self.parts)
    }
}

impl Row {
    /// Returns true if it has no durations at all.
    pub fn is_counted_only(&self) -> bool {
        matches!(self.what, What::Group(Group::PageFaults { .. }))
    }

    /// Returns true if none of it began in the window: what is in its time began before.
    pub fn began_before(&self) -> bool {
        self.count.count == 0 && self.count.ns > 0
    }

    /// The interrupt line, of a device.
    pub fn irq(&self) -> Option<u32> {
        match &self.what {
            What::Group(Group::Device(irq, _)) => Some(*irq),
            _ => None,
        }
    }

    /// Returns true if it is about periodic ticks.
    pub fn is_tick(&self) -> bool {
        matches!(self.what, What::Part(Part::Tick { stopped: false }))
    }

    /// Returns true if it is about user tasks.
    pub fn is_user_tasks(&self) -> bool {
        matches!(self.what, What::Group(Group::UserTasks) | What::Part(Part::Task(_) | Part::OtherTasks))
    }

    fn new(what: What) -> Self {
        Self {
            what,
            cause: None,
            unattributed_ns: 0,
            count: Count::default(),
            spread: None,
            keys: Vec::new(),
        }
    }

    fn add(&mut self, key: &Key, count: &Count) {
        let cause = cause(key);
        let names_origin = cause.as_ref().is_none_or(|cause| rule(cause).names_origin);
        if self.keys.is_empty() {
            self.cause = cause;
        }
        self.count.add(count);
        self.unattributed_ns = self.unattributed_ns.saturating_add(if names_origin { 0 } else { count.ns });
        self.keys.push(key.clone());
    }
}

fn of_cpus(measured: &Measured, cpus: CpuList) -> CpuCounts {
    let none = BTreeMap::new();
    let mut sum: BTreeMap<Key, Count> = BTreeMap::new();
    let mut meters = CpuMeters::default();
    let mut time = CpuTime::default();
    for cpu in cpus.iter() {
        let counts = measured.counts.as_ref().and_then(|counts| counts.cpus.get(&cpu)).unwrap_or(&none);
        counts.iter().for_each(|(key, count)| sum.entry(key.clone()).or_default().add(count));
        measured.meters.cpus.get(&cpu).into_iter().for_each(|more| meters.add(more));
        let mut own = CpuTime::of(counts, measured.ns);
        let kernels = measured.meters.cpus.get(&cpu).map(|meters| meters.times).unwrap_or_default();
        let was_idle = kernels.idle_ns > kernels.user_ns + kernels.system_ns + kernels.steal_ns;
        if measured.with_slices && was_idle && !counts.keys().any(is_slice) {
            own.count_rest_as_idle();
        }
        time.add(&own);
    }
    let mut groups = grouped(&sum);
    for row in groups.iter_mut().flat_map(|rows| std::iter::once(&mut rows.row).chain(&mut rows.parts)) {
        row.spread = spread(measured, row, &cpus);
    }
    let of = |key: &Key| sum.get(key).map_or(0, |count| count.count);
    let interruptions = groups.iter().filter(|rows| rows.class() == Some(Class::Interruption));
    CpuCounts {
        unattributed_ns: interruptions.map(|rows| rows.row.unattributed_ns).sum(),
        ticks: of(&Key::Tick { stopped: false }),
        stopped: of(&Key::TickStopped),
        kept: kept(&sum),
        cpus,
        time,
        groups,
        meters,
    }
}

/// Returns true if it counts time slices, which begin with a task switch.
fn is_slice(key: &Key) -> bool {
    matches!(key, Key::Idle | Key::Task { .. } | Key::KernelThread { .. })
}

/// Returns the reasons for keeping the tick, the most frequent first.
fn kept(counts: &BTreeMap<Key, Count>) -> Vec<(TickDependency, u64)> {
    let reason = |(key, count): (&Key, &Count)| match key {
        Key::TickKept { dependency } => Some((*dependency, count.count)),
        _ => None,
    };
    let mut kept: Vec<(TickDependency, u64)> = counts.iter().filter_map(reason).collect();
    kept.sort_by_key(|(_, count)| Reverse(*count));
    kept
}

fn grouped(counts: &BTreeMap<Key, Count>) -> Vec<GroupRows> {
    let mut groups: BTreeMap<Group, Row> = BTreeMap::new();
    let mut parts: BTreeMap<(Group, Part), Row> = BTreeMap::new();
    for (key, count) in counts.iter().filter(|(key, _)| !key.is_own_task()) {
        let (group, part, adds) = match CountedAs::of(key) {
            CountedAs::Group(group) => (group, None, true),
            CountedAs::Within(group, part) => (group, Some(part), false),
            CountedAs::AddsTo(group, part) => (group, Some(part), true),
            CountedAs::Nothing => continue,
        };
        if adds {
            let new = || Row::new(What::Group(group.clone()));
            groups.entry(group.clone()).or_insert_with(new).add(key, count);
        }
        if let Some(part) = part {
            let new = || Row::new(What::Part(part.clone()));
            parts.entry((group, part.clone())).or_insert_with(new).add(key, count);
        }
    }
    let mut all: BTreeMap<Group, GroupRows> =
        groups.into_iter().map(|(group, row)| (group, GroupRows { row, parts: Vec::new() })).collect();
    let mut alone = Vec::new();
    for ((group, _), row) in parts {
        match all.get_mut(&group) {
            Some(rows) => rows.parts.push(row),
            None => alone.push(GroupRows { row, parts: Vec::new() }),
        }
    }
    if let Some(calls) = all.get_mut(&Group::FunctionCalls) {
        attribute_calls(calls);
    }
    let mut groups: Vec<GroupRows> = all.into_values().chain(alone).collect();
    let order = |row: &Row| Reverse((row.count.ns, row.count.count));
    groups.sort_by_key(|rows| order(&rows.row));
    groups.iter_mut().for_each(|rows| rows.parts.sort_by_key(order));
    groups
}

/// Attributes the function calls from other CPUs whose function was reported. The others are the scheduler's own
/// requests and irq_work, which have no event.
fn attribute_calls(calls: &mut GroupRows) {
    let reported: u64 = calls.parts.iter().map(|part| part.count.count).sum();
    let all = calls.row.count.count.max(reported);
    if reported > 0 {
        calls.row.cause = Some(CauseId::of(FUNCTION_CALL));
        let share = (all - reported) as f64 / all as f64;
        calls.row.unattributed_ns = (calls.row.count.ns as f64 * share) as u64;
    }
}

/// Returns the spread of the runs in the count of a row.
fn spread(measured: &Measured, row: &Row, cpus: &CpuList) -> Option<f64> {
    let in_run = |run: &Snapshot| -> f64 {
        let counts = run.cpus.iter().filter(|(cpu, _)| cpus.contains(**cpu));
        let counts = counts.flat_map(|(_, counts)| row.keys.iter().filter_map(|key| counts.get(key)));
        counts.map(|count| count.count as f64).sum()
    };
    let counts: Vec<f64> = measured.runs.iter().map(in_run).collect();
    let summary = dyntick_stats::Summary::of(&counts).filter(|summary| summary.count > 1)?;
    (summary.mean > 0.0).then_some(summary.deviation / summary.mean)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use dyntick_model::{Interrupt, Softirq};
    use dyntick_observe::live::{CpuTimes, Whose};

    /// A measurement of `ns` ns on the CPUs from 0 on, with these counts.
    pub fn measured(counts: Vec<BTreeMap<Key, Count>>, ns: u64) -> Measured {
        let cpus = CpuList::first(counts.len() as u32);
        let counts = (0..).zip(counts).collect();
        Measured {
            cpus,
            with_slices: true,
            with_ticks: true,
            ns,
            at_ns: ns,
            counts: Some(Snapshot { ns, cpus: counts, ..Snapshot::default() }),
            ..Measured::default()
        }
    }

    fn count(count: u64, ns: u64) -> Count {
        Count { count, ns, ..Count::default() }
    }

    fn task(whose: Whose, comm: &str) -> Key {
        Key::Task { comm: Some(comm.into()), whose }
    }

    #[test]
    fn tasks_and_faults_are_no_interruptions() {
        let counts = [
            (Key::Interrupt { source: Interrupt::Timer }, count(4, 400)),
            (Key::Tick { stopped: false }, count(3, 200)),
            (Key::KernelThread { comm: Some("kworker/1:0".into()) }, count(1, 100)),
            (Key::PageFault { user: true }, count(70_000, 0)),
            (task(Whose::Command, "app"), count(9, 5000)),
            (task(Whose::Observer, "dyntick"), count(1, 50)),
            (task(Whose::Other, "sh"), count(2, 2000)),
            (Key::Idle, count(1, 2000)),
        ];
        let measured = measured(vec![counts.into()], 10_000);
        let [cpu] = &per_cpu(&measured)[..] else { panic!("one CPU") };
        assert_eq!((cpu.interruptions(), cpu.page_faults(), cpu.ticks), (5, 70_000, 3));
        let CpuTime {
            interruptions_ns, command_ns, observer_ns, other_tasks_ns, idle_ns, uncounted_ns, ..
        } = cpu.time;
        assert_eq!((interruptions_ns, command_ns, observer_ns), (500, 5000, 50));
        assert_eq!((other_tasks_ns, idle_ns, uncounted_ns), (2000, 2000, 450));
        let tasks: Vec<&Row> = cpu.of_class(Class::UserTasks).flat_map(|rows| &rows.parts).collect();
        assert!(matches!(&tasks[..], [row] if row.what == What::Part(Part::Task("sh".into()))));
    }

    #[test]
    fn a_cpu_without_a_task_switch_is_idle_if_the_kernel_says_so() {
        let timer = || [(Key::Interrupt { source: Interrupt::Timer }, count(1, 100))].into();
        let idle_ns = |mut measured: Measured, times: CpuTimes| {
            measured.meters.cpus.insert(0, CpuMeters { times, ..CpuMeters::default() });
            let time = per_cpu(&measured).remove(0).time;
            assert_eq!(time.parts().iter().sum::<u64>(), time.ns);
            time.idle_ns
        };
        let idle = CpuTimes { idle_ns: 900, ..CpuTimes::default() };
        let busy = CpuTimes { user_ns: 900, ..CpuTimes::default() };
        assert_eq!(idle_ns(measured(vec![timer()], 1000), idle), 900);
        assert_eq!(idle_ns(measured(vec![timer()], 1000), busy), 0, "by which task is not known");
        let unseen = Measured { with_slices: false, ..measured(vec![timer()], 1000) };
        assert_eq!(idle_ns(unseen, idle), 0, "several tasks may have run");
        let switched = [(task(Whose::Other, "sh"), count(1, 100))].into();
        assert_eq!(idle_ns(measured(vec![switched], 1000), idle), 0);
    }

    #[test]
    fn parts_without_their_group_stand_for_themselves() {
        let work = |name: &str| Key::Work { function: name.into() };
        let timer = Key::Timer { function: "delayed".into() };
        let counts = [(work("first"), count(1, 50)), (work("second"), count(1, 60)), (timer, count(1, 5))];
        let all = per_cpu(&measured(vec![counts.into()], 100)).remove(0);
        let shown: Vec<&What> = all.groups.iter().map(|rows| &rows.row.what).collect();
        let part = |part| What::Part(part);
        let expected = [
            part(Part::Work("second".into())),
            part(Part::Work("first".into())),
            part(Part::Timer("delayed".into())),
        ];
        assert_eq!(shown, expected.iter().collect::<Vec<_>>());
        assert!(all.groups.iter().all(|rows| rows.parts.is_empty() && rows.class().is_none()));
        assert_eq!(
            (all.time.uncounted_ns, all.interruptions()),
            (100, 0),
            "without its kworker's it may have sleep in it"
        );
    }

    #[test]
    fn both_vectors_of_function_calls_are_one_group() {
        let vector = |vector| Key::Interrupt { source: vector };
        let called = Key::Called { function: "flush".into() };
        let counts = [
            (vector(Interrupt::FunctionCall), count(1, 10)),
            (vector(Interrupt::FunctionCallSingle), count(3, 30)),
            (called, count(3, 20)),
            (Key::Softirq { softirq: Softirq::Rcu }, count(1, 1)),
        ];
        let all = per_cpu(&measured(vec![counts.into()], 100)).remove(0);
        let calls = &all.groups[0];
        assert_eq!(calls.row.what, What::Group(Group::FunctionCalls));
        assert_eq!((calls.row.count.count, calls.parts.len(), calls.row.unattributed_ns), (4, 1, 10));
    }
}
