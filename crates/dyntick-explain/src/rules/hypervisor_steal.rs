// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hypervisor-steal",
    title: "The hypervisor gave the CPU to somebody else",
    explanation: "This machine is virtual, and its CPU did not run for a while although it had work. No event of \
        this kernel shows that; it is known from the hypervisor's own account (steal in /proc/stat).",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "on the host: pin the virtual CPU to a physical one of its own, and isolate that",
            ),
            effect: "Nothing else then runs there.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("run dyntick on the host, on the CPU that carries this one"),
            effect: "Tells what takes the time there.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/cputime.c: account_steal_time",
    names_origin: true,
    detect: None,
};
