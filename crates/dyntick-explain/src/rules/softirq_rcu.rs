// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "softirq:RCU",
    title: "RCU did its work on this CPU",
    explanation: "Memory that others may still read is freed by callbacks once all CPUs have moved on. Without \
        rcu_nocbs the CPU that asked for it (close, unlink, munmap, network, exit) runs them itself, at the \
        end of its ticks; an idle CPU keeps its tick for that. On PREEMPT_RT they run in the thread rcuc/N instead, \
        unless rcutree.use_softirq=1 says otherwise.",
    fixes: &[
        Fix {
            setting: Setting::Boot("rcu_nocbs=N"),
            effect: "Moves the callbacks to threads, which the scheduler may run elsewhere; nohz_full implies it. Where the CPU \
                ticks at most one in each tick is left: RCU raises it where a tick notes a new grace period, or reports \
                that this CPU lets one pass (rcu_pending).",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "open and close fewer files, and map and unmap less memory, on this CPU",
            ),
            effect: "Fewer callbacks to run.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/rcu/tree.c: rcu_core, rcu_do_batch",
    names_origin: true,
    detect: None,
};
