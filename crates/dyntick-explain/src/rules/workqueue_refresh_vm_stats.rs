// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:refresh_vm_stats",
    title: "vm.stat_refresh read or written: memory statistics folded on all CPUs",
    explanation: "An access to /proc/sys/vm/stat_refresh folds the memory statistics of all CPUs at once, \
        by a work item on each of them, isolated or not.",
    fixes: &[RuleFix {
        action: Fix::Advice("stop the program that uses /proc/sys/vm/stat_refresh"),
        effect: "The chain names the task that queued the work.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "mm/vmstat.c: vmstat_refresh",
    names_origin: true,
};
