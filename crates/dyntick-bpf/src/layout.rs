// SPDX-License-Identifier: GPL-2.0-only
//! The numbers that the programs and their reader share. This file is also part of `build.rs`, which
//! passes them to the C compiler by the same names.

/// Sizes and positions by name; see `layout.h` for what they mean.
pub const CONSTANTS: &[(&str, u32)] = &[
    ("MAX_CPUS", MAX_CPUS as u32),
    ("NAME", NAME as u32),
    ("BUCKETS", BUCKETS as u32),
    ("FIRST_BUCKET_BITS", FIRST_BUCKET_BITS),
    ("PAUSED", PAUSED as u32),
    ("OCTAVES", OCTAVES as u32),
    ("OPEN_CALLS", OPEN_CALLS),
    ("FIXED", FIXED as u32),
    ("FOUND", FOUND as u32),
    ("PROGRAMS", PROGRAMS as u32),
    ("MAX_THREADS", MAX_THREADS as u32),
    ("SOFTIRQ", SOFTIRQ as u32),
    ("SOFTIRQS", SOFTIRQS as u32),
    ("LOCAL_TIMER", vector::LOCAL_TIMER as u32),
    ("RESCHEDULE", vector::RESCHEDULE as u32),
    ("CALL_FUNCTION", vector::CALL_FUNCTION as u32),
    ("CALL_FUNCTION_SINGLE", vector::CALL_FUNCTION_SINGLE as u32),
    ("IRQ_WORK", vector::IRQ_WORK as u32),
    ("PLATFORM_IPI", vector::PLATFORM_IPI as u32),
    ("THERMAL", vector::THERMAL as u32),
    ("THRESHOLD", vector::THRESHOLD as u32),
    ("DEFERRED_ERROR", vector::DEFERRED_ERROR as u32),
    ("ERROR", vector::ERROR as u32),
    ("SPURIOUS", vector::SPURIOUS as u32),
    ("PERIODIC_TICK", fixed::PERIODIC_TICK as u32),
    ("STOPPED_TICK", fixed::STOPPED_TICK as u32),
    ("EMPTY_TIMER", fixed::EMPTY_TIMER as u32),
    ("FAULT_USER", fixed::FAULT_USER as u32),
    ("FAULT_KERNEL", fixed::FAULT_KERNEL as u32),
    ("TICK_STOPPED", fixed::TICK_STOPPED as u32),
    ("IDLE", fixed::IDLE as u32),
    ("UNNAMED", UNNAMED as u32),
    ("HRTIMER", family::HRTIMER),
    ("TIMER", family::TIMER),
    ("CALLED", family::CALLED),
    ("WORK", family::WORK),
    ("DEVICE", family::DEVICE),
    ("KERNEL_THREAD", family::KERNEL_THREAD),
    ("TASK", family::TASK),
    ("COMMAND", family::COMMAND),
    ("OBSERVER", family::OBSERVER),
    ("NMI", family::NMI),
    ("TICK_KEPT", family::TICK_KEPT),
    ("THREADS", THREADS as u32),
    ("THREAD_PROBES", THREAD_PROBES as u32),
    ("NO_THREAD", NO_THREAD),
    ("RIVALS", RIVALS as u32),
    ("KINDS", kind::KINDS as u32),
    ("WAKING", kind::WAKING as u32),
    ("RAN", kind::RAN as u32),
    ("BLOCKED", kind::BLOCKED as u32),
    ("BLOCKED_MEMORY", kind::BLOCKED_MEMORY as u32),
    ("STOPPED", kind::STOPPED as u32),
    ("TRACED", kind::TRACED as u32),
    ("SLEPT", kind::SLEPT as u32),
    ("WOKEN", kind::WOKEN as u32),
    ("PREEMPTED", kind::PREEMPTED as u32),
    ("RECLAIMED", kind::RECLAIMED as u32),
    ("UNSEEN", kind::UNSEEN as u32),
    ("ENDED", kind::ENDED as u32),
    ("BY_NONE", by::NONE as u32),
    ("BY_KERNEL", by::KERNEL as u32),
    ("BY_OTHER", by::OTHER as u32),
    ("BY_OWN", by::OWN as u32),
];

/// The highest number of CPUs that an x86 kernel supports (`NR_CPUS`).
pub const MAX_CPUS: usize = 8192;
/// The entry in `row_of_cpu` of a CPU that is not counted.
pub const NOT_COUNTED: u32 = u32::MAX;
/// Bytes of a name, as `TASK_COMM_LEN`.
pub const NAME: usize = 16;
/// Buckets of a histogram.
pub const BUCKETS: usize = 26;
/// The first bucket holds durations below 2 to this power, ns; each further one twice as much.
pub const FIRST_BUCKET_BITS: u32 = 7;
/// The most work items of a CPU whose kworkers sleep; a power of two.
pub const PAUSED: usize = 32;
/// Octaves of the durations of calls: the first is below 2 ns, each further one twice as much, the last has
/// all from 2^47 ns, a day and a half.
pub const OCTAVES: usize = 48;
/// The most calls of one function that are open at once; a power of two.
pub const OPEN_CALLS: u32 = 4096;
/// Slots with a fixed meaning.
pub const FIXED: usize = 64;
/// Slots whose key says what they count, but for those of programs; a power of two.
pub const FOUND: usize = 512;
/// Slots of programs, by the names of their tasks; a power of two.
pub const PROGRAMS: usize = 256;
/// The highest number of threads that the kernel gives numbers to (`PID_MAX_LIMIT` on 64-bit machines).
pub const MAX_THREADS: usize = 4 << 20;

/// The fixed slots of softirqs begin here, in the kernel's order.
pub const SOFTIRQ: usize = 16;
/// The number of softirqs (`NR_SOFTIRQS`, 6.1 to 7.2).
pub const SOFTIRQS: usize = 10;
/// The fixed slots that take what no slot could be found for begin here, one for each family.
pub const UNNAMED: usize = 40;

/// The fixed slots of interrupt vectors.
pub mod vector {
    #![allow(missing_docs)]
    pub const LOCAL_TIMER: usize = 0;
    pub const RESCHEDULE: usize = 1;
    pub const CALL_FUNCTION: usize = 2;
    pub const CALL_FUNCTION_SINGLE: usize = 3;
    pub const IRQ_WORK: usize = 4;
    pub const PLATFORM_IPI: usize = 5;
    pub const THERMAL: usize = 6;
    pub const THRESHOLD: usize = 7;
    pub const DEFERRED_ERROR: usize = 8;
    pub const ERROR: usize = 9;
    pub const SPURIOUS: usize = 10;
}

/// The other fixed slots.
pub mod fixed {
    /// The tick's timer expired while the tick ran.
    pub const PERIODIC_TICK: usize = 26;
    /// The tick's timer expired while the tick was stopped: once, for the timer wheel.
    pub const STOPPED_TICK: usize = 27;
    /// Local timer interrupts in which no hrtimer was due.
    pub const EMPTY_TIMER: usize = 28;
    /// Page faults of user code.
    pub const FAULT_USER: usize = 29;
    /// Page faults of the kernel.
    pub const FAULT_KERNEL: usize = 30;
    /// Decisions to stop the tick.
    pub const TICK_STOPPED: usize = 31;
    /// The idle task's time slices.
    pub const IDLE: usize = 32;
}

/// The family of a found slot: the highest byte of its key.
pub mod family {
    /// An hrtimer by its function.
    pub const HRTIMER: u32 = 1;
    /// A timer of the wheel by its function.
    pub const TIMER: u32 = 2;
    /// A function that another CPU called here.
    pub const CALLED: u32 = 3;
    /// A work item by its function.
    pub const WORK: u32 = 4;
    /// A device interrupt by its number.
    pub const DEVICE: u32 = 5;
    /// A kernel thread by its name.
    pub const KERNEL_THREAD: u32 = 6;
    /// A user thread by its name.
    pub const TASK: u32 = 7;
    /// A non-maskable interrupt by its handler.
    pub const NMI: u32 = 8;
    /// Decisions to keep the tick, by dependency mask.
    pub const TICK_KEPT: u32 = 9;
    /// A thread that is followed, by its name.
    pub const COMMAND: u32 = 10;
    /// A thread of the process that reads, by its name.
    pub const OBSERVER: u32 = 11;
}

/// Threads whose time is kept; a power of two.
pub const THREADS: usize = 16384;
/// The number of slots that a thread may have: that of its number, and the next ones.
pub const THREAD_PROBES: usize = 4;
/// The number of no thread.
pub const NO_THREAD: u32 = u32::MAX;
/// Names of tasks that had a CPU which a followed thread wanted, on each CPU, and as many of followed ones; a power of
/// two.
pub const RIVALS: usize = 64;

/// The kinds of a followed thread's time. Most are states too.
pub mod kind {
    /// A wait after a wake-up, in which its CPU left idle.
    pub const WAKING: usize = 0;
    /// It had a CPU.
    pub const RAN: usize = 1;
    /// It slept and could not be interrupted (D).
    pub const BLOCKED: usize = 2;
    /// The same, until memory was freed or read back (`in_memstall` of the task).
    pub const BLOCKED_MEMORY: usize = 3;
    /// A signal had stopped it (T).
    pub const STOPPED: usize = 4;
    /// A tracer had stopped it (t).
    pub const TRACED: usize = 5;
    /// It slept.
    pub const SLEPT: usize = 6;
    /// It was ready after a wake-up, and another task had its CPU.
    pub const WOKEN: usize = 7;
    /// The same, and nothing had it.
    pub const WOKEN_NOTHING: usize = 8;
    /// The same, and a quota of its control group kept it off, whatever had the CPU.
    pub const WOKEN_THROTTLED: usize = 9;
    /// It was ready after it was preempted, and another task had its CPU.
    pub const PREEMPTED: usize = 10;
    /// The same, and nothing had it.
    pub const PREEMPTED_NOTHING: usize = 11;
    /// The same, and a quota of its control group kept it off, whatever had the CPU.
    pub const PREEMPTED_THROTTLED: usize = 12;
    /// It had a CPU and freed memory of its control group, which had reached a limit.
    pub const RECLAIMED: usize = 13;
    /// Their number.
    pub const KINDS: usize = 14;

    /// A state that is no kind: the slot is free.
    pub const FREE: usize = 0;
    /// A state that is no kind: it was there at the begin and wanted or had a CPU.
    pub const UNSEEN: usize = 14;
    /// A state that is no kind: it has ended, and the reader has not read it.
    pub const ENDED: usize = 15;
}

/// The tasks that get the CPU of a preempted thread.
pub mod by {
    /// The idle task.
    pub const NONE: u8 = 0;
    /// A thread of the kernel.
    pub const KERNEL: u8 = 1;
    /// Any other task that is not followed.
    pub const OTHER: u8 = 2;
    /// A task that is followed, too. The bit by which the second half of a CPU's rivals differs from the first.
    pub const OWN: u8 = super::RIVALS as u8;
}
