// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:lru_add_drain_per_cpu",
    title: "lru_add_drain_all(): per-CPU page lists drained",
    explanation: "Page migration, memory hot-unplug, fadvise and mlockall wait until every CPU has drained \
        its per-CPU lists of pages (folio batches), by a work item on each CPU that has some.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "avoid mlockall, POSIX_FADV_DONTNEED and page migration (compaction, NUMA balancing) on \
                other CPUs while this CPU must be quiet",
            ),
            effect: "No drain is requested.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("sysctl -w vm.compaction_proactiveness=0"),
            effect: not_tried!("Less migration of pages in the background."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/swap.c: lru_add_drain_all",
    names_origin: true,
};
