// SPDX-License-Identifier: GPL-2.0-only
//! The names of threads, and which of them belong to the kernel or to the recorded command.

use crate::{Context, KnownCommand, Task, names};
use dyntick_model::{Map, Set, Symbol};
use std::sync::{Arc, LazyLock};

/// The name of a thread that no event has named.
static UNNAMED: LazyLock<Symbol> = LazyLock::new(|| "?".into());

#[derive(Debug, Default)]
pub(crate) struct Threads {
    named: Map<i32, Named>,
    /// The kernel's threads, if they are known by more than their names.
    kernels: Set<i32>,
    command: CommandThreads,
}

/// The threads of the recorded command, or process, and of its descendants, as they are started.
#[derive(Clone, Debug, Default)]
pub struct CommandThreads {
    process: Option<i32>,
    threads: Set<i32>,
}

/// The maximum number of threads of a command: as many as Linux has PIDs (`PID_MAX_LIMIT`).
const MOST_OF_COMMAND: usize = 4 << 20;

/// A thread with a name.
#[derive(Debug)]
struct Named {
    comm: Symbol,
    /// True if it is the kernel's. This is needed for each task that gets a CPU, so it is computed once.
    is_kernels: bool,
}

impl CommandThreads {
    /// Creates it with the threads that were read from the machine.
    pub fn of(known: &KnownCommand) -> Self {
        let threads = known.threads.iter().chain(&known.process).copied().take(MOST_OF_COMMAND).collect();
        Self { process: known.process, threads }
    }

    /// Returns true if a thread is one of them.
    pub fn has(&self, thread: i32) -> bool {
        self.threads.contains(&thread)
    }

    /// Notes the start of a thread: by one of the command, or as the command itself, which dyntick starts. TIDs of
    /// ended threads are reused.
    pub fn fork(&mut self, parent: i32, child: i32) {
        if self.has(parent) || self.process == Some(child) {
            if self.threads.len() < MOST_OF_COMMAND {
                self.threads.insert(child);
            }
        } else {
            self.threads.remove(&child);
        }
    }
}

impl Threads {
    /// Creates one with the threads of the context.
    pub fn new(context: &Context) -> Self {
        let kernels = context.known.kernel_threads.iter().copied().collect();
        let command = CommandThreads::of(&context.known.command);
        let mut threads = Self { named: Map::default(), kernels, command };
        context.comms.iter().for_each(|(pid, comm)| threads.name(*pid, comm));
        threads
    }

    /// Sets the name of a thread.
    pub fn name(&mut self, pid: i32, comm: &Symbol) {
        if pid == 0 || self.named.get(&pid).is_some_and(|named| Arc::ptr_eq(&named.comm, comm)) {
            return;
        }
        let is_kernels = self.tell(pid, comm);
        self.named.insert(pid, Named { comm: comm.clone(), is_kernels });
    }

    /// Notes the start of a thread.
    pub fn fork(&mut self, parent: i32, child: i32) {
        self.command.fork(parent, child);
    }

    /// Returns true if a task belongs to the recorded command.
    pub fn is_commands(&self, task: &Task) -> bool {
        self.command.has(task.pid) && !self.is_kernels(task)
    }

    /// The thread with this TID.
    pub fn task(&self, pid: i32) -> Task {
        Task::named(pid, self.named.get(&pid).map_or(&*UNNAMED, |named| &named.comm))
    }

    /// Returns true if a task is the kernel's own.
    pub fn is_kernels(&self, task: &Task) -> bool {
        match self.named.get(&task.pid) {
            Some(named) if Arc::ptr_eq(&named.comm, &task.comm) => named.is_kernels,
            _ => self.tell(task.pid, &task.comm),
        }
    }

    fn tell(&self, pid: i32, comm: &str) -> bool {
        self.kernels.contains(&pid) || names::is_kernel_thread(comm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Known;

    fn threads(kernel_threads: &[i32]) -> Threads {
        Threads::new(&Context {
            comms: [(7, "app".into()), (8, "odd".into())].into(),
            known: Known { kernel_threads: kernel_threads.iter().copied().collect(), ..Known::default() },
            ..Context::unknown()
        })
    }

    #[test]
    fn kernel_threads_are_known_or_recognised_by_name() {
        let mut threads = threads(&[8]);
        let own = |threads: &Threads, pid| threads.is_kernels(&threads.task(pid));
        assert_eq!([0, 7, 8, 9].map(|pid| own(&threads, pid)), [false, false, true, false]);
        threads.name(7, &"kworker/1:0".into());
        assert!(own(&threads, 7), "by its new name");
        let before = Task { pid: 7, comm: "app".into() };
        assert!(!threads.is_kernels(&before), "what it was called before was not the kernel's");
    }

    #[test]
    fn threads_of_a_command_are_its_own_until_their_tid_is_reused() {
        let command = KnownCommand { process: Some(20), threads: [20, 21].into() };
        let known = Known { command, kernel_threads: [2].into(), ..Known::default() };
        let mut threads = Threads::new(&Context { known, ..Context::unknown() });
        let own = |threads: &Threads| {
            (1..40).filter(|pid| threads.is_commands(&threads.task(*pid))).collect::<Vec<i32>>()
        };
        threads.fork(5, 20); // dyntick starts it
        [(20, 22), (22, 23), (5, 24)].into_iter().for_each(|(parent, child)| threads.fork(parent, child));
        assert_eq!(own(&threads), [20, 21, 22, 23]);
        threads.fork(5, 22);
        threads.fork(22, 25);
        threads.fork(23, 2); // as a hostile record may say
        assert_eq!(own(&threads), [20, 21, 23]);
    }

    #[test]
    fn idle_task_keeps_its_name() {
        let mut threads = threads(&[]);
        threads.name(0, &"swapper/0".into());
        assert_eq!(&*threads.task(0).comm, "idle");
        assert_eq!(&*threads.task(9).comm, "?");
    }
}
