// SPDX-License-Identifier: GPL-2.0-only
//! The control groups that have used up their CPU quota on a CPU, by the probes of the scheduler. Pure.

use dyntick_model::{Event, EventKind, Map, Set};

/// The maximum number of run queues that are remembered: one for each group and CPU.
const MOST_QUEUES: usize = 1 << 16;

/// The run queues that are throttled.
#[derive(Debug, Default)]
pub(crate) struct Throttles {
    queues: Map<u64, Queue>,
    /// The queue that may be throttled, by the CPU that decides it.
    undecided: Map<u32, (u64, Queue)>,
    /// The threads that a quota keeps off; `None` if it is all of a throttled queue.
    threads: Option<Threads>,
}

/// The threads that a quota keeps off, each from its return to user mode on.
#[derive(Debug, Default)]
struct Threads {
    kept_off: Set<i32>,
    /// The thread that is about to give its CPU up, by CPU.
    leaving: Map<u32, i32>,
}

/// A run queue of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Queue {
    cpu: u32,
    /// The group, by the number of its folder.
    group: u64,
}

impl Throttles {
    /// Creates one. From 6.18 on (`by_thread`) a thread of a throttled queue goes on in the kernel until it returns to
    /// user mode (`kernel/sched/fair.c: throttle_cfs_rq_work`); before, all of the queue stands still.
    pub fn new(by_thread: bool) -> Self {
        Self { threads: by_thread.then(Threads::default), ..Self::default() }
    }

    /// The CPU on which an event throttles a group, or ends that, if it does.
    pub fn changes(&self, event: &Event) -> Option<u32> {
        match event.kind {
            EventKind::ThrottleEnd { done: true } => {
                self.undecided.get(&event.cpu).map(|(_, queue)| queue.cpu)
            }
            EventKind::Unthrottle { queue } => self.queues.get(&queue).map(|queue| queue.cpu),
            _ => None,
        }
    }

    /// Applies an event.
    pub fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Throttle { queue, group, cpu } => {
                self.undecided.insert(event.cpu, (queue, Queue { cpu, group }));
            }
            EventKind::ThrottleEnd { done } => {
                let decided = self.undecided.remove(&event.cpu).filter(|_| done);
                if let Some((number, queue)) = decided.filter(|_| self.queues.len() < MOST_QUEUES) {
                    self.queues.insert(number, queue);
                }
            }
            EventKind::Unthrottle { queue } => _ = self.queues.remove(&queue),
            EventKind::ThrottleThread => {
                if let Some(threads) = &mut self.threads {
                    threads.leaving.insert(event.cpu, event.pid);
                }
            }
            EventKind::SchedSwitch { prev, next, .. } => self.switch(event.cpu, prev, next),
            _ => {}
        }
    }

    /// Applies a switch. A thread that is kept off runs again when its queue is throttled no more.
    fn switch(&mut self, cpu: u32, prev: i32, next: i32) {
        let Some(threads) = &mut self.threads else { return };
        if !threads.kept_off.is_empty() {
            threads.kept_off.remove(&next);
        }
        if !threads.leaving.is_empty() && threads.leaving.remove(&cpu) == Some(prev) {
            threads.kept_off.insert(prev);
        }
    }

    /// The first of these groups, to which a thread belongs, that keeps it off a CPU.
    pub fn of(&self, cpu: u32, groups: &[u64], thread: i32) -> Option<u64> {
        if self.queues.is_empty() || groups.is_empty() {
            return None;
        }
        if self.threads.as_ref().is_some_and(|threads| !threads.kept_off.contains(&thread)) {
            return None;
        }
        let is_throttled =
            |group: &&u64| self.queues.values().any(|queue| *queue == Queue { cpu, group: **group });
        groups.iter().find(is_throttled).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Within;

    fn event(cpu: u32, kind: EventKind) -> Event {
        Event { ts: 0, cpu, pid: 7, within: Within::Task, kind }
    }

    #[test]
    fn group_is_throttled_from_the_return_to_the_next_quota() {
        let mut throttles = Throttles::default();
        let mut apply = |kind| {
            let event = event(0, kind);
            let changed = throttles.changes(&event);
            throttles.event(&event);
            (changed, throttles.of(1, &[4, 3], 7), throttles.of(0, &[3], 7))
        };
        let begin = EventKind::Throttle { queue: 9, group: 3, cpu: 1 };
        assert_eq!(apply(begin.clone()), (None, None, None));
        assert_eq!(apply(EventKind::ThrottleEnd { done: false }), (None, None, None), "it got more time");
        apply(begin);
        assert_eq!(apply(EventKind::ThrottleEnd { done: true }), (Some(1), Some(3), None));
        assert_eq!(apply(EventKind::Unthrottle { queue: 8 }), (None, Some(3), None));
        assert_eq!(apply(EventKind::Unthrottle { queue: 9 }), (Some(1), None, None));
    }

    /// A thread that sleeps or is preempted in the kernel meanwhile is not throttled.
    #[test]
    fn thread_runs_on_in_the_kernel_of_newer_kernels() {
        let mut throttles = Throttles::new(true);
        let switch = |prev, next| {
            let (prev_comm, next_comm) = ("a".into(), "b".into());
            event(1, EventKind::SchedSwitch { prev, prev_comm, prev_state: 0, next, next_comm })
        };
        let mut apply = |event: Event| {
            throttles.event(&event);
            throttles.of(1, &[3], 7)
        };
        apply(event(1, EventKind::Throttle { queue: 9, group: 3, cpu: 1 }));
        assert_eq!(apply(event(1, EventKind::ThrottleEnd { done: true })), None);
        assert_eq!(apply(switch(7, 8)), None, "it was preempted in the kernel");
        apply(switch(8, 7));
        assert_eq!(apply(event(1, EventKind::ThrottleThread)), None, "it has the CPU");
        assert_eq!(apply(switch(7, 8)), Some(3));
        assert_eq!(apply(event(0, EventKind::Unthrottle { queue: 9 })), None);
        apply(event(1, EventKind::Throttle { queue: 9, group: 3, cpu: 1 }));
        apply(event(1, EventKind::ThrottleEnd { done: true }));
        assert_eq!(apply(switch(8, 7)), None, "it runs again");
    }
}
