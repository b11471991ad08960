// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "swap",
    title: "Memory may be swapped out",
    severity: Severity::Note,
    reads: &[SWAPS],
    source: "mm/vmscan.c: shrink_folio_list",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(first) = machine.text(SWAPS).and_then(|text| text.lines().nth(1)) else { return Vec::new() };
    if machine.target.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note("swap is on")
        .seen([Evidence { file: SWAPS.to_owned(), value: first.split_ascii_whitespace().collect::<Vec<_>>().join(" ") }])
        .so("A page of the isolated program that was not locked (mlockall) may have to be read back from a disk.")
        .command("swapoff -a");
    vec![finding]
}
