// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "ipi:cgroup_freeze_task",
    title: "cgroup freezer: the running task was frozen",
    explanation: "cgroup.freeze was written (docker pause and systemctl freeze write it). A running task is \
        interrupted so that it stops at once.",
    fixes: &[RuleFix {
        action: Fix::Advice("do not pause the container or the unit that the quiet task belongs to"),
        effect: "No task is frozen.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/cgroup/freezer.c: cgroup_freeze_task",
    names_origin: true,
};
