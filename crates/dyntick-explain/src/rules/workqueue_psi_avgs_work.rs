// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:psi_avgs_work",
    title: "PSI: averages of the pressure of a control group computed (worker)",
    explanation: "Pressure stall information (PSI) is averaged every two seconds, for each control group whose tasks ran, by a \
        work item on the CPU on which one of them woke it. It reports how long tasks waited for CPU, memory and I/O.",
    fixes: &[
        RuleFix {
            action: Fix::Boot("psi=0"),
            effect: not_tried!("No PSI: /proc/pressure and what reads it (systemd-oomd) are gone."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice(
                "where the group need not be watched: echo 0 > /sys/fs/cgroup/GROUP/cgroup.pressure",
            ),
            effect: "No PSI for that group; those above it still have theirs.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/psi.c: psi_task_change, psi_avgs_work",
    names_origin: true,
};
