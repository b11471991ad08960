// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "machine-check-poll",
    title: "Corrected machine checks are polled for on each CPU",
    severity: Severity::Note,
    reads: &[MCE_INTERVAL],
    source: "arch/x86/kernel/cpu/mce/core.c: mce_timer_fn",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(seconds) = machine.number(MCE_INTERVAL).filter(|seconds| *seconds > 0) else {
        return Vec::new();
    };
    if machine.target.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note(format!("machine checks are polled for on {} every {seconds} s", cpus(&machine.target)))
        .on(&machine.target)
        .seen(machine.evidence(MCE_INTERVAL))
        .so("A pinned timer reads the machine-check banks of each CPU. The interval is the longest: each \
             error halves it, down to 10 ms. Without the timer, corrected errors are seen only if the CPU \
             reports them by interrupt.")
        .command(format!("echo 0 > {MCE_INTERVAL}"));
    vec![finding]
}
