// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "compaction",
    title: "kcompactd moves pages in advance, and all CPUs take part",
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
        .note("memory is compacted in advance")
        .on(&machine.target)
        .seen(machine.evidence(COMPACTION))
        .so("The thread of each node looks twice a second whether memory is fragmented. Moving a page flushes the \
             translations of each CPU that runs a program with it, and has CPUs hand back the pages that they hold.")
        .command("sysctl -w vm.compaction_proactiveness=0");
    vec![finding]
}
