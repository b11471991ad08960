// SPDX-License-Identifier: GPL-2.0-only
//! The tasks that fixes name: those that still exist and can be moved, and the starters of short-lived ones.

use crate::About;
use dyntick_explain::Task;
use dyntick_explain::fixes::{Named, NamedCounts, OtherTask, Starter};
use dyntick_explain::ledger::ThreadAccount;
use dyntick_model::{Event, EventKind, Map, Set};
use dyntick_observe::facts::Thread;

/// The maximum number of threads whose parents are remembered.
const MOST: usize = 1 << 18;

/// The maximum number of generations to go back.
const MOST_GENERATIONS: usize = 16;

/// Init and the parent of the kernel's threads, which start everything.
const FIRST_PROCESSES: [i32; 2] = [1, 2];

/// The thread that started each thread.
#[derive(Debug, Default)]
pub(crate) struct Parents(Map<i32, i32>);

impl Parents {
    /// Notes the parent in a fork event.
    pub fn event(&mut self, event: &Event) {
        if let EventKind::SchedFork { parent, child } = event.kind {
            if self.0.len() < MOST || self.0.contains_key(&child) {
                self.0.insert(child, parent);
            }
        }
    }
}

impl Parents {
    /// Returns true if any of these threads started another one.
    pub fn started_by(&self, accounts: &[ThreadAccount]) -> bool {
        let own: Set<i32> = accounts.iter().map(|account| account.task.pid).collect();
        self.0.values().any(|parent| own.contains(parent))
    }
}

/// The known facts of tasks.
#[derive(Clone, Copy)]
pub(crate) struct Others<'a> {
    pub about: &'a About,
    pub parents: &'a Parents,
}

impl<'a> Others<'a> {
    /// The names that the interruptions of a cause have most often, if a fix can act on them.
    pub fn named(self, counts: &NamedCounts) -> Named {
        let several = self.several(counts);
        counts.foremost(|task| self.of(task, &several), |victim| self.group_of(victim))
    }

    /// The processes with several of the other tasks and none of the interrupted ones.
    fn several(self, counts: &NamedCounts) -> Set<i32> {
        let process = |pid: i32| self.about.threads.get(&pid).map(|thread| thread.process);
        let (mut seen, mut several) = (Set::default(), Set::default());
        for process in counts.tasks().filter_map(|task| process(task.pid)) {
            if !seen.insert(process) {
                several.insert(process);
            }
        }
        counts.victims().filter_map(process).for_each(|process| _ = several.remove(&process));
        several
    }

    fn of(self, task: &Task, several: &Set<i32>) -> OtherTask {
        let Some(thread) = self.living(task.pid) else {
            let comm = task.comm.clone();
            let is_own = |thread: &Thread| Some(thread.process) == self.about.recorder;
            return if self.about.threads.get(&task.pid).is_some_and(is_own) {
                OtherTask::Own
            } else {
                OtherTask::Ended { comm, starter: self.starter(task.pid) }
            };
        };
        match thread {
            thread if Some(thread.process) == self.about.recorder => OtherTask::Own,
            thread if thread.bound => OtherTask::Bound(task.comm.clone()),
            thread if thread.kernel => OtherTask::of_kernel(task),
            thread if several.contains(&thread.process) => OtherTask::Process(thread.process),
            _ => OtherTask::Movable(task.pid),
        }
    }

    fn living(self, pid: i32) -> Option<&'a Thread> {
        self.about.threads.get(&pid).filter(|thread| !thread.ended)
    }

    /// The nearest ancestor that still lives, except for those that start everything.
    fn starter(self, pid: i32) -> Option<Starter> {
        let mut pid = pid;
        for _ in 0..MOST_GENERATIONS {
            let parent = self.parents.0.get(&pid).copied();
            pid = parent.or_else(|| Some(self.about.threads.get(&pid)?.parent))?;
            if FIRST_PROCESSES.contains(&pid) || pid <= 0 {
                return None;
            }
            if let Some(thread) = self.living(pid) {
                if Some(thread.process) == self.about.recorder {
                    return None;
                }
                let process = self.about.threads.get(&thread.process).unwrap_or(thread);
                let process = Task { pid: thread.process, comm: process.comm.as_str().into() };
                let unit = self.about.owners.unit(process.pid).map(str::to_owned);
                return Some(Starter { process, unit });
            }
        }
        None
    }

    fn group_of(self, victim: i32) -> Option<String> {
        let process = self.about.threads.get(&victim)?.process;
        self.about.owners.quota_group(process).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_observe::facts::Policy;

    fn thread(process: i32, comm: &str) -> Thread {
        Thread {
            comm: comm.to_owned(),
            process,
            parent: 1,
            kernel: false,
            bound: false,
            ended: false,
            cpus: Default::default(),
            cpu: 0,
            policy: Policy::Other,
            priority: 0,
        }
    }

    /// The name of a task: the job 31 was started by the shell 30, which was started by the service 20.
    fn of(pid: i32, comm: &str) -> OtherTask {
        let mut about = crate::stored::tests::about();
        about.recorder = Some(5);
        about.threads = [
            (5, thread(5, "dyntick")),
            (6, thread(5, "dyntick")),
            (20, thread(20, "timerd")),
            (21, thread(20, "worker")),
            (22, thread(22, "pool")),
            (23, thread(22, "pool")),
            (40, Thread { ended: true, ..thread(40, "gone") }),
            (41, Thread { kernel: true, ..thread(41, "kswapd0") }),
            (42, Thread { kernel: true, bound: true, ..thread(42, "cpuset_thing/1") }),
            (43, Thread { kernel: true, ..thread(43, "ktimers/1") }),
        ]
        .into();
        about.owners.groups.insert(20, "system.slice/timerd.service".to_owned());
        let mut parents = Parents::default();
        for (parent, child) in [(21, 30), (30, 31), (1, 50), (5, 60)] {
            let kind = EventKind::SchedFork { parent, child };
            parents.event(&Event { ts: 0, cpu: 0, pid: parent, within: Default::default(), kind });
        }
        Others { about: &about, parents: &parents }
            .of(&Task { pid, comm: comm.into() }, &[22].into_iter().collect())
    }

    #[test]
    fn only_live_unbound_tasks_are_moved() {
        assert_eq!(of(21, "worker"), OtherTask::Movable(21));
        assert_eq!(of(23, "pool"), OtherTask::Process(22));
        assert_eq!(of(41, "kswapd0"), OtherTask::Movable(41));
        assert_eq!(of(42, "cpuset_thing/1"), OtherTask::Bound("cpuset_thing/1".into()));
        assert_eq!(
            of(43, "ktimers/1"),
            OtherTask::Bound("ktimers/1".into()),
            "in an older record, by its name"
        );
        assert_eq!(of(6, "dyntick"), OtherTask::Own);
    }

    #[test]
    fn starter_of_ended_processes_is_named() {
        let process = Task { pid: 20, comm: "timerd".into() };
        let starter = Some(Starter { process, unit: Some("timerd.service".to_owned()) });
        assert_eq!(of(31, "gzip"), OtherTask::Ended { comm: "gzip".into(), starter });
        for (pid, comm) in [(40, "gone"), (50, "job"), (60, "x"), (99, "unseen")] {
            assert_eq!(of(pid, comm), OtherTask::Ended { comm: comm.into(), starter: None }, "{comm}");
        }
    }
}
