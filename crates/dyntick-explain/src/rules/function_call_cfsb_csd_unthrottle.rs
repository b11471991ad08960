// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__cfsb_csd_unthrottle",
    title: "CFS bandwidth control: control group unthrottled (IPI)",
    explanation: "A group that has used up its quota (cpu.max) is throttled on each CPU until the period \
        ends. The timer of the period, on whichever CPU it runs, then interrupts the others to unthrottle \
        it.",
    fixes: &[RuleFix {
        action: Fix::Command("echo max > /sys/fs/cgroup/{group}/cpu.max"),
        effect: "Removes the limit.",
        versions: Versions::ALL,
    }],
    versions: Versions::since(6, 3),
    source: "kernel/sched/fair.c: __unthrottle_cfs_rq_async, __cfsb_csd_unthrottle",
    names_origin: true,
};
