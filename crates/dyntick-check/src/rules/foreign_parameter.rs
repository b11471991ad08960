// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "foreign-parameter",
    title: "A parameter that only patched kernels know",
    severity: Severity::Warning,
    reads: &[CMDLINE, KERNEL_LOG],
    source: "Documentation/admin-guide/kernel-parameters.txt (not there in 6.1, 6.12)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(said) = machine.said("kthread_cpus") else { return Vec::new() };
    let unknown = machine.logged("Unknown kernel command line parameters").next();
    if unknown.is_some_and(|line| !line.contains("kthread_cpus")) {
        return Vec::new();
    }
    let finding = RULE
        .warning(format!("'{}' is not a parameter of the upstream kernel", said.value))
        .seen([said])
        .seen(unknown.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() }))
        .so("Without the patch that some vendors carry it does nothing: kernel threads go where they like.");
    let with = if machine.since(7, 0) { "isolcpus=domain,LIST" } else { "nohz_full=LIST" };
    vec![finding.boot(format!("{with}, which keeps kernel threads away"))]
}
