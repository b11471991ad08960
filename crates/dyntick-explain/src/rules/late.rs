// SPDX-License-Identifier: GPL-2.0-only
//! The reasons for late wake-ups.

use super::{Rule, RuleFix};

/// The first advice for virtual machines.
const STEAL: RuleFix = RuleFix::advice(
    "this is a virtual machine: see steal first, with dyntick stat -C {cpu}",
    "Steal is the time in which the hypervisor did not run this virtual CPU; no event of its kernel shows it.",
);

pub(super) static IDLE: Rule = Rule {
    id: "late-idle",
    title: "Idle-state exit latency",
    explanation: "The CPU was idle: between the due time and the first interrupt nothing ran. Leaving an \
        idle state takes its exit latency.",
    fixes: &[
        STEAL,
        RuleFix::advice(
            "hold /dev/cpu_dma_latency at 0 (the default of dyntick latency: omit --laptop, --default-system \
                and --latency)",
            "Only polling and states without exit latency are used; costs power.",
        ),
        RuleFix::command(
            "echo n/a > /sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us",
            not_tried!(
                "This CPU polls when it is idle, which costs power and keeps its tick; no other CPU does."
            ),
        ),
    ],
    source: "drivers/cpuidle/cpuidle.c: cpuidle_enter_state",
    ..Rule::DEFAULT
};

/// The advice against timer slack (`kernel/sys.c: PR_SET_TIMERSLACK`, `fs/proc/base.c: timerslack_ns_write`). A
/// real-time policy has none (`kernel/sched/syscalls.c: __setscheduler_params`).
pub(crate) const LESS_SLACK: &str = "in the program: prctl(PR_SET_TIMERSLACK, 1), or a real-time policy, under which there \
    is no slack; for a thread that runs: write 1 to its timerslack_ns in /proc; for a service: TimerSlackNSec=1ns in its \
    unit";

pub(super) static SLACK: Rule = Rule {
    id: "late-slack",
    title: "Timer slack of the thread",
    explanation: "The timer of a thread under a normal policy may expire later by its timer slack, 50 µs by default, so \
        that several timers share one interrupt. The kernel set it for that later time.",
    fixes: &[RuleFix::advice(LESS_SLACK, "The timer expires at the time that the thread asked for.")],
    source: "kernel/time/hrtimer.c: hrtimer_nanosleep, schedule_hrtimeout_range",
    ..Rule::DEFAULT
};

pub(super) static THROTTLED: Rule = Rule {
    id: "late-throttled",
    title: "Throttled: the CPU quota of its control group was used up",
    explanation: "The thread was woken, and its group may not run before the next period of its quota (cpu.max; v1: \
        cpu.cfs_quota_us). The scheduler's functions show it, or an idle CPU, which takes a thread at once otherwise.",
    fixes: &[RuleFix::command("echo {quota}", not_tried!("Removes the quota."))],
    source: "kernel/sched/fair.c: throttle_cfs_rq",
    ..Rule::DEFAULT
};

pub(super) static REAL_TIME_LIMIT: Rule = Rule {
    id: "late-real-time-limit",
    title: "Throttled: real-time tasks had used up their share",
    explanation: "The thread was woken, and waited although the CPU ran nothing: real-time tasks may use \
        sched_rt_runtime_us of each sched_rt_period_us.",
    fixes: &[RuleFix::command("sysctl -w kernel.sched_rt_runtime_us=-1", not_tried!("Removes the limit."))],
    source: "kernel/sched/rt.c: sched_rt_runtime_exceeded",
    ..Rule::DEFAULT
};

pub(super) static INTERRUPTS_OFF: Rule = Rule {
    id: "late-interrupts-off",
    title: "Timer interrupt delayed while a task ran (interrupts off, SMI, hypervisor)",
    explanation: "No event shows the reason: the task had interrupts disabled in the kernel, or firmware \
        (SMI) or a hypervisor took the CPU from the kernel.",
    fixes: &[
        STEAL,
        RuleFix::advice(
            "trace it with trace-cmd record -p irqsoff sleep 10",
            "Names the kernel function that disables interrupts for longest (CONFIG_IRQSOFF_TRACER).",
        ),
        RuleFix::advice("measure again with --smi", "Counts system management interrupts."),
    ],
    source: "kernel/time/hrtimer.c: hrtimer_interrupt",
    names_origin: false,
    ..Rule::DEFAULT
};

pub(super) static NOTHING: Rule = Rule {
    id: "late-nothing",
    title: "Nothing ran that the kernel knows of (hypervisor, SMI)",
    explanation: "The CPU was idle, or on its way to the thread, and had no event for longer than that takes. A \
        hypervisor or firmware (SMI) had it, or its idle state takes longer to leave than the kernel knows.",
    fixes: &[STEAL, RuleFix::advice("measure again with --smi", "Counts system management interrupts.")],
    source: "drivers/cpuidle/cpuidle.c: cpuidle_enter_state; kernel/time/hrtimer.c: hrtimer_interrupt",
    names_origin: false,
    ..Rule::DEFAULT
};

pub(super) static OWN: Rule = Rule {
    id: "late-own",
    title: "Overrun: the previous cycle had not finished",
    explanation: "The previous wake-up took so long that the next one was already due before the thread \
        slept again.",
    fixes: &[STEAL, RuleFix::advice("use a longer --interval", "Leaves more time between two wake-ups.")],
    source: "kernel/time/hrtimer.c: do_nanosleep",
    ..Rule::DEFAULT
};

pub(super) static PATH: Rule = Rule {
    id: "late-path",
    title: "Wake-up path: timer interrupt, wake-up, context switch",
    explanation: "Every wake-up takes this time; tracing makes it longer.",
    source: "kernel/time/hrtimer.c: hrtimer_wakeup; kernel/sched/core.c: try_to_wake_up, __schedule",
    ..Rule::DEFAULT
};

pub(super) static PREEMPTION_OFF: Rule = Rule {
    id: "late-preemption-off",
    title: "Preemption disabled: a lower-priority task kept the CPU",
    explanation: "The thread was woken, but the task that had the CPU was in a section with preemption \
        disabled, or the kernel has only few preemption points.",
    fixes: &[
        RuleFix::boot(
            "preempt=full",
            not_tried!(
                "The kernel can be preempted almost everywhere (kernels with CONFIG_PREEMPT_DYNAMIC)."
            ),
        ),
        RuleFix::command(
            "apt install linux-image-rt-amd64",
            not_tried!("A PREEMPT_RT kernel, in which almost nothing disables preemption."),
        ),
        RuleFix::command("taskset -pc {housekeeping} {task}", not_tried!("Moves the task away.")),
    ],
    source: "kernel/sched/core.c: preempt_schedule",
    ..Rule::DEFAULT
};

pub(super) static UNSEEN: Rule = Rule {
    id: "late-unseen",
    title: "Not attributed: no trace events from that time",
    explanation: "The ring buffer has no event from before this time, so it is not known what ran.",
    source: "kernel/trace/ring_buffer.c",
    names_origin: false,
    ..Rule::DEFAULT
};
