// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "foreign-parameter",
    title: "A parameter that only patched kernels support",
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
    let message = format!("'{}' is not a parameter of the upstream kernel", said.value);
    let log = unknown.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() });
    // `kernel/kthread.c`: threads are kept to HK_TYPE_KTHREAD, since 7.0 to HK_TYPE_DOMAIN.
    let (kept, with) = match machine.since(7, 0) {
        true => (&machine.asked.domain, "isolcpus=domain,LIST"),
        false => (&machine.asked.noise, "nohz_full=LIST"),
    };
    let parameter = said.value.clone();
    let nothing = "Without a patch that some vendors carry it has no effect";
    vec![match kept.is_empty() {
        true => RULE
            .warning(message)
            .seen([said])
            .seen(log)
            .so(format!("{nothing}: kernel threads run on any CPU."))
            .advice(format!("boot with {with}, which keeps kernel threads away")),
        false => RULE
            .note(message)
            .seen([said])
            .seen(log)
            .so(format!(
                "{nothing}. New kernel threads are kept off {} anyway, by {}.",
                cpus(kept),
                with.split('=').next().unwrap_or_default()
            ))
            .unboot(parameter),
    }]
}
