// SPDX-License-Identifier: GPL-2.0-only
//! The names that fixes need in addition to CPUs: the other task, if it can be moved, an interrupt line, a CPU quota.

use super::quoted;
use crate::{Interruption, Kind, Task, names};
use dyntick_model::{Map, Symbol};
use std::cmp::Reverse;
use std::hash::Hash;

/// The known names of a cause for its fixes: of several names the most frequent.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// The other task.
    pub task: OtherTask,
    /// The interrupt line.
    pub irq: Option<u32>,
    /// The CPU quota of a control group.
    pub quota: Option<Limit>,
}

/// A limit of a control group: a CPU quota or a memory limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Limit {
    /// The limit, its file and its group in words.
    pub words: String,
    /// The path of the file, e.g. of `cpu.max`, or in control groups v1 of `cpu.cfs_quota_us`.
    pub file: String,
}

impl Limit {
    /// The value that removes it and its file, e.g. `max > /sys/fs/cgroup/pod/cpu.max`; `None` if a shell cannot name
    /// the file.
    pub(crate) fn without(&self) -> Option<String> {
        // v2 has a word for no limit, v1 a number.
        const OF_V1: [&str; 2] = ["cpu.cfs_quota_us", "memory.limit_in_bytes"];
        let none = if OF_V1.iter().any(|name| self.file.ends_with(name)) { "-1" } else { "max" };
        Some(format!("{none} > {}", quoted(&self.file)?))
    }
}

/// The other task, and if it can be kept off the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OtherTask {
    /// An unknown task.
    #[default]
    Unknown,
    /// A live task that can be moved.
    Movable(Task),
    /// A live process of which several threads are meant.
    Process(Task),
    /// A kernel thread that cannot be moved (`PF_NO_SETAFFINITY`).
    Bound(Symbol),
    /// A task that has ended.
    Ended {
        /// Its name.
        comm: Symbol,
        /// The process that started it, if it is known and lives.
        starter: Option<Starter>,
    },
    /// A task of dyntick itself.
    Own,
}

/// A process that starts others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Starter {
    /// The process.
    pub process: Task,
    /// Its systemd unit, e.g. `cron.service`.
    pub unit: Option<String>,
}

impl OtherTask {
    /// Classifies a kernel thread by its name alone.
    pub fn of_kernel(task: &Task) -> Self {
        if names::is_bound(&task.comm) {
            OtherTask::Bound(task.comm.clone())
        } else {
            OtherTask::Movable(task.clone())
        }
    }
}

/// The numbers of interruptions of one cause by the names in them.
#[derive(Clone, Debug, Default)]
pub struct NamedCounts {
    tasks: Map<Task, u64>,
    victims: Map<i32, u64>,
    irqs: Map<u32, u64>,
}

/// The maximum number of different tasks of a cause.
const MOST_TASKS: usize = 1 << 16;

impl NamedCounts {
    /// The other tasks.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.keys()
    }

    /// The interrupted tasks.
    pub fn victims(&self) -> impl Iterator<Item = i32> {
        self.victims.keys().copied()
    }

    /// Adds an interruption.
    pub fn add(&mut self, one: &Interruption) {
        let irq = match one.kind {
            Kind::Device { irq, .. } => Some(irq),
            _ => one.other.as_ref().and_then(|task| served_by(&task.comm)),
        };
        if let Some(irq) = irq {
            *self.irqs.entry(irq).or_default() += 1;
        }
        if let Some(task) = one.other.as_ref().filter(|task| task.pid > 0) {
            count(&mut self.tasks, task);
        }
        count(&mut self.victims, &one.victim.pid);
    }

    /// The most frequent names. `other` returns the known facts of a task, and `quota` the CPU quota that limits
    /// it. Short-lived tasks are counted by program, not by number.
    pub fn foremost(
        &self,
        other: impl Fn(&Task) -> OtherTask,
        quota: impl Fn(i32) -> Option<Limit>,
    ) -> Named {
        let mut tasks: Map<OtherTask, u64> = Map::default();
        for (task, count) in &self.tasks {
            *tasks.entry(other(task)).or_default() += count;
        }
        let mut quotas: Map<Limit, u64> = Map::default();
        for (quota, count) in self.victims.iter().filter_map(|(pid, count)| Some((quota(*pid)?, count))) {
            *quotas.entry(quota).or_default() += count;
        }
        Named {
            task: foremost(&tasks).unwrap_or_default(),
            irq: foremost(&self.irqs),
            quota: foremost(&quotas),
        }
    }
}

fn count<T: Clone + Eq + Hash>(counts: &mut Map<T, u64>, one: &T) {
    if let Some(count) = counts.get_mut(one) {
        *count += 1;
    } else if counts.len() < MOST_TASKS {
        counts.insert(one.clone(), 1);
    }
}

/// The interrupt line of a thread `irq/LINE-NAME`.
fn served_by(comm: &str) -> Option<u32> {
    comm.strip_prefix("irq/")?.split_once('-')?.0.parse().ok()
}

/// The most frequent value; of several the lowest.
fn foremost<T: Ord + Clone>(counts: &Map<T, u64>) -> Option<T> {
    counts.iter().max_by_key(|(one, count)| (**count, Reverse(*one))).map(|(one, _)| one.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_named_for_short_lived_tasks() {
        let task = |pid, comm: &str| Task { pid, comm: comm.into() };
        let starter = Starter { process: task(7, "timerd"), unit: None };
        let ended = OtherTask::Ended { comm: "gzip".into(), starter: Some(starter) };
        let tasks = (20..33).map(|pid| (task(pid, "gzip"), 1)).chain([(task(9, "sh"), 3)]);
        let counts = NamedCounts { tasks: tasks.collect(), ..NamedCounts::default() };
        let other = |task: &Task| match &*task.comm {
            "gzip" => ended.clone(),
            _ => OtherTask::Movable(task.clone()),
        };
        assert_eq!(counts.foremost(other, |_| None).task, ended);
    }
}
