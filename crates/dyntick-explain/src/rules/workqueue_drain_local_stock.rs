// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:drain_local_stock",
    title: "Memory that this CPU had reserved for a control group was given back",
    explanation: "Each CPU charges pages to control groups in advance. When a group reaches its limit, or is removed, all CPUs give \
        back what they hold. 6.12 leaves isolated CPUs out, 6.1 does not.",
    fixes: &[
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: not_tried!("Isolated CPUs keep what they hold."),
            versions: Versions::since(6, 12),
        },
        Fix {
            setting: Setting::Command("echo max > /sys/fs/cgroup/GROUP/memory.max"),
            effect: not_tried!("No limit, so nobody has to look for memory; memory.high counts, too."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("create and remove control groups before the quiet phase"),
            effect: "A group that ends has its pages counted.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/memcontrol.c: drain_all_stock",
    names_origin: true,
    detect: None,
};
