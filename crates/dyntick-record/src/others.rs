// SPDX-License-Identifier: GPL-2.0-only
//! The tasks that fixes name: those that still exist and can be moved, and the starters of short-lived ones.

use crate::About;
use crate::ledger::limit;
use dyntick_explain::Task;
use dyntick_explain::fixes::{Limit, Named, NamedCounts, OtherTask, Starter};
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

/// Processes of the tasks of a cause.
#[derive(Debug, Default)]
struct Processes {
    /// The processes with several of the other tasks.
    several: Set<i32>,
    /// The processes with interrupted tasks.
    interrupted: Set<i32>,
}

impl Processes {
    /// Returns true if a process may be moved with all its threads.
    fn may_move(&self, process: i32) -> bool {
        !self.interrupted.contains(&process)
    }

    fn moves_together(&self, process: i32) -> bool {
        self.several.contains(&process) && self.may_move(process)
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
        let of = self.processes(counts);
        let named = counts.foremost(|task| self.of(task, &of), |victim| self.quota_of(victim));
        Named { quota: named.quota.clone().or_else(|| self.only_quota()), ..named }
    }

    /// The only CPU quota of the machine: its timer, and the interrupts that end a throttle, come to idle CPUs.
    fn only_quota(self) -> Option<Limit> {
        let mut all = self.about.owners.limits.values().flatten();
        let first = all.next()?;
        all.all(|quota| quota.number == first.number).then(|| limit(first))
    }

    fn processes(self, counts: &NamedCounts) -> Processes {
        let process = |pid: i32| self.about.threads.get(&pid).map(|thread| thread.process);
        let mut of =
            Processes { interrupted: counts.victims().filter_map(process).collect(), ..Default::default() };
        let mut seen = Set::default();
        for process in counts.tasks().filter_map(|task| process(task.pid)) {
            if !seen.insert(process) {
                of.several.insert(process);
            }
        }
        of
    }

    fn of(self, task: &Task, of: &Processes) -> OtherTask {
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
            // It has begun since, so it may have ended when the fix is read.
            thread if self.is_short_lived(thread.process) => {
                OtherTask::Ended { comm: task.comm.clone(), starter: self.starter(thread.process) }
            }
            // The number of a new thread of an old process may not last either.
            thread
                if of.moves_together(thread.process)
                    || of.may_move(thread.process) && self.is_new_thread(task.pid, thread) =>
            {
                self.process(thread, task)
            }
            _ => OtherTask::Movable(task.clone()),
        }
    }

    fn process(self, thread: &Thread, task: &Task) -> OtherTask {
        let leader = self.about.threads.get(&thread.process).map(|leader| leader.comm.as_str().into());
        OtherTask::Process(Task { pid: thread.process, comm: leader.unwrap_or_else(|| task.comm.clone()) })
    }

    /// Returns true if a thread or process was seen to begin.
    fn began(self, pid: i32) -> bool {
        self.parents.0.contains_key(&pid)
    }

    /// Returns true for a thread, not the first of its process, that was seen to begin.
    fn is_new_thread(self, tid: i32, thread: &Thread) -> bool {
        tid != thread.process && self.began(tid)
    }

    /// Returns true if a process was seen to begin, and is no service that init started.
    fn is_short_lived(self, pid: i32) -> bool {
        self.parents.0.get(&pid).is_some_and(|parent| !FIRST_PROCESSES.contains(parent))
    }

    fn living(self, pid: i32) -> Option<&'a Thread> {
        self.about.threads.get(&pid).filter(|thread| !thread.ended)
    }

    /// The nearest ancestor that still lives and was there before, except for those that start everything.
    fn starter(self, pid: i32) -> Option<Starter> {
        let mut pid = pid;
        for _ in 0..MOST_GENERATIONS {
            let parent = self.parents.0.get(&pid).copied();
            pid = parent.or_else(|| Some(self.about.threads.get(&pid)?.parent))?;
            if FIRST_PROCESSES.contains(&pid) || pid <= 0 {
                return None;
            }
            if let Some(thread) = self.living(pid).filter(|thread| !self.is_short_lived(thread.process)) {
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

    fn quota_of(self, victim: i32) -> Option<Limit> {
        let process = self.about.threads.get(&victim)?.process;
        self.about.owners.quota(process).map(limit)
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
            (51, thread(51, "service")),
            (70, thread(70, "cc1")),
            (71, thread(20, "pool-9")),
            (72, thread(72, "helper")),
        ]
        .into();
        about.owners.groups.insert(20, "system.slice/timerd.service".to_owned());
        let mut parents = Parents::default();
        for (parent, child) in [(21, 30), (30, 31), (1, 50), (5, 60), (1, 51), (30, 70), (20, 71), (60, 72)] {
            let kind = EventKind::SchedFork { parent, child };
            parents.event(&Event { ts: 0, cpu: 0, pid: parent, within: Default::default(), kind });
        }
        Others { about: &about, parents: &parents }.of(
            &Task { pid, comm: comm.into() },
            &Processes { several: [22].into_iter().collect(), ..Default::default() },
        )
    }

    #[test]
    fn only_live_unbound_tasks_are_moved() {
        let task = |pid, comm: &str| Task { pid, comm: comm.into() };
        assert_eq!(of(21, "worker"), OtherTask::Movable(task(21, "worker")));
        assert_eq!(of(23, "pool"), OtherTask::Process(task(22, "pool")));
        assert_eq!(of(41, "kswapd0"), OtherTask::Movable(task(41, "kswapd0")));
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
        let task = |pid, comm: &str| Task { pid, comm: comm.into() };
        let starter = Some(Starter { process: task(20, "timerd"), unit: Some("timerd.service".to_owned()) });
        let begun = OtherTask::Ended { comm: "cc1".into(), starter: starter.clone() };
        assert_eq!(of(70, "cc1"), begun, "alive, and begun since");
        assert_eq!(
            of(71, "pool-9"),
            OtherTask::Process(task(20, "timerd")),
            "a new thread of an old process"
        );
        assert_eq!(
            of(72, "helper"),
            OtherTask::Ended { comm: "helper".into(), starter: None },
            "the command's own"
        );
        assert_eq!(of(51, "service"), OtherTask::Movable(task(51, "service")));
        assert_eq!(of(31, "gzip"), OtherTask::Ended { comm: "gzip".into(), starter });
        for (pid, comm) in [(40, "gone"), (50, "job"), (60, "x"), (99, "unseen")] {
            assert_eq!(of(pid, comm), OtherTask::Ended { comm: comm.into(), starter: None }, "{comm}");
        }
    }
}
