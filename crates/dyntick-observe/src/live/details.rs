// SPDX-License-Identifier: GPL-2.0-only
//! Those that took long, one by one.

use super::Key;
use dyntick_model::Symbol;
use serde::Serialize;

/// What took longer than was asked for, until it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Each, in the order of their begin.
    pub occurrences: Vec<Occurrence>,
    /// How many more there were that found no room in the ring buffer.
    pub lost: u64,
}

/// One that took long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Occurrence {
    /// When it began, ns on CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// How long it took, ns, without the interrupts within.
    pub ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// What it was.
    pub key: Key,
    /// The thread that was interrupted; of a thread's turn, that thread. 0 is the idle task.
    pub thread: u32,
    /// Its name.
    pub comm: Symbol,
}
