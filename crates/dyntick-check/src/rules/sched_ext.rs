// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "sched-ext",
    title: "A BPF scheduler (sched_ext) decides whether nohz_full CPUs keep their tick, or was refused for isolcpus=",
    severity: Severity::Warning,
    reads: &[SCHED_EXT, SCHED_EXT_OPS, NOHZ_FULL, KERNEL_LOG, CMDLINE],
    source: "kernel/sched/ext.c: scx_can_stop_tick, scx_ops_enable (6.12)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    loaded(machine).into_iter().chain(refused(machine)).collect()
}

fn loaded(machine: &Machine<'_>) -> Option<Finding> {
    let hit = machine.of_target(&machine.nohz_full);
    (machine.has_bpf_scheduler() && !hit.is_empty()).then(|| {
        RULE.note("a BPF scheduler is loaded (sched_ext)")
            .on(&hit)
            .seen(machine.evidence(SCHED_EXT))
            .seen(machine.evidence(SCHED_EXT_OPS))
            .so("A task of this scheduler keeps the tick even if it is the only one, unless it was given an \
                 infinite slice (SCX_SLICE_INF).")
            .advice("stop it, use one that gives such slices on these CPUs, or run the isolated tasks under SCHED_FIFO")
    })
}

/// Reports a scheduler that the kernel refused for `isolcpus=domain` (`kernel/sched/ext.c: scx_ops_enable`, 6.12).
fn refused(machine: &Machine<'_>) -> Option<Finding> {
    let line = machine.logged("sched_ext: Not compatible").next()?;
    let is_so = !machine.asked.domain.is_empty() && !machine.has_bpf_scheduler();
    is_so.then(|| {
        RULE.warning("a BPF scheduler was refused, because isolcpus= takes CPUs out of load balancing")
            .on(&machine.asked.domain)
            .seen([Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() }])
            .seen(machine.said("isolcpus"))
            .so("sched_ext does not work with the boot-time mask of isolcpus=domain; the kernel's own scheduler runs.")
            .advice(
                "boot without isolcpus=domain and isolate by a cpuset partition (isolated), which sched_ext accepts; \
                 or do without the BPF scheduler",
            )
    })
}
