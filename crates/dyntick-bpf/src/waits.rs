// SPDX-License-Identifier: GPL-2.0-only
//! The programs that account for the time of followed threads (`programs/waits.h`), and where they leave it.

use crate::Aligned;
use crate::layout::kind::KINDS;
use crate::layout::{NAME, RIVALS};

/// The object file (`programs/command.c`). It has all programs of [`crate::OBJECT`] too, of which [`SWITCH`]
/// does both.
pub static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/command.o")));

/// The tracepoints of which programs only account for time, each named like its program. Besides them [`SWITCH`] and
/// [`crate::FOLLOW`] are to be attached.
pub const TRACEPOINTS: [&str; 3] = ["sched_wakeup", "sched_wakeup_new", "sched_process_exec"];
/// The tracepoints of waits for locks of the kernel, each named like its program: none before 5.19.
pub const LOCKS: [&str; 2] = ["contention_begin", "contention_end"];
/// The tracepoints of threads that free memory of their control group, each named like its program.
pub const RECLAIMS: [&str; 2] = ["mm_vmscan_memcg_reclaim_begin", "mm_vmscan_memcg_reclaim_end"];
/// The program of task switches.
pub const SWITCH: &str = "sched_switch";
/// The map with the threads: one value with [`crate::layout::THREADS`] of [`Thread`], which may be mapped into
/// memory.
/// A slot is free, then a thread's, which the programs write to, and then the reader's, who clears it.
pub const THREADS: &str = "threads";
/// The map with the CPUs: an array of [`Cpu`] by number, which may be mapped into memory.
pub const CPUS: &str = "cpus";
/// The global with the longest way of a CPU out of idle, ns: u64.
pub const LONGEST_IDLE_EXIT: &str = "longest_idle_exit";
/// The global that is 1 if any control group has a CPU quota: u32.
pub const SEES_QUOTAS: &str = "sees_quotas";
/// The mark of a CPU that is idle, in [`Cpu::idle`].
pub const IS_IDLE: u64 = 1 << 63;

/// The idle time of a CPU at a time at which its [`Cpu::idle`] was this.
pub fn idle_at(idle: u64, time: u64) -> u64 {
    if idle & IS_IDLE == 0 { idle } else { time.saturating_sub(idle & !IS_IDLE) }
}

/// `struct thread`: a followed thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its number; [`crate::layout::NO_THREAD`] if the thread has ended, and in slots that the idle task would have.
    pub tid: u32,
    /// Its state ([`crate::layout::kind`]).
    pub state: u32,
    /// The begin of the state, ns on CLOCK_MONOTONIC; 0 while it changes.
    pub since: u64,
    /// The time at which it was woken in this state, ns on CLOCK_MONOTONIC, and since which it waits for a CPU; 0 if it
    /// was not.
    pub woken: u64,
    /// The value of [`Cpu::idle`] of the CPU that it waits for, when the wait began.
    pub idle: u64,
    /// The time for which its run queue had been throttled by CPU quotas when the wait began, ns by the scheduler.
    pub throttled: u64,
    /// The address of the lock of the kernel that it waits for; 0 for none.
    pub lock: u64,
    /// The CPU that it waits for.
    pub cpu: u32,
    /// True if one whose state at the begin is not known is taken for one that ran. Written by the reader alone.
    pub assumed: u8,
    /// True if a thread that belongs here is in another slot, or was.
    pub displaced: u8,
    /// The sort of the task of `by` ([`crate::layout::by`]).
    pub by_whom: u8,
    /// The state that it is in when it has a CPU: [`crate::layout::kind::RAN`], or
    /// [`crate::layout::kind::RECLAIMED`] while it frees memory of its control group.
    pub runs_as: u8,
    /// The name of the task that got its CPU when it was preempted, ended by a zero.
    pub by: [u8; NAME],
    /// The time of each kind, ns, without the present state.
    pub ns: [u64; KINDS],
}

/// `struct sum`: pieces of time that have ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Their number.
    pub count: u64,
    /// The longest, ns.
    pub longest: u64,
}

/// Waits of one kind in which tasks of one name had the CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Had {
    /// Their time, ns.
    pub ns: u64,
    /// Their number and the longest, which are in no other sum.
    pub sum: Sum,
}

/// `struct rival`: the waits in which tasks of one name had the CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rival {
    /// The name, ended by a zero; empty if it is free.
    pub name: [u8; NAME],
    /// The waits after a wake-up, and the waits after a preemption.
    pub waits: [Had; 2],
}

/// `struct cpu`: what happened on one CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    /// Its idle time, ns; while it is idle the time since which it would be that, with [`IS_IDLE`].
    pub idle: u64,
    /// Its idle time before the present one, while it is idle.
    pub idle_before: u64,
    /// The number of threads that began.
    pub began: u64,
    /// The number of threads that ended.
    pub ended: u64,
    /// The number of threads that began and found no slot.
    pub no_room: u64,
    /// The time of real-time tasks in waits in which nothing ran, but for ways out of idle, ns.
    pub real_time_ns: u64,
    /// The control group of the last such wait, or throttled one, by the number of its folder.
    pub group: u64,
    /// The control group of the last thread that freed memory, or was blocked for it, by the number of its folder.
    pub memory_group: u64,
    /// The pieces that ended, by kind, without those of [`Rival`].
    pub sums: [Sum; KINDS],
    /// The tasks that had the CPU: those that are not followed, and those that are.
    pub rivals: [[Rival; RIVALS]; 2],
}
