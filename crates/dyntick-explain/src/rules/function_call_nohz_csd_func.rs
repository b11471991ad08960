// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:nohz_csd_func",
    title: "NOHZ idle load balancing: this idle CPU was kicked",
    explanation: "A busy CPU found that tasks could be balanced better, or that the load statistics of idle \
        CPUs are out of date. One idle CPU is then interrupted to balance on behalf of all idle CPUs.",
    fixes: &[RuleFix {
        action: Fix::Boot("isolcpus=domain,{quiet}"),
        effect: not_tried!("The CPU takes no part in load balancing."),
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: nohz_csd_func; kernel/sched/fair.c: kick_ilb",
    names_origin: true,
};
