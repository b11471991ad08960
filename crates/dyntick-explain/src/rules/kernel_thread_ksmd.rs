// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:ksmd",
    title: "ksmd: scan for identical pages to merge (KSM)",
    explanation: "The thread ksmd compares memory that processes marked as mergeable, above all virtual \
        machines. It costs time wherever it runs, and merged pages fault when they are written.",
    fixes: &[
        RuleFix {
            action: Fix::Command("echo 0 > /sys/kernel/mm/ksm/run"),
            effect: "Stops it.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("taskset -pc {housekeeping} $(pgrep ksmd)"),
            effect: "Keeps it on other CPUs.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/ksm.c: ksm_scan_thread",
    names_origin: true,
};
