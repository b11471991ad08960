// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "flow-steering",
    title: "Packets follow their readers to isolated CPUs (RFS)",
    severity: Severity::Note,
    reads: &[RFS_QUEUE, RFS_FLOWS],
    source: "net/core/dev.c: get_rps_cpu; include/net/rps.h: rps_record_sock_flow (6.12)",
    find,
};

/// Both tables must be there: that of all sockets, and that of the queue.
fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let some = |number: &str| number.parse::<u32>().is_ok_and(|number| number > 0);
    let queues: Vec<&str> =
        machine.matching(RFS_QUEUE).filter(|(_, flows)| some(flows)).map(|(path, _)| path).collect();
    if machine.target.is_empty() || queues.is_empty() || !machine.text(RFS_FLOWS).is_some_and(some) {
        return Vec::new();
    }
    let finding = RULE
        .note("packets are handed to the CPU where their socket was read last, whatever rps_cpus says")
        .on(&machine.target)
        .seen(machine.evidence(RFS_FLOWS))
        .seen(queues.iter().take(3).filter_map(|path| machine.evidence(path)))
        .so("A task on an isolated CPU that reads a socket has the network stack run there for it: each batch of packets \
             interrupts it. rps_cpus does not restrict that.")
        .advice(untried(
            "sysctl -w net.core.rps_sock_flow_entries=0, where the tasks of these CPUs read sockets: no packet follows its \
             reader any more, on no CPU",
        ));
    vec![finding]
}
