// SPDX-License-Identifier: GPL-2.0-only
//! The threads of the kernel and the parents of threads, from the events of forks. Pure.

use super::keys::{Thread, Whose};
use dyntick_bpf::layout::MAX_THREADS;
use std::collections::BTreeSet;

/// The thread that starts all threads of the kernel, and nothing else (`kthreadd`, `kernel/kthread.c`).
const KTHREADD: u32 = 2;

/// The threads that are counted apart.
#[derive(Default)]
pub struct Lineage {
    kernel: Threads,
    followed: Threads,
}

/// A set of threads: a bit for each, up to the highest of those that are in it.
#[derive(Default)]
struct Threads(Vec<u64>);

impl Threads {
    fn set(&mut self, pid: u32, is_in: bool) {
        let (word, bit) = (pid as usize / 64, 1 << (pid % 64));
        if is_in && word >= self.0.len() && word < MAX_THREADS / 64 {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word = if is_in { *word | bit } else { *word & !bit };
        }
    }

    fn contains(&self, pid: u32) -> bool {
        self.0.get(pid as usize / 64).is_some_and(|word| word & 1 << (pid % 64) != 0)
    }
}

impl Lineage {
    /// Begins with the existing threads of the kernel.
    pub fn new(kernel: impl Iterator<Item = u32>) -> Self {
        let mut lineage = Self::default();
        kernel.for_each(|pid| lineage.kernel.set(pid, true));
        lineage
    }

    /// A thread started another one. Forks must come in their order.
    pub fn fork(&mut self, parent: u32, child: u32) {
        // Numbers of threads that ended are given again.
        self.kernel.set(child, parent == KTHREADD);
        self.followed.set(child, self.followed.contains(parent));
    }

    /// Follows a thread and its descendants from now on.
    pub fn follow(&mut self, pid: u32) {
        self.followed.set(pid, true);
    }

    /// Takes a thread out of those that are followed; those that it started stay.
    pub fn unfollow(&mut self, pid: u32) {
        self.followed.set(pid, false);
    }

    /// The owner of a thread; `observer` has the threads of the process that counts.
    pub fn thread(&self, pid: u32, observer: &BTreeSet<u32>) -> Thread {
        if self.kernel.contains(pid) {
            return Thread::Kernel;
        }
        Thread::Task(if observer.contains(&pid) {
            Whose::Observer
        } else if self.followed.contains(pid) {
            Whose::Command
        } else {
            Whose::Other
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_are_followed() {
        let mut lineage = Lineage::default();
        lineage.fork(10, 11);
        lineage.follow(10);
        for (parent, child) in [(10, 12), (12, 13), (11, 14)] {
            lineage.fork(parent, child);
        }
        lineage.unfollow(10);
        lineage.fork(10, 15);
        lineage.fork(13, 16);
        let followed: Vec<u32> = (0..20).filter(|pid| lineage.followed.contains(*pid)).collect();
        assert_eq!(followed, [12, 13, 16]);
    }

    #[test]
    fn the_kernels_threads_are_those_of_kthreadd() {
        let mut lineage = Lineage::new([2, 15].into_iter());
        lineage.fork(2, 80);
        lineage.fork(1, 81);
        lineage.fork(1, 15);
        let kernel = |pid| lineage.thread(pid, &BTreeSet::new()) == Thread::Kernel;
        assert_eq!([2, 15, 80, 81].map(kernel), [true, false, true, false]);
    }

    #[test]
    fn numbers_of_threads_are_given_again() {
        let mut lineage = Lineage::default();
        lineage.follow(10);
        let observer = [7].into();
        lineage.fork(10, 11);
        lineage.follow(7);
        assert_eq!(
            [7, 11].map(|pid| lineage.thread(pid, &observer)),
            [Whose::Observer, Whose::Command].map(Thread::Task)
        );
        lineage.fork(1, 11);
        assert_eq!(lineage.thread(11, &observer), Thread::Task(Whose::Other));
    }

    #[test]
    fn as_many_as_there_can_be() {
        let mut lineage = Lineage::default();
        let most = MAX_THREADS as u32;
        (0..most).for_each(|pid| lineage.follow(pid));
        assert!((0..most).all(|pid| lineage.followed.contains(pid)));
        lineage.follow(u32::MAX);
        assert!(!lineage.followed.contains(u32::MAX), "there is no such thread");
    }
}
