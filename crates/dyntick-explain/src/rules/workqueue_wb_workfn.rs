// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:wb_workfn",
    title: "Writeback of dirty file data (worker)",
    explanation: "Data that programs wrote to files goes to the disk later, by a worker that may run on any \
        CPU in the cpumask of its workqueue.",
    fixes: &[
        Fix {
            setting: Setting::Command("echo MASK > /sys/devices/virtual/workqueue/writeback/cpumask"),
            effect: "Keeps writeback on the other CPUs.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Sysctl("vm.dirty_writeback_centisecs=6000"),
            effect: "Old data is looked for once a minute; more is lost on a power failure.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "fs/fs-writeback.c: wb_workfn",
    names_origin: true,
    detect: None,
};
