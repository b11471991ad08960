// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:kernfs_notify_workfn",
    title: "kernfs/cgroup file change notification (worker)",
    explanation: "A control group became empty, was frozen or thawed, or reached a limit, by a task on this \
        CPU; pollers of cgroup.events or memory.events are notified by a work item.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "where the group reaches a limit (memory.events counts it): raise memory.high or memory.max, or use less memory",
            ),
            effect: "The work only reports the pressure; without pressure there is no report.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("freeze, thaw and end programs on the CPU outside of the quiet phase"),
            effect: "No change, no work item.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "fs/kernfs/file.c: kernfs_notify, kernfs_notify_workfn",
    names_origin: true,
};
