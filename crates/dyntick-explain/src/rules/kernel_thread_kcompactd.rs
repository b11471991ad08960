// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:kcompactd",
    title: "kcompactd: memory compaction",
    explanation: "The thread kcompactd of each memory node moves pages so that free memory becomes \
        contiguous, when a large allocation failed or vm.compaction_proactiveness asks for it.",
    fixes: &[
        RuleFix {
            action: Fix::Command("sysctl -w vm.compaction_proactiveness=0"),
            effect: "No proactive compaction.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("for p in $(pgrep kcompactd); do taskset -pc {housekeeping} $p; done"),
            effect: "Keeps it on other CPUs.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/compaction.c: kcompactd",
    names_origin: true,
};
