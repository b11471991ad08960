// SPDX-License-Identifier: GPL-2.0-only
//! Keeping this program off the CPUs that it observes.

use dyntick_model::CpuList;
use dyntick_system::{affinity, run_on};

/// This thread runs elsewhere while this lives, and where it did before afterwards.
pub(crate) struct OutOfTheWay {
    before: Option<CpuList>,
}

impl OutOfTheWay {
    /// Moves this thread, and so those that it starts from now on, to `others`; stays where that is
    /// refused, as in a cpuset of none of them.
    pub fn to(others: &CpuList) -> Self {
        let before = affinity(None).ok().filter(|_| !others.is_empty());
        let moved = before.is_some() && run_on(None, others).is_ok();
        Self { before: before.filter(|_| moved) }
    }

    /// Whether it could be done.
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
