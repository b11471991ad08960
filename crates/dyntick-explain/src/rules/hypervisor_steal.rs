// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hypervisor-steal",
    title: "Steal time: the hypervisor did not run this virtual CPU",
    explanation: "This machine is virtual, and its CPU did not run for a while although it had work. No \
        event of this kernel shows that; the hypervisor reports it (steal in /proc/stat).",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "on the host: pin the virtual CPU to a dedicated physical CPU, and isolate that",
            ),
            effect: "Nothing else then runs on it.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("run dyntick on the host, on the CPU that runs this virtual CPU"),
            effect: "Shows what takes the time there.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/cputime.c: account_steal_time",
    names_origin: true,
};
