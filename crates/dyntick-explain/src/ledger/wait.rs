// SPDX-License-Identifier: GPL-2.0-only
//! The waits of a thread: ready without a CPU, and asleep.

use super::place::Place;
use crate::Task;
use std::sync::Arc;

/// The one that ended a wait, or caused something.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ended {
    /// A task.
    Task(Task),
    /// An interrupt, or a softirq.
    Interrupt,
}

/// The state in which a thread gave its CPU up (`include/linux/sched.h`: `TASK_REPORT`, the same from 4.14 to 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    /// It still wanted to run.
    None,
    /// It sleeps until a wake-up or a signal.
    Interruptible,
    /// It sleeps until a wake-up.
    Uninterruptible,
    /// A signal stopped it.
    Stopped,
    /// A tracer stopped it.
    Traced,
    /// It has ended.
    Dead,
}

impl Sleep {
    /// Reads the field `prev_state`; 0x100 stands for a preemption (`__trace_sched_switch_state`).
    pub fn of(prev_state: u64) -> Self {
        match prev_state & 0xff {
            0 => Sleep::None,
            state if state & 0x30 != 0 => Sleep::Dead,
            state if state & 0x08 != 0 => Sleep::Traced,
            state if state & 0x04 != 0 => Sleep::Stopped,
            state if state & 0x82 != 0 => Sleep::Uninterruptible,
            _ => Sleep::Interruptible,
        }
    }
}

/// A thread that wants a CPU.
#[derive(Debug)]
pub(super) struct Ready {
    /// The CPU that it wants.
    pub cpu: u32,
    /// The begin of the part that is not divided yet.
    pub since: u64,
    /// The begin.
    pub begin: u64,
    /// True if it was woken; false if it was preempted.
    pub woken: bool,
    /// The last one that moved it to another CPU meanwhile.
    pub moved: Option<Ended>,
    /// The time in which that CPU ran nothing.
    pub idle_ns: u64,
    /// The time in which other tasks had it.
    pub by: Vec<(Task, u64)>,
    /// The groups whose CPU quota limits the thread, by the numbers of their folders.
    pub limits: Arc<[u64]>,
    /// The time in which one of them was throttled there, whatever had the CPU.
    pub throttled: Vec<(u64, u64)>,
}

impl Ready {
    pub fn preempted(cpu: u32, now: u64, limits: Arc<[u64]>) -> Self {
        let (by, throttled) = (Vec::new(), Vec::new());
        Self { cpu, since: now, begin: now, woken: false, moved: None, idle_ns: 0, by, limits, throttled }
    }

    pub fn woken(cpu: u32, now: u64, limits: Arc<[u64]>) -> Self {
        Self { woken: true, ..Self::preempted(cpu, now, limits) }
    }

    /// Adds the time up to now, in which the CPU had this task, if it is known, and this group was throttled.
    pub fn until(&mut self, now: u64, current: Option<&Task>, throttled: Option<u64>) {
        let now = now.max(self.since);
        let ns = now - std::mem::replace(&mut self.since, now);
        if let Some(group) = throttled {
            match self.throttled.iter_mut().find(|(by, _)| *by == group) {
                Some((_, sum)) => *sum += ns,
                None => self.throttled.push((group, ns)),
            }
            return;
        }
        match current.filter(|task| task.pid != 0) {
            None => self.idle_ns += ns,
            Some(task) => match self.by.iter_mut().find(|(by, _)| by == task) {
                Some((_, sum)) => *sum += ns,
                None if ns > 0 => self.by.push((task.clone(), ns)),
                None => {}
            },
        }
    }
}

/// A thread that sleeps.
#[derive(Debug)]
pub(super) struct Asleep {
    pub since: u64,
    pub sleep: Sleep,
    /// The place in the kernel, if its stack is recorded.
    pub place: Option<Place>,
    /// The signal that stopped it, and its sender.
    pub signal: Option<(u32, Ended)>,
    /// The time at its end for which its timer could have expired already: the timer slack.
    pub slack_ns: u64,
}

impl Asleep {
    pub fn new(since: u64, sleep: Sleep, signal: Option<(u32, Ended)>) -> Self {
        Self { since, sleep, place: None, signal, slack_ns: 0 }
    }

    /// Returns true if it waits for a lock of the program or of the kernel.
    pub fn is_for_a_lock(&self) -> bool {
        self.place.as_ref().is_some_and(Place::is_locks)
    }
}
