// SPDX-License-Identifier: GPL-2.0-only
//! The task that runs on a CPU without a task switch so far, from /proc.
//!
//! A switch from a task that runs is always traced. So where a CPU had something to run when counting began, and no
//! switch was seen since, one task has had it all the time: one that can run and was there last.

use super::meters::cpu_times;
use crate::facts::{Runnable, runnable};
use std::collections::BTreeMap;

/// The longest time that a CPU may have been idle, by the kernel's own account, and still count as busy all the time,
/// ns: two units of `/proc/stat`, of which one may begin or end too early.
const IDLE_NS: u64 = 20_000_000;

/// The tasks that could run on some CPUs at one moment.
#[derive(Default)]
pub(super) struct Running {
    /// The tasks that could run then, by CPU.
    then: BTreeMap<u32, Vec<Runnable>>,
    idle_then: BTreeMap<u32, u64>,
    /// The tasks that are known to run since.
    known: BTreeMap<u32, Runnable>,
}

impl Running {
    /// Reads it, of these CPUs. Call it after switches are traced, and before the begin of what is measured.
    pub(super) fn read(cpus: impl Iterator<Item = u32> + Clone) -> Self {
        Self { then: by_cpu(cpus), idle_then: idle(), known: BTreeMap::new() }
    }

    /// Returns true if something could run on that CPU, so that it was not idle.
    pub(super) fn is_busy(&self, cpu: u32) -> bool {
        self.then.contains_key(&cpu)
    }

    /// The task that has run there since, if no switch was seen; none if it is not known.
    pub(super) fn on(&mut self, cpu: u32) -> Option<&Runnable> {
        if !self.known.contains_key(&cpu) && self.is_busy(cpu) {
            let idle_ns = |times: &BTreeMap<u32, u64>| times.get(&cpu).copied().unwrap_or(0);
            // Those that a bandwidth limit keeps from running can run by their state, too.
            if idle_ns(&idle()).saturating_sub(idle_ns(&self.idle_then)) > IDLE_NS {
                return None;
            }
            let now = by_cpu(std::iter::once(cpu)).remove(&cpu).unwrap_or_default();
            let runs = chosen(self.then.get(&cpu)?, now)?;
            self.known.insert(cpu, runs);
        }
        self.known.get(&cpu)
    }
}

fn by_cpu(cpus: impl Iterator<Item = u32> + Clone) -> BTreeMap<u32, Vec<Runnable>> {
    let mut by_cpu: BTreeMap<u32, Vec<Runnable>> = BTreeMap::new();
    for task in runnable().into_iter().filter(|task| cpus.clone().any(|cpu| cpu == task.cpu)) {
        by_cpu.entry(task.cpu).or_default().push(task);
    }
    by_cpu
}

fn idle() -> BTreeMap<u32, u64> {
    let times = cpu_times(&std::fs::read_to_string("/proc/stat").unwrap_or_default());
    times.into_iter().map(|(cpu, times)| (cpu, times.idle_ns)).collect()
}

/// The task that ran, among those that could run then and can run now: the only one, or the one whose CPU time has
/// grown most while the others waited.
fn chosen(then: &[Runnable], now: Vec<Runnable>) -> Option<Runnable> {
    let grown = |now: &Runnable| {
        let then = then.iter().find(|then| then.thread == now.thread)?;
        Some(now.cpu_time.saturating_sub(then.cpu_time))
    };
    let mut both: Vec<(u64, Runnable)> =
        now.into_iter().filter_map(|now| Some((grown(&now)?, now))).collect();
    both.sort_by_key(|(grown, _)| std::cmp::Reverse(*grown));
    let is_clear = match &both[..] {
        [] => false,
        [_] => true,
        [(first, _), (second, _), ..] => first > second,
    };
    both.into_iter().next().filter(|_| is_clear).map(|(_, runs)| runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(thread: u32, cpu_time: u64) -> Runnable {
        let comm = format!("task-{thread}");
        Runnable { thread, process: thread, comm, kernel: false, cpu: 0, cpu_time }
    }

    #[test]
    fn the_one_that_ran_while_others_waited() {
        let chosen = |then: &[(u32, u64)], now: &[(u32, u64)]| {
            let tasks = |all: &[(u32, u64)]| all.iter().map(|(thread, time)| task(*thread, *time)).collect();
            let then: Vec<Runnable> = tasks(then);
            chosen(&then, tasks(now)).map(|runs| runs.thread)
        };
        assert_eq!(chosen(&[(7, 3)], &[(7, 3)]), Some(7), "its time may not be up to date");
        assert_eq!(chosen(&[(7, 3), (8, 9)], &[(7, 5), (8, 9)]), Some(7));
        assert_eq!(chosen(&[(7, 3), (8, 9)], &[(7, 3), (8, 9)]), None);
        assert_eq!(chosen(&[(7, 3)], &[(8, 9)]), None, "who came later waits");
        assert_eq!(chosen(&[(7, 3)], &[(8, 900), (7, 3)]), Some(7));
        assert_eq!(chosen(&[(7, 3)], &[]), None);
    }

    #[test]
    fn this_thread_runs() {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let found = runnable().into_iter().find(|task| task.thread == own).expect("it reads this");
        assert!(!found.kernel && found.process == std::process::id());
        let running = Running::read(std::iter::once(found.cpu));
        // The reader may have been moved since to another CPU.
        assert!(running.then.values().flatten().all(|task| task.cpu == found.cpu));
    }
}
