// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "thp",
    title: "khugepaged may collapse pages of any program",
    severity: Severity::Note,
    reads: &[THP],
    source: "mm/khugepaged.c: collapse_huge_page",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if !machine.text(THP).is_some_and(|modes| modes.contains("[always]")) || machine.target.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note("transparent huge pages are on for every program")
        .on(&machine.target)
        .seen(machine.evidence(THP))
        .so("While khugepaged collapses pages of a program, the program's CPUs get TLB flushes and its faults wait.")
        .command(format!("echo madvise > {THP}"));
    vec![finding]
}
