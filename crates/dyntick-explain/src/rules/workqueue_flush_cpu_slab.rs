// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:flush_cpu_slab",
    title: "SLUB: free objects of this CPU flushed",
    explanation: "The slab allocator keeps free objects per CPU. When a cache is shrunk or destroyed (a \
        module is unloaded, a memory block goes offline, /sys/kernel/slab/*/shrink is written), a work item \
        is queued on each CPU that holds some.",
    fixes: &[RuleFix {
        action: Fix::Advice("unload modules and shrink caches before the quiet phase"),
        effect: "The objects are not flushed.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "mm/slub.c: flush_all_cpus_locked, flush_cpu_slab",
    names_origin: true,
};
