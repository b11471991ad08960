// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:kworker",
    title: "Kworker ran on this CPU",
    explanation: "A worker of the kernel's workqueues ran. Its affinity cannot be set (PF_NO_SETAFFINITY): \
        one with a CPU in its name (kworker/N:M) runs work that was queued for that CPU, one with a u \
        (kworker/uN:M) follows the cpumask of its workqueue.",
    fixes: &[RuleFix {
        action: Fix::Advice("see which work items run there (dyntick explain), and what queues them"),
        effect: "Work that is queued for a CPU goes only with what queues it; unbound work follows \
            /sys/devices/virtual/workqueue/cpumask.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/workqueue.c: create_worker",
    names_origin: true,
};
