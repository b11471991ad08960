// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "compaction",
    title: "Proactive compaction: kcompactd migrates pages, which involves all CPUs",
    severity: Severity::Note,
    reads: &[COMPACTION],
    source: "mm/compaction.c: kcompactd, proactive_compact_node; mm/swap.c: lru_add_drain_all",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let on = machine.number(COMPACTION).is_some_and(|eagerness| eagerness > 0);
    if !on || machine.target.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note("proactive compaction is on")
        .on(&machine.target)
        .seen(machine.evidence(COMPACTION))
        .so(
            "The kcompactd thread of each node checks twice a second whether memory is fragmented. Migrating \
             a page flushes the TLB of each CPU that runs a program with it, and makes CPUs drain their \
             per-CPU page batches.",
        )
        .command("sysctl -w vm.compaction_proactiveness=0");
    vec![finding]
}
