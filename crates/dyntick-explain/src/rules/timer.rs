// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "timer",
    title: "Timer (timer wheel) expired on this CPU",
    explanation: "Kernel code armed a timer that expired on this CPU. If the tick was stopped, the CPU was \
        woken or interrupted for it; if it was due within one period, the tick was kept for it. A deferrable \
        timer never does either. From 6.9 on it may be the timer of another CPU that is idle; before 6.19, \
        isolated CPUs whose tick runs also run such timers (remote-timer).",
    fixes: &[
        RuleFix::boot(
            "nohz_full={quiet}",
            with_nohz_full!(
                "Timers that are not bound to the CPU are left to housekeeping CPUs. Not tried here."
            ),
        ),
        RuleFix::advice(
            "find out which driver or subsystem the function belongs to, and whether it can be unloaded or \
                moved",
            "The name of the function mostly shows it.",
        ),
    ],
    source: "kernel/time/timer.c: __run_timers, get_next_timer_interrupt",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let kept_for_it =
        *case.kind == Kind::Tick && case.adaptive() && !case.idle() && case.facts.kept.is_none();
    let timer = case.due_timer().filter(|_| kept_for_it || *case.kind == Kind::TimerWheel)?;
    let set = timer.set_by.iter().map(|by| Step::SetTimer { by: by.into() });
    let due = Step::TimerDue { function: timer.function.clone(), cpu: case.cpu() };
    let woke = case.facts.woken.as_ref().map(|task| Step::TimerWoke { task: task.clone() });
    Finding::new(CauseId::member(&RULE, timer.function.clone()), set.chain([due]).chain(woke))
}

/// The members of this class that have their own rule.
pub(super) static MEMBERS: &[Rule] = &[
    Rule {
        id: "timer:mix_interrupt_randomness",
        title: "Random numbers: entropy of device interrupts mixed in",
        explanation: "Interrupts of devices on this CPU collect entropy, and a timer mixes it into the pool at most once a second. It runs where the interrupts come.",
        fixes: &[RuleFix::advice(
            "move the interrupts of devices off the CPU (/proc/irq/N/smp_affinity_list, or irqaffinity at boot)",
            but_managed!("Without device interrupts the timer is not set."),
        )],
        source: "drivers/char/random.c: add_interrupt_randomness, mix_interrupt_randomness",
        ..Rule::DEFAULT
    },
    Rule {
        id: "timer:tw_timer_handler",
        title: "TCP: end of a closed connection's waiting time",
        explanation: "A closed connection is kept for a minute (TIME_WAIT), and a timer ends that on the CPU on which it was closed.",
        fixes: &[RuleFix::advice(
            "close connections on other CPUs: keep the program, and the interrupts and packet steering of its network, off the CPU",
            "The timer is on the CPU that closed the connection.",
        )],
        source: "net/ipv4/inet_timewait_sock.c: tw_timer_handler",
        ..Rule::DEFAULT
    },
    Rule {
        id: "timer:tcp_write_timer",
        title: "TCP: retransmission timer of a connection",
        explanation: "A packet was not acknowledged in time, or the timer was armed for that and found nothing to do. It runs on the CPU that sent last.",
        fixes: &[RuleFix::advice(
            "send on other CPUs: keep the program, and the interrupts and packet steering of its network, off the CPU",
            "The timer is on the CPU that armed it.",
        )],
        source: "net/ipv4/tcp_timer.c: tcp_write_timer",
        ..Rule::DEFAULT
    },
    Rule {
        id: "timer:tcp_delack_timer",
        title: "TCP: delayed acknowledgement of a connection",
        explanation: "A received packet is acknowledged a little later, so that data can go with it. It runs on the CPU that received the packet.",
        fixes: &[RuleFix::advice(
            "receive on other CPUs: keep the interrupts and packet steering of the network off the CPU",
            "The timer is on the CPU that armed it.",
        )],
        source: "net/ipv4/tcp_timer.c: tcp_delack_timer",
        ..Rule::DEFAULT
    },
    Rule {
        id: "timer:cgroup_file_notify_timer",
        title: "Control groups: notification of an events file",
        explanation: "An events file of a control group (memory.events, cgroup.events) changed again within 10 ms, so that its watchers are notified by a timer.",
        fixes: &[RuleFix::advice(
            "find what changes the group: the limit that memory.events counts, or programs that start and end in it",
            "Fewer events, fewer timers.",
        )],
        source: "kernel/cgroup/cgroup.c: cgroup_file_notify",
        ..Rule::DEFAULT
    },
    Rule {
        id: "timer:clocksource_watchdog",
        title: "Clocksource watchdog timer",
        explanation: "Where the time stamp counter (TSC) is not known to be reliable, a timer compares it \
            with another clocksource every half second, on one CPU after the other. From 7.1 on the timer \
            stays on its CPU, and checks the other CPUs by a function-call IPI \
            (function-call:watchdog_check_skew_remote).",
        fixes: &[
            RuleFix::boot(
                "tsc=reliable",
                "No comparison. Only right if the TSC really has a constant rate and is synchronised on \
                    all CPUs.",
            ),
            RuleFix::boot("tsc=nowatchdog", "The same, but the TSC may still be checked at boot."),
        ],
        source: "kernel/time/clocksource.c: clocksource_watchdog",
        ..Rule::DEFAULT
    },
    Rule {
        id: "timer:mce_timer_fn",
        title: "Machine-check polling timer (corrected errors)",
        explanation: "A timer on each CPU reads the machine-check banks, every five minutes by default and \
            more often after errors.",
        fixes: &[
            RuleFix::command(
                "echo 0 > /sys/devices/system/machinecheck/machinecheck0/check_interval",
                "No polling; errors that raise an interrupt are still reported.",
            ),
            RuleFix::boot("mce=ignore_ce", "No polling and no interrupts for corrected errors."),
        ],
        source: "arch/x86/kernel/cpu/mce/core.c: mce_timer_fn",
        ..Rule::DEFAULT
    },
    Rule {
        id: "timer:process_timeout",
        title: "schedule_timeout() expired in the kernel",
        explanation: "A thread of the kernel, or a task within a system call, sleeps with a timeout in \
            jiffies (schedule_timeout), and the timer of that timeout is on this CPU. Typical cases are the \
            RCU grace-period threads and network sockets with timeouts.",
        fixes: &[
            RuleFix::command(
                "taskset -pc {housekeeping} {task}",
                not_tried!("Moves the sleeping task, if it may be moved; the chain names it."),
            ),
            RuleFix::boot(
                "nohz_full={quiet}",
                with_nohz_full!(
                    "Keeps the RCU threads and unbound timers away from the CPU. Not tried here."
                ),
            ),
        ],
        source: "kernel/time/timer.c: process_timeout",
        ..Rule::DEFAULT
    },
    Rule {
        id: "timer:tsc_sync_check_timer_fn",
        title: "TSC_ADJUST check timer (firmware changes of the TSC)",
        explanation: "Every ten minutes a timer checks the TSC_ADJUST register of the next CPU.",
        fixes: &[RuleFix::boot("tsc=reliable", untried!("No check."))],
        source: "arch/x86/kernel/tsc_sync.c: tsc_sync_check_timer_fn",
        ..Rule::DEFAULT
    },
];
