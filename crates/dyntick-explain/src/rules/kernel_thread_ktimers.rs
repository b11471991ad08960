// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:ktimers",
    title: "ktimers/N: timers ran in a thread (PREEMPT_RT)",
    explanation: "On PREEMPT_RT this thread of each CPU runs the timers of the timer wheel, and the hrtimers of tasks without a \
        real-time policy, as their sleeps (hrtimer_wakeup). It is bound to its CPU.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "move the tasks whose timers these are off the CPU, or let them sleep less often",
            ),
            effect: "The functions that ran show the kind of timer, and causes of woken tasks name the tasks.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("nohz_full={quiet}"),
            effect: with_nohz_full!(
                "Timers that are not bound to the CPU are left to housekeeping CPUs. Not tried here."
            ),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/softirq.c: run_ktimerd",
    names_origin: true,
};
