// SPDX-License-Identifier: GPL-2.0-only
//! The affinity of dyntick's own threads, which stay off the CPUs that they observe.

use dyntick_model::CpuList;
use dyntick_system::{affinity, run_on};

/// A guard that keeps this thread on other CPUs; its drop restores the affinity.
pub(crate) struct OutOfTheWay {
    before: Option<CpuList>,
}

impl OutOfTheWay {
    /// Moves this thread, and the threads that it starts from now on, to `others`. The thread stays if that is refused,
    /// e.g. in a cpuset that has none of them.
    pub fn to(others: &CpuList) -> Self {
        let before = affinity(None).ok().filter(|_| !others.is_empty());
        let moved = before.is_some() && run_on(None, others).is_ok();
        Self { before: before.filter(|_| moved) }
    }

    /// Returns true if this thread has moved.
    pub fn worked(&self) -> bool {
        self.before.is_some()
    }
}

impl Drop for OutOfTheWay {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = run_on(None, before);
        }
    }
}
