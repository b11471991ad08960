// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:kswapd",
    title: "kswapd: page reclaim",
    explanation: "The thread kswapd of each memory node writes back, drops or swaps out pages when free \
        memory is short.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "leave more memory free: smaller caches, fewer programs, or limits for them (memory.high)",
            ),
            effect: "No memory has to be reclaimed.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("for p in $(pgrep kswapd); do taskset -pc {housekeeping} $p; done"),
            effect: not_tried!("Keeps it on other CPUs."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/vmscan.c: kswapd",
    names_origin: true,
};
