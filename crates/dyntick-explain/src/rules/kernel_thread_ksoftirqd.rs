// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:ksoftirqd",
    title: "ksoftirqd: softirqs that took too long ran in a thread",
    explanation: "After two milliseconds, or ten rounds, of softirqs in a row, the rest is left to \
        ksoftirqd. On PREEMPT_RT it runs those that were raised outside of a threaded interrupt.",
    fixes: &[
        RuleFix {
            action: Fix::Command("echo {housekeeping} > /proc/irq/{irq}/smp_affinity_list"),
            effect: untried!("Moves the device interrupts, and with them their softirqs."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("rcu_nocbs={quiet}"),
            effect: not_tried!("Takes the callbacks of RCU out of softirqs."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/softirq.c: run_ksoftirqd",
    names_origin: true,
};
