// SPDX-License-Identifier: GPL-2.0-only
//! The events that a trace can show. A rule that concludes something from the absence of an event asks here first: the
//! trace of another tool may lack the event because nothing recorded it.

use std::collections::BTreeSet;

/// The events of which a trace shows each one that occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Recorded {
    /// All events that causes are found by, as in the records of dyntick.
    #[default]
    All,
    /// Only these, by `system:name`.
    Only(BTreeSet<String>),
}

impl Recorded {
    /// Returns true if an hrtimer that is not seen did not expire.
    pub fn has_hrtimers(&self) -> bool {
        self.has("timer:hrtimer_expire_entry")
    }

    /// Returns true if a timer of the wheel that is not seen did not expire.
    pub fn has_wheel_timers(&self) -> bool {
        self.has("timer:timer_expire_entry")
    }

    /// Returns true if a tick that is not seen to be stopped runs: by the decisions on it, or because the handler of
    /// a running tick starts its timer again.
    pub fn has_stopped_ticks(&self) -> bool {
        self.has("timer:tick_stop") || self.has("timer:hrtimer_start")
    }

    /// Returns true if a task that is not seen to be woken was not.
    pub fn has_wakeups(&self) -> bool {
        self.has("sched:sched_wakeup")
    }

    /// Returns true if the task of a CPU is known.
    pub fn has_switches(&self) -> bool {
        self.has("sched:sched_switch")
    }

    fn has(&self, event: &str) -> bool {
        match self {
            Recorded::All => true,
            Recorded::Only(events) => events.contains(event),
        }
    }
}
