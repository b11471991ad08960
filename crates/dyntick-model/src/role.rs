// SPDX-License-Identifier: GPL-2.0-only
//! Functions of the kernel that mean more than that they ran.

use crate::TICK_FUNCTIONS;

/// The role of a kernel function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The tick's own hrtimer.
    Tick,
    /// Queued for another CPU so that it decides on its tick again, and does nothing itself.
    TickKick,
    /// The timer of a deadline entity: of a task, or of the server of the fair class.
    DeadlineTimer,
    /// Called on another CPU to enqueue the tasks that were woken for it.
    QueuedWakeups,
    /// The timer of a delayed work item, which queues it.
    DelayedWork,
    /// A work item that only marks the end of others.
    WorkBarrier,
}

/// The function that `tick_nohz_full_kick_cpu` queues (kernel/time/tick-sched.c).
pub const TICK_KICK: &str = "nohz_full_kick_func";

/// All but those of the tick. The names are the same in 6.1 to 7.2.
const FUNCTIONS: [(&str, Role); 5] = [
    (TICK_KICK, Role::TickKick),
    ("dl_task_timer", Role::DeadlineTimer), // kernel/sched/deadline.c
    ("sched_ttwu_pending", Role::QueuedWakeups), // kernel/sched/core.c
    ("delayed_work_timer_fn", Role::DelayedWork), // kernel/workqueue.c
    ("wq_barrier_func", Role::WorkBarrier), // kernel/workqueue.c
];

impl Role {
    /// Returns the role of a function, by its name without offset and suffix.
    pub fn of(function: &str) -> Option<Self> {
        if TICK_FUNCTIONS.contains(&function) {
            return Some(Role::Tick);
        }
        FUNCTIONS.iter().find(|(name, _)| *name == function).map(|(_, role)| *role)
    }

    /// The names of all functions that are known for something.
    pub fn functions() -> impl Iterator<Item = &'static str> {
        TICK_FUNCTIONS.into_iter().chain(FUNCTIONS.into_iter().map(|(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name() {
        assert_eq!(Role::of("tick_nohz_handler"), Some(Role::Tick));
        assert_eq!(Role::of("nohz_full_kick_func"), Some(Role::TickKick));
        assert_eq!(Role::of("hrtimer_wakeup"), None);
    }
}
