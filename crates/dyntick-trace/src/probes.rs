// SPDX-License-Identifier: GPL-2.0-only
//! The kprobes that take the place of events that a kernel lacks: before 6.5 no event shows which CPU sends an IPI, and
//! for which function.

/// A kprobe.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The name of its event, which is decoded as `probe:NAME`.
    pub name: &'static str,
    /// The probed function and what is fetched there (`Documentation/trace/kprobetrace.rst`). At a function's first
    /// instruction `$stack0` is the return address.
    pub definition: &'static str,
    /// True if the event is the function's return.
    pub at_return: bool,
}

const fn probe(name: &'static str, definition: &'static str) -> Probe {
    Probe { name, definition, at_return: false }
}

/// The probes in place of `ipi:*` and `csd:csd_queue_cpu`. Their functions are those of 6.1's kernel/smp.c and
/// arch/x86/kernel/smp.c. The function of a `call_single_data` is behind its node of 16 bytes.
pub const SENDERS: [Probe; 4] = [
    probe(
        "call_many",
        "smp_call_function_many_cond targets=+0($arg1):x64 callsite=$stack0:x64 func=$arg2:x64",
    ),
    probe("call_single", "generic_exec_single cpu=$arg1:u32 callsite=$stack0:x64 func=+16($arg2):x64"),
    probe("kick", "tick_nohz_full_kick_cpu cpu=$arg1:u32 callsite=$stack0:x64"),
    probe("reschedule", "native_smp_send_reschedule cpu=$arg1:u32 callsite=$stack0:x64"),
];

/// The functions of irq_work that a CPU queues for itself: they bring the tick back, wake the readers of the kernel
/// log, or deliver a perf event. Each probe has the name of its function; the function
/// that queues them (kernel/irq_work.c) may not be probed.
pub const IRQ_WORKS: [Probe; 3] = [
    probe("nohz_full_kick_func", "nohz_full_kick_func"),
    probe("wake_up_klogd_work_func", "wake_up_klogd_work_func"),
    probe("perf_pending_irq", "perf_pending_irq"),
];

/// The probe of the calls for which `rcu_tasks_trace_kthread` interrupts CPUs (kernel/rcu/tasks.h, before 7.0). Mostly
/// timers wake that thread, and they do not show for which task.
pub const RCU_TASKS_TRACE: Probe = probe("rcu_tasks_trace", "call_rcu_tasks_trace");

/// The probe of accesses that a watch point of perf notices (kernel/events/core.c), whose hits are only counted.
pub const WATCH_POINT: Probe = probe("dyntick_watch_point", "perf_bp_event");

/// The probe of returns to programs after a trap of a uprobe (kernel/events/uprobes.c): one a hit, and one more if the
/// probed instruction has to be stepped. Its hits are only counted.
pub const UPROBE_TRAP: Probe = probe("dyntick_uprobe_trap", "uprobe_notify_resume");

/// The probes whose hits are only counted.
pub const COUNTED: [Probe; 2] = [WATCH_POINT, UPROBE_TRAP];

/// The probes of control groups that use up their CPU quota and get another (kernel/sched/fair.c, 6.1 to 7.2). No event
/// shows it. `GROUP` and `CPU` stand for the paths from the run queue to them, which depend on the kernel.
pub const QUOTAS: [Probe; 3] = [
    probe("throttle", "throttle_cfs_rq queue=$arg1:x64 group=GROUP:u64 cpu=CPU:s32"),
    Probe { name: "throttle_end", definition: "throttle_cfs_rq done=$retval:u8", at_return: true },
    probe("unthrottle", "unthrottle_cfs_rq queue=$arg1:x64"),
];

/// The probe that takes the place of the last of them where [`THROTTLED_THREAD`] is: there the function may return
/// without effect, as the group has used up its next quota already. `FLAG` stands for the mark of a throttled queue,
/// which is read at the return (6.9 and newer); only events without it count.
pub const UNTHROTTLED: Probe = Probe {
    name: "unthrottle",
    definition: "unthrottle_cfs_rq queue=$arg1:x64 throttled=FLAG",
    at_return: true,
};

/// The probe of threads that such a group's quota takes off their CPU (kernel/sched/fair.c, 6.18 and newer). There a
/// thread of a throttled run queue runs on until it returns to user mode.
pub const THROTTLED_THREAD: Probe = probe("throttle_thread", "throttle_cfs_rq_work");

/// The probe of system calls of 32 bits on x86 (arch/x86/entry/syscall_32.c), whose numbers have another table. It lies
/// between the events of entry and exit.
pub const COMPAT_CALL: Probe = probe("compat_call", "ia32_sys_call");

/// The probes of threads that want to write-lock a semaphore which others have (kernel/locking/rwsem.c, 6.1 to 7.2).
/// They spin before `lock:contention_begin`, and may get it without.
pub const RWSEM_WRITE: [Probe; 2] = [
    probe("rwsem_write", "rwsem_down_write_slowpath lock=$arg1:x64"),
    Probe { name: "rwsem_write_end", definition: "rwsem_down_write_slowpath", at_return: true },
];

/// The probe at the end of a page fault, which has no event: the function that handles it returns (mm/memory.c).
pub const FAULT_END: Probe = Probe { name: "fault_end", definition: "handle_mm_fault", at_return: true };
