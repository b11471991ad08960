// SPDX-License-Identifier: GPL-2.0-only
//! The use of a CPU's time. This is the one definition that `stat` and `top` share.

use crate::{Class, CountedAs};
use dyntick_observe::live::{Count, Key, Whose};
use std::collections::BTreeMap;

/// The use of the time of one CPU, or of several together, ns. The parts add up to `ns`: interruptions, user tasks
/// (the command's, dyntick's own, others), idle, and what no counted event accounts for. Each nanosecond is in one
/// part: the time of an interruption is not in that of what it interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// All of it: how long the CPU was measured. Its counters are read one after the other while it runs on, so that
    /// their sum may be longer than that by what passed meanwhile; then it is their sum.
    pub ns: u64,
    /// Interruptions ([`Class::Interruption`]).
    pub interruptions_ns: u64,
    /// Time slices of the command's tasks.
    pub command_ns: u64,
    /// Time slices of dyntick's own tasks.
    pub observer_ns: u64,
    /// Time slices of all other user tasks.
    pub other_tasks_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// No event accounts for it: the kernel between two of them (entry code, task switches), kinds that are not
    /// counted, and a task that ran already when counting began, where it is not known which.
    pub uncounted_ns: u64,
}

impl CpuTime {
    /// Computes it from these counts of a window of `ns`.
    pub(crate) fn of(counts: &BTreeMap<Key, Count>, ns: u64) -> Self {
        let mut time = Self::default();
        for (key, count) in counts {
            let part = match (CountedAs::of(key), key) {
                (_, Key::Idle) => &mut time.idle_ns,
                (_, Key::Task { whose, .. }) => match whose {
                    Whose::Command => &mut time.command_ns,
                    Whose::Observer => &mut time.observer_ns,
                    Whose::Other => &mut time.other_tasks_ns,
                },
                (CountedAs::Group(group) | CountedAs::AddsTo(group, _), _)
                    if group.class() == Class::Interruption =>
                {
                    &mut time.interruptions_ns
                }
                _ => continue,
            };
            *part = part.saturating_add(count.ns);
        }
        let counted = time.parts().into_iter().fold(0, u64::saturating_add);
        time.ns = ns.max(counted);
        time.uncounted_ns = time.ns - counted;
        time
    }

    /// Takes what is not accounted for as idle. So it is on a CPU on which no task was switched to, if the kernel's own
    /// account has it as idle: one task had the CPU all the time, the idle task.
    pub(crate) fn count_rest_as_idle(&mut self) {
        self.idle_ns += std::mem::take(&mut self.uncounted_ns);
    }

    /// Adds the time of another CPU, or of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.ns += other.ns;
        self.interruptions_ns += other.interruptions_ns;
        self.command_ns += other.command_ns;
        self.observer_ns += other.observer_ns;
        self.other_tasks_ns += other.other_tasks_ns;
        self.idle_ns += other.idle_ns;
        self.uncounted_ns += other.uncounted_ns;
    }

    /// All parts, in the order of the fields.
    pub fn parts(&self) -> [u64; 6] {
        [
            self.interruptions_ns,
            self.command_ns,
            self.observer_ns,
            self.other_tasks_ns,
            self.idle_ns,
            self.uncounted_ns,
        ]
    }

    /// A part as a share of all, 0 to 1.
    pub fn share(&self, part_ns: u64) -> f64 {
        part_ns as f64 / self.ns.max(1) as f64
    }

    /// Time slices of user tasks, whosever they are, ns.
    pub fn user_tasks_ns(&self) -> u64 {
        self.command_ns + self.observer_ns + self.other_tasks_ns
    }
}

#[cfg(test)]
mod tests;
