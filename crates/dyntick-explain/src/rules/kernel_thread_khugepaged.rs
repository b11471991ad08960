// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:khugepaged",
    title: "khugepaged: pages collapsed into huge pages",
    explanation: "The thread khugepaged collapses small pages into huge ones, and briefly stops the \
        processes that own them.",
    fixes: &[
        RuleFix {
            action: Fix::Command("echo never > /sys/kernel/mm/transparent_hugepage/enabled"),
            effect: "No transparent huge pages, not even where a program asks for them.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("taskset -pc {housekeeping} $(pgrep khugepaged)"),
            effect: "Keeps it on other CPUs.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/khugepaged.c: khugepaged",
    names_origin: true,
};
