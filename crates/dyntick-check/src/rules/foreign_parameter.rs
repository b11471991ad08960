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
    let unknown = machine.unknown_parameters();
    if unknown.is_some() && !machine.lists_as_unknown("kthread_cpus") {
        return Vec::new();
    }
    let message = format!("'{}' is not a parameter of the upstream kernel", said.value);
    let log = unknown.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() });
    // `kernel/kthread.c`: threads are confined to HK_TYPE_KTHREAD (5.9 to 6.19), since 7.0 to HK_TYPE_DOMAIN.
    let nothing_keeps = CpuList::default();
    let (kept, with) = match (machine.since(7, 0), machine.dialect.full_keeps_threads()) {
        (true, _) => {
            (&machine.asked.domain, "boot with isolcpus=domain,LIST, which keeps kernel threads away")
        }
        (_, true) => (&machine.asked.noise, "boot with nohz_full=LIST, which keeps kernel threads away"),
        _ => (&nothing_keeps, "move kernel threads by taskset: no parameter keeps them away before 5.9"),
    };
    let parameter = said.value.clone();
    let nothing = "Without a patch that some vendors carry it has no effect";
    vec![if kept.is_empty() {
        RULE.warning(message)
            .seen([said])
            .seen(log)
            .so(format!("{nothing}: kernel threads run on any CPU."))
            .advice(with)
    } else {
        RULE.note(message)
            .seen([said])
            .seen(log)
            .so(format!(
                "{nothing}. New kernel threads are kept off {} anyway, by {}.",
                cpus(kept),
                if machine.since(7, 0) { "isolcpus" } else { "nohz_full" }
            ))
            .unboot(parameter)
    }]
}
