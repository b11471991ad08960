// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:nohz_csd_func",
    title: "An idle CPU was asked to balance the load for others",
    explanation: "A busy CPU saw that tasks could be spread better, or that the load figures of idle CPUs \
        are old. One \
        idle CPU is then interrupted to look for all of them.",
    fixes: &[Fix {
        setting: Setting::Boot("isolcpus=domain,N"),
        effect: not_tried!("The CPU takes no part in load balancing."),
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: nohz_csd_func; kernel/sched/fair.c: kick_ilb",
    names_origin: true,
    detect: None,
};
