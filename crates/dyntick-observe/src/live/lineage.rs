// SPDX-License-Identifier: GPL-2.0-only
//! Which threads are the kernel's, and who started whom, from the events of forks. Pure.

use std::collections::BTreeSet;

/// The thread that starts all threads of the kernel, and nothing else (`kthreadd`, `kernel/kthread.c`).
const KTHREADD: u32 = 2;

/// How many threads are followed, as by the eBPF programs.
const MOST: usize = 1 << 16;

/// The threads that are told from others.
#[derive(Debug, Default)]
pub struct Lineage {
    kernel: BTreeSet<u32>,
    followed: BTreeSet<u32>,
    no_room: u64,
}

impl Lineage {
    /// With the threads of the kernel that are there already.
    pub fn new(kernel: impl Iterator<Item = u32>) -> Self {
        Self { kernel: kernel.collect(), ..Self::default() }
    }

    /// A thread started another one. Forks must come in their order.
    pub fn fork(&mut self, parent: u32, child: u32) {
        // Numbers of threads that ended are given again.
        match parent {
            KTHREADD => self.kernel.insert(child),
            _ => self.kernel.remove(&child),
        };
        if self.followed.contains(&parent) {
            self.follow(child);
        }
    }

    /// Follows a thread: it, those that it starts from now on, and they in turn.
    pub fn follow(&mut self, pid: u32) {
        match self.followed.len() < MOST {
            true => _ = self.followed.insert(pid),
            false => self.no_room += 1,
        }
    }

    /// Takes a thread out of those that are followed; those that it started stay.
    pub fn unfollow(&mut self, pid: u32) {
        self.followed.remove(&pid);
    }

    /// The threads that were followed, also those that ended.
    pub fn followed(&self) -> &BTreeSet<u32> {
        &self.followed
    }

    /// How many threads found no room among them.
    pub fn no_room(&self) -> u64 {
        self.no_room
    }

    /// Whether this thread is the kernel's.
    pub fn is_kernel(&self, pid: u32) -> bool {
        self.kernel.contains(&pid)
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
        assert_eq!(*lineage.followed(), [12, 13, 16].into());
    }

    #[test]
    fn the_kernels_threads_are_those_of_kthreadd() {
        let mut lineage = Lineage::new([2, 15].into_iter());
        lineage.fork(2, 80);
        lineage.fork(1, 81);
        lineage.fork(1, 15);
        let kernel = |pid| lineage.is_kernel(pid);
        assert_eq!([2, 15, 80, 81].map(kernel), [true, false, true, false]);
    }

    #[test]
    fn those_without_room_are_counted() {
        let mut lineage = Lineage::default();
        (0..MOST as u32 + 3).for_each(|pid| lineage.follow(pid));
        assert_eq!((lineage.followed().len(), lineage.no_room()), (MOST, 3));
    }
}
