// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "flow-steering",
    title: "Receive flow steering (RFS) sends packets to isolated CPUs",
    severity: Severity::Note,
    reads: &[RFS_QUEUE, RFS_FLOWS],
    source: "net/core/dev.c: get_rps_cpu; include/net/rps.h: rps_record_sock_flow (6.12)",
    find,
};

/// Requires both tables, that of all sockets and that of the queue.
fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let some = |number: &str| number.parse::<u32>().is_ok_and(|number| number > 0);
    let queues: Vec<&str> =
        machine.matching(RFS_QUEUE).filter(|(_, flows)| some(flows)).map(|(path, _)| path).collect();
    if machine.target.is_empty() || queues.is_empty() || !machine.text(RFS_FLOWS).is_some_and(some) {
        return Vec::new();
    }
    let finding = RULE
        .note("RFS sends packets to the CPU on which their socket was last read, whatever rps_cpus is")
        .on(&machine.target)
        .seen(machine.evidence(RFS_FLOWS))
        .seen(queues.iter().filter_map(|path| machine.evidence(path)))
        .so("If a task on an isolated CPU reads a socket, the network stack runs on that CPU: each batch of \
             packets interrupts it. rps_cpus does not restrict that.")
        .advice(untried(
            "sysctl -w net.core.rps_sock_flow_entries=0, if tasks on these CPUs read sockets: it turns RFS \
             off on all CPUs",
        ));
    vec![finding]
}
