// SPDX-License-Identifier: GPL-2.0-only
//! The execution of one CPU, cut into kernel entries and wake-ups.
//!
//! A task's kernel entries lie on a stack: a system call, on it perhaps a page fault, on it perhaps
//! an interrupt. The stack goes with the task when it leaves the CPU. Instructions belong to the
//! entry on top of the stack of the task that executes, so each is counted once.

use crate::call::Calls;
use crate::count::Counts;

/// A kernel entry that is under way.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The CPU that it began on.
    pub cpu: u64,
    /// The function through which the kernel was entered.
    pub symbol: Option<u32>,
    /// True if it was entered from user mode.
    pub from_user: bool,
    /// The system call's own function, once it was reached.
    pub handler: Option<u32>,
    /// The instructions that it executed itself.
    pub counts: Counts,
    /// The function in which it executed last, where calls are shown; what only leads to another does not count.
    pub latest: Option<u32>,
    /// The calls of chosen functions in it that have not ended.
    pub calls: Calls,
}

/// A way from an interrupt of the idle loop or a kernel thread to the next instruction of a user.
#[derive(Clone, Debug, Default)]
pub struct WakeUp {
    /// The interrupt's entry.
    pub symbol: Option<u32>,
    /// All that the CPU executed since.
    pub counts: Counts,
    /// True if another task has come since.
    pub switched: bool,
}

/// The place at which the latest block was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Where {
    /// Nothing was executed yet.
    #[default]
    Nowhere,
    /// User mode.
    User,
    /// A function of the kernel.
    Kernel(Option<u32>),
}

/// One CPU.
#[derive(Clone, Debug, Default)]
pub struct Cpu {
    /// The task that runs; none until the first switch.
    pub task: Option<u64>,
    /// The current place.
    pub at: Where,
    /// True if the latest block was a return from an interrupt or exception.
    pub returns: bool,
    /// The return address of the exception whose handler begins with the next block.
    pub exception: Option<u64>,
    /// The kernel's own execution: idle loop and kernel threads.
    pub own: Counts,
    /// The wake-up that is under way.
    pub wake_up: Option<WakeUp>,
}
