// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "ksm",
    title: "KSM: ksmd merges identical pages",
    severity: Severity::Note,
    reads: &[KSM],
    source: "mm/ksm.c: ksm_do_scan, write_protect_page",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.text(KSM) != Some("1") || machine.target.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note("KSM is running")
        .on(&machine.target)
        .seen(machine.evidence(KSM))
        .so(
            "Programs that asked for merging get TLB flushes on their CPUs, and a page fault when they write \
             to a merged page.",
        )
        .command(format!("echo 0 > {KSM}"));
    vec![finding]
}
