// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:kernfs_notify_workfn",
    title: "Who watches a file of a control group was told",
    explanation: "A control group became empty, was frozen or thawed, or ran into a limit, by a task on this \
        CPU; the change of cgroup.events or memory.events is told by a work item.",
    fixes: &[Fix {
        setting: Setting::Program("freeze, thaw and end programs of the CPU outside of the quiet phase"),
        effect: "No change, no work item.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "fs/kernfs/file.c: kernfs_notify, kernfs_notify_workfn",
    names_origin: true,
    detect: None,
};
