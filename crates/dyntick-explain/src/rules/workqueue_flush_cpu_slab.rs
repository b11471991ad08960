// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:flush_cpu_slab",
    title: "Free memory objects held back by this CPU were given back",
    explanation: "The slab allocator keeps free objects per CPU. When a cache is shrunk or destroyed (a module that is unloaded, a \
        memory block that goes offline, a write to /sys/kernel/slab/*/shrink) each CPU that holds some has a work item.",
    fixes: &[Fix {
        setting: Setting::Program("unload modules and shrink caches before the quiet phase"),
        effect: "Nobody asks for the objects.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "mm/slub.c: flush_all_cpus_locked, flush_cpu_slab",
    names_origin: true,
    detect: None,
};
