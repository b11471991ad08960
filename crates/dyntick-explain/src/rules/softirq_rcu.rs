// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "softirq:RCU",
    title: "RCU softirq: RCU core and callbacks",
    explanation: "Memory that other CPUs may still read is freed by callbacks after a grace period. Without \
        rcu_nocbs the CPU that asked for it (close, unlink, munmap, network, exit) runs them itself, at the \
        end of its ticks; an idle CPU keeps its tick for that. On PREEMPT_RT they run in the thread rcuc/N \
        instead, unless rcutree.use_softirq=1 is set.",
    fixes: &[
        RuleFix {
            action: Fix::Boot("rcu_nocbs={quiet}"),
            effect: "Moves the callbacks to threads, which the scheduler may run elsewhere; nohz_full \
                implies it. Where the CPU has its tick, at most one softirq per tick remains: RCU raises it \
                where a tick notices a new grace period, or reports a quiescent state of this CPU \
                (rcu_pending).",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("open and close fewer files, and map and unmap less memory, on this CPU"),
            effect: "Fewer callbacks to run.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/rcu/tree.c: rcu_core, rcu_do_batch",
    names_origin: true,
};
