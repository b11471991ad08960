// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:lru_add_drain_per_cpu",
    title: "Pages held back by this CPU were flushed for another one",
    explanation: "Page migration, memory hot-unplug, fadvise and mlockall wait until every CPU has handed \
        back the pages in its small per-CPU lists, by a work item on each CPU that has some.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "avoid mlockall, POSIX_FADV_DONTNEED and page migration (compaction, NUMA balancing) \
                on other CPUs while it must be quiet",
            ),
            effect: "No flush is asked for.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Sysctl("vm.compaction_proactiveness=0"),
            effect: not_tried!("Less migration of pages in the background."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/swap.c: lru_add_drain_all",
    names_origin: true,
    detect: None,
};
