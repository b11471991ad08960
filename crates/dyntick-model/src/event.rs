// SPDX-License-Identifier: GPL-2.0-only
//! The events that a kernel reported of a CPU.

use crate::{CpuList, Interrupt, TickDependency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name of a kernel function, or its address in hexadecimal where no name is known.
pub type Symbol = Arc<str>;

/// One trace event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, ns on the trace clock (CLOCK_MONOTONIC of the traced kernel).
    pub ts: u64,
    /// The CPU that it happened on.
    pub cpu: u32,
    /// The thread that was running then; 0 is the idle task.
    pub pid: i32,
    /// The actor: that thread, or what had interrupted it.
    pub within: Within,
    /// The event itself.
    pub kind: EventKind,
}

/// The context of the kernel at an event (`common_flags`). Each one interrupts those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Within {
    /// That of the running thread, or an unknown one.
    #[default]
    Task,
    /// A softirq.
    Softirq,
    /// A hard interrupt, or an NMI.
    Interrupt,
}

impl Within {
    /// Reads the flags of an event: TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ and TRACE_FLAG_NMI of
    /// `include/linux/trace_events.h` (the same in 6.1, 6.12 and 7.3).
    pub fn of_flags(flags: u64) -> Self {
        match flags {
            flags if flags & 0x48 != 0 => Within::Interrupt,
            flags if flags & 0x10 != 0 => Within::Softirq,
            _ => Within::Task,
        }
    }
}

/// The kernel's softirqs, in the order of `include/linux/interrupt.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Softirq {
    Hi,
    Timer,
    NetTx,
    NetRx,
    Block,
    IrqPoll,
    Tasklet,
    Sched,
    Hrtimer,
    Rcu,
}

impl Softirq {
    /// The number of softirqs (`NR_SOFTIRQS`).
    pub const COUNT: usize = 10;

    /// All of them.
    pub const ALL: [Softirq; Self::COUNT] = [
        Softirq::Hi,
        Softirq::Timer,
        Softirq::NetTx,
        Softirq::NetRx,
        Softirq::Block,
        Softirq::IrqPoll,
        Softirq::Tasklet,
        Softirq::Sched,
        Softirq::Hrtimer,
        Softirq::Rcu,
    ];

    /// Returns the softirq of a `vec` field of `irq:softirq_*`.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// The kernel's name, as in `/proc/softirqs`.
    pub fn kernel_name(self) -> &'static str {
        const NAMES: [&str; Softirq::COUNT] =
            ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
        NAMES[self as usize]
    }
}

/// An event of the kernel, named in the comment of each variant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are the kernel's own
pub enum EventKind {
    /// An interrupt that no device sent begins; its event depends on the architecture (`irq_vectors:*_entry` on x86)
    InterruptEntry { source: Interrupt },
    /// The end of that (`irq_vectors:*_exit` on x86)
    InterruptExit { source: Interrupt },
    /// `irq:irq_handler_entry`
    IrqEntry { irq: u32, name: Symbol },
    /// `irq:irq_handler_exit`
    IrqExit { irq: u32 },
    /// `irq:softirq_raise`
    SoftirqRaise { softirq: Softirq },
    /// `irq:softirq_entry`
    SoftirqEntry { softirq: Softirq },
    /// `irq:softirq_exit`
    SoftirqExit { softirq: Softirq },
    /// `timer:tick_stop`
    TickStop { success: bool, dependency: TickDependency },
    /// `timer:hrtimer_start`; `soft` is the first time at which it may expire and `expires` the last, in ns of the
    /// timer's clock
    HrtimerStart { timer: u64, function: Symbol, expires: i64, soft: i64 },
    /// `timer:hrtimer_cancel`
    HrtimerCancel { timer: u64 },
    /// `timer:hrtimer_expire_entry`; `now` in ns of the timer's clock
    HrtimerEntry { timer: u64, function: Symbol, now: i64 },
    /// `timer:hrtimer_expire_exit`
    HrtimerExit { timer: u64 },
    /// `timer:timer_start`; `expires` in jiffies, `flags` with the CPU in the low bits
    TimerStart { timer: u64, function: Symbol, expires: u64, flags: u32 },
    /// `timer:timer_expire_entry`
    TimerEntry { timer: u64, function: Symbol },
    /// `timer:timer_expire_exit`
    TimerExit { timer: u64 },
    /// `workqueue:workqueue_queue_work`; `target` is the CPU that it was queued for
    WorkQueued { work: u64, function: Symbol, target: u32 },
    /// `workqueue:workqueue_execute_start`
    WorkStart { work: u64, function: Symbol },
    /// `workqueue:workqueue_execute_end`
    WorkEnd { work: u64 },
    /// `sched:sched_switch`; `prev_state` 0 means that `prev` still wanted to run
    SchedSwitch { prev: i32, prev_comm: Symbol, prev_state: u64, next: i32, next_comm: Symbol },
    /// `sched:sched_process_fork`: `parent` started the thread `child`
    SchedFork { parent: i32, child: i32 },
    /// `task:task_rename`: a task has another name, as after it executed another program
    TaskRename { pid: i32, comm: Symbol },
    /// `sched:sched_wakeup` and `sched_wakeup_new`
    SchedWakeup { pid: i32, comm: Symbol, target: u32 },
    /// `sched:sched_waking`: a wake-up of a task begins
    SchedWaking { pid: i32, target: u32 },
    /// `power:cpu_idle`: a state is entered, or left where it is none
    CpuIdle { state: Option<u32> },
    /// `power:menu_predict` of the patch `menu-predict-event`: what the menu governor predicted (ns), what it
    /// went by in the end, and the time to the next timer, about `i64::MAX` where there is none or it was not looked up
    MenuPredict { predicted_ns: u64, used_ns: u64, next_timer_ns: u64, tick_stopped: bool },
    /// `power:cpu_idle_miss`: the sleep that ended would have had a better state
    CpuIdleMiss { state: u32, below: bool },
    /// `sched:sched_migrate_task`: a task that waits or is being woken is moved to another CPU
    SchedMigrate { pid: i32, comm: Symbol, from: u32, to: u32 },
    /// `ipi:ipi_send_cpu` (6.5 and newer): sent by this CPU, to itself where it queued `callback` for
    /// interrupt context. One without a callback asks for the scheduler
    IpiSend { target: u32, callsite: Symbol, callback: Option<Symbol> },
    /// `ipi:ipi_send_cpumask` (6.5 and newer): sent by this CPU to several
    IpiSendMask { targets: CpuList, callsite: Symbol, callback: Option<Symbol> },
    /// `csd:csd_queue_cpu` (6.5 and newer): this CPU asks another to run a function
    CsdQueued { target: u32, callsite: Symbol, function: Symbol },
    /// The same for several CPUs, from a probe before 6.5; of the first 64 CPUs only
    CsdQueuedMask { targets: CpuList, callsite: Symbol, function: Symbol },
    /// `csd:csd_function_entry` (6.5 and newer): a function that another CPU asked for
    CsdEntry { function: Symbol },
    /// `csd:csd_function_exit`
    CsdExit { function: Symbol },
    /// A function that was queued for interrupt context begins, from a probe before 6.5
    IrqWork { function: Symbol },
    /// `nmi:nmi_handler`, recorded at the handler's end; `duration_ns` is its duration
    Nmi { handler: Symbol, duration_ns: u64 },
    /// `exceptions:page_fault_user` and `page_fault_kernel` (x86); `address` is what was touched, `ip`
    /// by which instruction, `error` the processor's error code
    PageFault { user: bool, address: u64, ip: u64, error: u64 },
    /// The return of `handle_mm_fault()`, from a probe
    PageFaultEnd,
    /// `vmscan:mm_vmscan_memcg_reclaim_begin`: this thread begins to free memory of a control group, which has reached
    /// a limit
    ReclaimBegin,
    /// `vmscan:mm_vmscan_memcg_reclaim_end`
    ReclaimEnd,
    /// A probe of `throttle_cfs_rq()`: the control group `group`, by the number of its folder, may have used up its CPU
    /// quota on `cpu`, where it has this run queue
    Throttle { queue: u64, group: u64, cpu: u32 },
    /// The return of `throttle_cfs_rq()`; `done` is false if the group got more time
    ThrottleEnd { done: bool },
    /// A probe of `unthrottle_cfs_rq()`: the group may run again in this run queue
    Unthrottle { queue: u64 },
    /// A probe of `throttle_cfs_rq_work()` (6.18 and newer): the present thread returns to user mode, and its group has
    /// used up its CPU quota
    ThrottleThread,
    /// `raw_syscalls:sys_enter`
    CallEntry { number: u32 },
    /// `raw_syscalls:sys_exit`
    CallExit { number: u32 },
    /// A probe of `ia32_sys_call()`: the present system call is one of 32 bits
    CompatCall,
    /// A probe of `call_rcu_tasks_trace`: a callback waits for a grace period of RCU Tasks Trace
    RcuTasksTrace,
    /// `lock:contention_begin` (5.19 and newer): this thread, or what had interrupted it, waits for a lock
    LockWait { lock: u64 },
    /// `lock:contention_end`, or the return of a function that takes a lock, from a probe that does not know which
    LockWaitEnd { lock: Option<u64> },
    /// `signal:signal_generate`: a signal is sent to a thread
    SignalSent { signal: u32, pid: i32 },
    /// `ftrace:kernel_stack`: where the kernel was at the event just before it of this CPU, the innermost function
    /// first
    KernelStack { frames: Arc<[Symbol]> },
    /// `ftrace:user_stack`: where the program was, in the memory of `process`
    UserStack { process: i32, frames: Arc<[u64]> },
    /// `timer:itimer_state`: this task's interval timer `which` (as in setitimer) was armed or not
    Itimer { which: u32, armed: bool },
}
