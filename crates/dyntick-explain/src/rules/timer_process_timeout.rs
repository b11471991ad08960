// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "timer:process_timeout",
    title: "A kernel sleep with a time limit ended",
    explanation: "A thread of the kernel, or a task within a system call, sleeps with a limit in ticks \
        (schedule_timeout), and the timer of that limit is on this CPU. Typical are the \
        grace-period threads of RCU and network sockets with timeouts.",
    fixes: &[
        Fix {
            setting: Setting::Command("taskset -pc OTHER-CPUS PID"),
            effect: not_tried!("Moves the sleeper, where it may be moved; the chain names it."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("nohz_full=N"),
            effect: not_tried!(
                "Keeps RCU's threads and unbound timers away from the CPU. On 6.12 it then has the fair server (fair-server), which has a fix of its own."
            ),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/timer.c: process_timeout",
    names_origin: true,
    detect: None,
};
