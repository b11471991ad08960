// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::facts::HrtimerRun;
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer",
    title: "hrtimer (high-resolution timer) expired on this CPU",
    explanation: "A program or a part of the kernel armed a timer for a precise time. The function that ran \
        shows which one.",
    fixes: &[RuleFix::advice(
        "set the timer from a task on another CPU",
        "A timer is queued on the CPU that starts it; on nohz_full CPUs, timers that are not pinned are \
            queued on a housekeeping CPU instead.",
    )],
    source: "kernel/time/hrtimer.c: hrtimer_interrupt",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let HrtimerRun { function, set_by } = case.facts.hrtimers.first()?;
    if !matches!(case.kind, Kind::Hrtimer | Kind::TimerWheel) {
        return None;
    }
    let set = set_by.iter().map(|by| Step::SetTimer { by: by.into() });
    let expired = Step::HrtimerExpired { function: function.clone(), cpu: case.cpu() };
    let woke = case.facts.woken.as_ref().map(|task| Step::TimerWoke { task: task.clone() });
    Finding::new(CauseId::member(&RULE, function.clone()), set.chain([expired]).chain(woke))
}

/// The members of this class that have their own rule.
pub(super) static MEMBERS: &[Rule] = &[
    Rule {
        id: "hrtimer:dl_task_timer",
        title: "SCHED_DEADLINE task replenished (dl_task_timer)",
        explanation: "A task under SCHED_DEADLINE that has used its runtime is throttled until its next \
            period, which a timer starts.",
        fixes: &[RuleFix::advice(
            "run deadline tasks on other CPUs",
            "Their timers expire on the CPUs on which they run.",
        )],
        source: "kernel/sched/deadline.c: dl_task_timer",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:hrtick",
        title: "HRTICK: an hrtimer ended a time slice",
        explanation: "With the scheduler feature HRTICK (and HRTICK_DL for SCHED_DEADLINE), time slices end \
            by a separate hrtimer and not in the tick. From 7.1 on both are on by default if the \
            architecture can rearm the timer late (CONFIG_HRTIMER_REARM_DEFERRED, as on x86).",
        fixes: &[RuleFix::command(
            "echo NO_HRTICK > /sys/kernel/debug/sched/features",
            "Time slices end in the tick again.",
        )],
        source: "kernel/sched/core.c: hrtick",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:hrtimer_wakeup",
        title: "Timed sleep ended (nanosleep, poll, futex timeout)",
        explanation: "nanosleep, poll or a futex wait with a timeout ended. If the task runs on this CPU, \
            its own sleep caused this; if it runs elsewhere, it armed the timer while it was on this CPU.",
        fixes: &[
            RuleFix::advice("sleep less often, or poll without sleeping", "Each sleep costs one interrupt."),
            RuleFix::advice(
                "increase the timer slack (prctl PR_SET_TIMERSLACK) of tasks that need no precision",
                "Wake-ups that are close together share one interrupt.",
            ),
        ],
        source: "kernel/time/hrtimer.c: hrtimer_wakeup",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:it_real_fn",
        title: "Interval timer expired (setitimer ITIMER_REAL, alarm)",
        explanation: "setitimer(ITIMER_REAL) or alarm sends SIGALRM at intervals. The timer expires on the \
            CPU on which it was armed.",
        fixes: &[RuleFix::advice(
            "arm it from a thread on another CPU, or use a thread that sleeps there",
            "The interrupt occurs on that CPU.",
        )],
        source: "kernel/time/itimer.c: it_real_fn",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:perf_mux_hrtimer_handler",
        title: "perf event multiplexing (more events than counters)",
        explanation: "More perf events were opened on the CPU than it has counters, so a timer rotates them.",
        fixes: &[RuleFix::advice("measure fewer events at a time", "All events fit; none is rotated.")],
        source: "kernel/events/core.c: perf_mux_hrtimer_handler",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:perf_swevent_hrtimer",
        title: "perf sampling by an hrtimer (cpu-clock, task-clock)",
        explanation: "A perf event on a software clock (cpu-clock, task-clock) samples by an hrtimer; perf \
            record uses one if the machine has no hardware counters, as in most virtual machines.",
        fixes: &[
            RuleFix::advice("stop the profiler, or exclude this CPU from it", "No event, no timer."),
            RuleFix::advice(
                "sample less often (perf record -F 99, or -c with a longer period)",
                "One interrupt per sample.",
            ),
        ],
        source: "kernel/events/core.c: perf_swevent_hrtimer",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:posix_timer_fn",
        title: "POSIX timer expired (timer_create)",
        explanation: "A process has armed a POSIX timer on a wall-clock or monotonic clock (not a CPU-time \
            clock). It expires on the CPU where it was armed; on nohz_full CPUs it is queued on a \
            housekeeping CPU instead.",
        fixes: &[RuleFix::advice(
            "arm it from a thread on a housekeeping CPU, or use a longer interval",
            "The interrupt occurs on the CPU where the timer was armed.",
        )],
        source: "kernel/time/posix-timers.c: posix_timer_fn",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:rapl_hrtimer_handle",
        title: "RAPL energy counters read before they overflow",
        explanation: "The counters of a package belong to one of its CPUs, which reads them as often as \
            their width requires, while a process has events on them open. \
            /sys/bus/event_source/devices/power/cpumask shows which CPU that is.",
        fixes: FREE_OF_PACKAGE_COUNTERS,
        source: "arch/x86/events/rapl.c: rapl_hrtimer_handle",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:rseq_slice_expired",
        title: "End of a time slice extension that a thread had asked for (rseq)",
        explanation: "A thread that is to be preempted in a critical section may ask for a little more time in its rseq \
            area (PR_RSEQ_SLICE_EXTENSION, Linux 7.x). It gets 5 µs, or slice_ext_nsec in the folder rseq of debugfs. \
            The timer ends them, since the thread neither yielded nor entered the kernel before. The task that was to \
            run waited so much longer.",
        fixes: &[RuleFix::advice(
            "in the program: end the critical section with rseq_slice_yield() if the kernel granted the request",
            "The timer is cancelled, and the other task runs at once.",
        )],
        source: "kernel/rseq.c: rseq_slice_expired, __rseq_arm_slice_extension_timer",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:sched_cfs_period_timer",
        title: "CFS bandwidth control: quota of a control group refilled",
        explanation: "A group with a CPU limit (cpu.max; v1: cpu.cfs_quota_us) gets a new quota each period, by a timer on some \
            CPU of the group.",
        fixes: &[RuleFix::command("echo {quota}", "Removes the limit, and the timer stops.")],
        source: "kernel/sched/fair.c: sched_cfs_period_timer",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:sched_rt_period_timer",
        title: "RT throttling: period timer",
        explanation: "While real-time tasks run, a timer replenishes their runtime (950 ms of every second \
            by default) each period. Since 6.12 only kernels with CONFIG_RT_GROUP_SCHED do so.",
        fixes: &[RuleFix::command(
            "sysctl -w kernel.sched_rt_runtime_us=-1",
            not_tried!("No limit; a real-time task that never sleeps can then hang its CPU."),
        )],
        source: "kernel/sched/rt.c: sched_rt_period_timer",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:timerfd_tmrproc",
        title: "timerfd expired",
        explanation: "A process, often an event loop, has armed a timerfd. It expires on the CPU where it \
            was armed; on nohz_full CPUs it is queued on a housekeeping CPU instead.",
        fixes: &[RuleFix::advice(
            "arm it from a thread on a housekeeping CPU",
            "The interrupt occurs on the CPU where the timer was armed.",
        )],
        source: "fs/timerfd.c: timerfd_tmrproc",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:uncore_pmu_hrtimer",
        title: "Uncore PMU counters read before they overflow",
        explanation: "The counters of a package belong to one of its CPUs, which reads them once a minute, \
            or more often, while a process has events on them open. \
            /sys/bus/event_source/devices/uncore_*/cpumask shows which CPU that is.",
        fixes: FREE_OF_PACKAGE_COUNTERS,
        source: "arch/x86/events/intel/uncore.c: uncore_pmu_hrtimer, uncore_event_cpu_offline",
        ..Rule::DEFAULT
    },
    Rule {
        id: "hrtimer:watchdog_timer_fn",
        title: "Soft-lockup watchdog timer",
        explanation: "Every 2/5 of kernel.watchdog_thresh (4 s by default) a timer on each watched CPU wakes \
            its stopper thread (migration/N) and checks that it ran. nohz_full CPUs are not watched by \
            default.",
        fixes: &[
            RuleFix::command(
                "sysctl -w kernel.watchdog_cpumask={housekeeping}",
                "Only the housekeeping CPUs are watched.",
            ),
            RuleFix::command("sysctl -w kernel.soft_watchdog=0", "No soft-lockup watchdog at all."),
            RuleFix::boot("nosoftlockup", "The same from boot."),
        ],
        source: "kernel/watchdog.c: watchdog_timer_fn",
        ..Rule::DEFAULT
    },
];

/// The fixes for counters of a package that one of its CPUs reads.
const FREE_OF_PACKAGE_COUNTERS: &[RuleFix] = &[
    RuleFix::advice(
        "stop the processes that have these events open (perf stat, turbostat, monitoring agents)",
        untried!("Without events there is no timer."),
    ),
    RuleFix::command(
        "echo 0 > /sys/devices/system/cpu/cpu{cpu}/online; echo 1 > \
            /sys/devices/system/cpu/cpu{cpu}/online",
        untried!("The counters move to another CPU of the package, and stay there."),
    ),
    RuleFix::advice(
        "do not isolate the first CPU of each package",
        untried!("The kernel chooses that CPU at boot."),
    ),
];
