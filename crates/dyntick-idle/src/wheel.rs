// SPDX-License-Identifier: GPL-2.0-only
//! Timers of the timer wheel that ran: each was pending from when it was set. Their expiries are in jiffies, which no
//! event relates to the trace's clock, and no event of a recording shows that one is cancelled.

use crate::sleep::Sleep;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A timer from when it was set until it ran, ns.
#[derive(Clone, Copy)]
struct Pending {
    set_ns: u64,
    ran_ns: u64,
}

/// The timers that ran, by CPU.
#[derive(Default)]
pub(crate) struct Wheel {
    set: HashMap<u64, u64>,
    ran: HashMap<u32, Vec<Pending>>,
}

impl Wheel {
    pub fn set(&mut self, timer: u64, now_ns: u64) {
        self.set.insert(timer, now_ns);
    }

    pub fn ran(&mut self, timer: u64, cpu: u32, now_ns: u64) {
        if let Some(set_ns) = self.set.remove(&timer) {
            self.ran.entry(cpu).or_default().push(Pending { set_ns, ran_ns: now_ns });
        }
    }

    /// Notes in the sleeps of a CPU, which are in order of time, which timer ran next that was pending then.
    pub fn note(&self, cpu: u32, sleeps: &mut [Sleep]) {
        let mut all = self.ran.get(&cpu).cloned().unwrap_or_default();
        all.sort_unstable_by_key(|timer| timer.set_ns);
        let mut all = all.into_iter().peekable();
        let mut pending = BinaryHeap::new();
        for sleep in sleeps {
            let since_ns = sleep.inputs.since_ns;
            while let Some(timer) = all.next_if(|timer| timer.set_ns <= since_ns) {
                pending.push(Reverse(timer.ran_ns));
            }
            while pending.peek().is_some_and(|Reverse(ran_ns)| *ran_ns <= since_ns) {
                pending.pop();
            }
            sleep.inputs.wheel_ns = pending.peek().map(|Reverse(ran_ns)| *ran_ns);
        }
    }

    /// Forgets the timers of a CPU that ran before this moment.
    pub fn forget(&mut self, cpu: u32, before_ns: u64) {
        if let Some(ran) = self.ran.get_mut(&cpu) {
            ran.retain(|timer| timer.ran_ns > before_ns);
        }
    }
}
