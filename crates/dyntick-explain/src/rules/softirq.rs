// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step, names};

pub(super) static RULE: Rule = Rule {
    id: "softirq",
    title: "Softirq ran",
    explanation: "Interrupt handlers and system calls leave part of their work to softirqs, which run when \
        an interrupt ends, or in the context of the task when it enables softirqs (bottom halves) again. \
        NET_RX and NET_TX are packets, BLOCK the ends of block I/O, SCHED load balancing, RCU callbacks that \
        are not offloaded.",
    fixes: &[RuleFix::advice(
        "look at what raises it: for NET_RX and NET_TX the task's network calls, for BLOCK its I/O",
        "The name of the softirq shows the subsystem.",
    )],
    source: "kernel/softirq.c: do_softirq",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let (softirq, who) = match (case.kind, case.facts.left_over, case.facts.turn()) {
        (Kind::Softirq { softirq }, ..) => (*softirq, &case.facts.victim),
        (Kind::KernelThread, Some(softirq), Some(thread)) if names::is_ksoftirqd(&thread.comm) => {
            (softirq, thread)
        }
        _ => return None,
    };
    let ran = Step::SoftirqRan { softirq, in_task: who.clone(), cpu: case.cpu() };
    Finding::new(CauseId::member(&RULE, softirq.kernel_name()), [ran])
}

/// The members of this class that have their own rule.
pub(super) static MEMBERS: &[Rule] = &[
    Rule {
        id: "softirq:BLOCK",
        title: "BLOCK softirq: completion of block requests",
        explanation: "A request is completed on the CPU that submitted it, or on one that shares its cache.",
        fixes: &[
            RuleFix::advice("do not read and write files from this CPU", "No request, no completion."),
            RuleFix::command(
                "for f in /sys/block/*/queue/rq_affinity; do echo 0 > $f; done",
                untried!("Requests are completed on the CPU that takes the interrupt."),
            ),
        ],
        source: "block/blk-mq.c: blk_done_softirq",
        ..Rule::DEFAULT
    },
    Rule {
        id: "softirq:NET_RX",
        title: "NET_RX softirq: packets received",
        explanation: "Network packets are received by a softirq on the CPU that took the interrupt of the \
            network card, that packet steering chose, or that sent over loopback.",
        fixes: &[
            RuleFix::command(
                "echo {housekeeping} > /proc/irq/{irq}/smp_affinity_list",
                untried!(but_managed!("Moves the interrupt of the network card.")),
            ),
            RuleFix::command(
                "for f in /sys/class/net/*/queues/rx-*/rps_cpus; do echo {mask} > $f; done",
                "Steers packets to the other CPUs only.",
            ),
        ],
        source: "net/core/dev.c: net_rx_action",
        ..Rule::DEFAULT
    },
    Rule {
        id: "softirq:RCU",
        title: "RCU softirq: RCU core and callbacks",
        explanation: "Memory that other CPUs may still read is freed by callbacks after a grace period. \
            Without rcu_nocbs the CPU that asked for it (close, unlink, munmap, network, exit) runs them \
            itself, at the end of its ticks; an idle CPU keeps its tick for that. On PREEMPT_RT they run in \
            the thread rcuc/N instead, unless rcutree.use_softirq=1 is set.",
        fixes: &[
            RuleFix::boot(
                "rcu_nocbs={quiet}",
                "Moves the callbacks to threads, which the scheduler may run elsewhere; nohz_full implies \
                    it. If the CPU has its tick, at most one softirq per tick remains: RCU raises it \
                    when a tick notices a new grace period, or reports a quiescent state of this CPU \
                    (rcu_pending).",
            ),
            RuleFix::advice(
                "open and close fewer files, and map and unmap less memory, on this CPU",
                "Fewer callbacks to run.",
            ),
        ],
        source: "kernel/rcu/tree.c: rcu_core, rcu_do_batch",
        ..Rule::DEFAULT
    },
];
