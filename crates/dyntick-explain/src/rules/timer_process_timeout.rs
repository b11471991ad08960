// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "timer:process_timeout",
    title: "schedule_timeout() expired in the kernel",
    explanation: "A thread of the kernel, or a task within a system call, sleeps with a timeout in jiffies \
        (schedule_timeout), and the timer of that timeout is on this CPU. Typical cases are the RCU \
        grace-period threads and network sockets with timeouts.",
    fixes: &[
        RuleFix {
            action: Fix::Command("taskset -pc {housekeeping} {task}"),
            effect: not_tried!("Moves the sleeping task, where it may be moved; the chain names it."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("nohz_full={quiet}"),
            effect: with_nohz_full!(
                "Keeps the RCU threads and unbound timers away from the CPU. Not tried here."
            ),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/timer.c: process_timeout",
    names_origin: true,
};
