// SPDX-License-Identifier: GPL-2.0-only
//! The eBPF programs that count what interrupts a CPU, as bytes of an object file, and where they
//! leave their counts.
//!
//! The programs are in `programs/` and compiled by `build.rs`. Each of `count.c` is named as the tracepoint that
//! it belongs to; what times calls of functions is in [`calls`], and the time of followed threads in [`waits`].

pub mod calls;
pub mod layout;
pub mod waits;

use layout::{BUCKETS, FIXED, FOUND, NAME, PAUSED, PROGRAMS};

/// The object file. Its reader wants words at their natural places.
pub static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/count.o")));

/// Bytes at an address that is a multiple of 8.
#[repr(C, align(8))]
pub struct Aligned<T: ?Sized>(pub T);

/// The map with the counts: an array of [`Row`], one for each CPU that is counted, which may be
/// mapped into memory.
pub const ROWS: &str = "rows";
/// The map with the threads that are followed: a bit for each of [`layout::MAX_THREADS`], in words of 64, which
/// may be mapped into memory. Bits are set and cleared by atomic operations.
pub const FOLLOWED: &str = "followed";
/// The program that follows threads.
pub const FOLLOW: &str = "sched_process_fork";
/// The global with the row of each CPU: an array of [`layout::MAX_CPUS`] u32.
pub const ROW_OF_CPU: &str = "row_of_cpu";
/// The global with the address of the function of the tick's timer: u64, 0 where it is not known.
pub const TICK_FUNCTION: &str = "tick_function";

/// The global with the process whose tasks are counted apart: u32.
pub const OBSERVER: &str = "observer";

/// The global that says whether task switches are counted: u32.
pub const SEES_SWITCHES: &str = "sees_switches";

/// The ring buffer with a [`Detail`] of each that took long.
pub const DETAILS: &str = "details";
/// The global with the duration from which that is, ns: u64, `u64::MAX` for none.
pub const DETAILS_OVER: &str = "details_over";

/// `struct detail`: one that took long.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Detail {
    /// When it began, ns on CLOCK_MONOTONIC.
    pub start: u64,
    /// The duration, ns, without the interrupts within.
    pub ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// The slot that counts it.
    pub slot: u32,
    /// That slot's key then.
    pub key: u64,
    /// The interrupted thread; of a time slice, its thread.
    pub thread: u32,
    unused: u32,
    /// Its name, ended by a zero.
    pub comm: [u8; NAME],
}

/// `struct slot`: what one cause did on one CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The family in the highest byte, the member's identity below it; 0 for a free or fixed slot.
    pub key: u64,
    /// The number of occurrences; a program's slot includes those of its earlier programs. No count ever falls.
    pub count: u64,
    /// Total duration, ns, without the interrupts within.
    pub ns: u64,
    /// The longest, ns.
    pub longest: u64,
    /// The name of a task or device, ended by a zero where it is shorter.
    pub name: [u8; NAME],
    /// Durations by their binary logarithm.
    pub histogram: [u64; BUCKETS],
}

/// `struct open`: what has begun and not ended.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Open {
    /// When, ns; 0 if it has ended.
    pub start: u64,
    /// Time in interrupts of this CPU until then, ns.
    pub stolen: u64,
    /// The timer, task or function.
    pub what: u64,
    /// The slot that counts it.
    pub slot: u32,
    unused: u32,
}

/// `struct paused`: a work item whose kworker was switched out.
#[repr(C)]
#[derive(Clone, Copy)]
struct Paused {
    began: u64,
    ran: u64,
    what: u64,
    runtime: u64,
    slot: u32,
    thread: u32,
}

/// `struct row`: the counts of one CPU.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Row {
    /// Total time in interrupts and softirqs, ns.
    pub stolen: u64,
    hrtimers: u64,
    /// The number of details that found no room.
    pub details_lost: u64,
    claiming: u64,
    /// True if any threads are followed. Written by the reader alone.
    pub follows: u64,
    /// The time from which each task switch is seen, ns on CLOCK_MONOTONIC, until the first. Written by the
    /// reader alone.
    pub since: u64,
    /// The value of `stolen` at that time. Written by the reader alone.
    pub stolen_since: u64,
    /// True if a task ran at that time, and not the idle task. Written by the reader alone.
    pub busy: u64,
    vector: Open,
    device: Open,
    call: Open,
    hrtimer: [Open; 2],
    timer: Open,
    /// The task that runs now.
    pub task: Open,
    /// The work item that runs now, since its kworker was switched to.
    pub work: Open,
    work_began: u64,
    work_ran: u64,
    worker: u64,
    works: u64,
    pauses: u64,
    paused: [Paused; PAUSED],
    softirq: [Open; 16],
    /// All slots: those with a fixed meaning, those that are found by their keys, and those of programs.
    pub slots: [Slot; FIXED + FOUND + PROGRAMS],
    /// The count of each program's slot when the reader last read it with no time slice in progress. While the count
    /// is unchanged, the slot may be given to another program. Written by the reader alone; 0 for none.
    pub settled: [u64; PROGRAMS],
}
