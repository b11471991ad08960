// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:wb_workfn",
    title: "Writeback of dirty file data (worker)",
    explanation: "Data that programs wrote to files goes to the disk later, by a worker that may run on any \
        CPU in the cpumask of its workqueue.",
    fixes: &[
        RuleFix {
            action: Fix::Command("echo {mask} > /sys/devices/virtual/workqueue/writeback/cpumask"),
            effect: "Keeps writeback on the other CPUs.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("sysctl -w vm.dirty_writeback_centisecs=6000"),
            effect: "Old data is looked for once a minute; more is lost on a power failure.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "fs/fs-writeback.c: wb_workfn",
    names_origin: true,
};
