// SPDX-License-Identifier: GPL-2.0-only
//! Threads: what they are called, and which of them are the kernel's own.

use crate::{Context, Task, names};
use dyntick_model::{Map, Set, Symbol};
use std::sync::{Arc, LazyLock};

/// What a thread is called that no event named.
static UNNAMED: LazyLock<Symbol> = LazyLock::new(|| "?".into());

#[derive(Debug, Default)]
pub(crate) struct Threads {
    named: Map<i32, Named>,
    /// The kernel's, where they are known and not only known by their names.
    kernels: Set<i32>,
}

/// A thread that was named.
#[derive(Debug)]
struct Named {
    comm: Symbol,
    /// Whether it is the kernel's: asked of each task that gets a CPU, and found out once.
    is_kernels: bool,
}

impl Threads {
    /// Those that the context knows.
    pub fn new(context: &Context) -> Self {
        let kernels = context.known.kernel_threads.iter().copied().collect();
        let mut threads = Self { named: Map::default(), kernels };
        context.comms.iter().for_each(|(pid, comm)| threads.name(*pid, comm));
        threads
    }

    /// A thread has this name now.
    pub fn name(&mut self, pid: i32, comm: &Symbol) {
        if pid == 0 || self.named.get(&pid).is_some_and(|named| Arc::ptr_eq(&named.comm, comm)) {
            return;
        }
        let is_kernels = self.tell(pid, comm);
        self.named.insert(pid, Named { comm: comm.clone(), is_kernels });
    }

    /// A thread by its number.
    pub fn task(&self, pid: i32) -> Task {
        Task::named(pid, self.named.get(&pid).map_or(&*UNNAMED, |named| &named.comm))
    }

    /// Whether a task is the kernel's own.
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
    fn the_kernels_own_are_known_or_told_by_their_names() {
        let mut threads = threads(&[8]);
        let own = |threads: &Threads, pid| threads.is_kernels(&threads.task(pid));
        assert_eq!([0, 7, 8, 9].map(|pid| own(&threads, pid)), [false, false, true, false]);
        threads.name(7, &"kworker/1:0".into());
        assert!(own(&threads, 7), "by its new name");
        let before = Task { pid: 7, comm: "app".into() };
        assert!(!threads.is_kernels(&before), "what it was called before was not the kernel's");
    }

    #[test]
    fn the_idle_task_keeps_its_name() {
        let mut threads = threads(&[]);
        threads.name(0, &"swapper/0".into());
        assert_eq!(&*threads.task(0).comm, "idle");
        assert_eq!(&*threads.task(9).comm, "?");
    }
}
