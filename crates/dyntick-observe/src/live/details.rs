// SPDX-License-Identifier: GPL-2.0-only
//! The longest interruptions, one by one.

use super::Key;
use dyntick_model::Symbol;
use serde::Serialize;

/// The interruptions above the requested duration, until they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Each, in the order of their begin.
    pub occurrences: Vec<Occurrence>,
    /// The number of further ones that found no room in the ring buffer.
    pub lost: u64,
}

/// One that took long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Occurrence {
    /// When it began, ns on CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// The duration, ns, without the interrupts within.
    pub ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// The key under which it is counted.
    pub key: Key,
    /// The interrupted thread; of a time slice, its thread. 0 is the idle task.
    pub thread: u32,
    /// Its name.
    pub comm: Symbol,
}

impl Occurrence {
    /// Returns true if a task was interrupted: for a time slice the previous task is not known.
    pub fn interrupts_a_task(&self) -> bool {
        !matches!(self.key, Key::Task { .. } | Key::KernelThread { .. } | Key::Work { .. })
    }
}
