// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:drain_local_stock",
    title: "memcg: charge stock of this CPU drained",
    explanation: "Each CPU charges pages to control groups in advance. When a group reaches its limit, or \
        is removed, all CPUs return what they hold. 6.12 skips isolated CPUs, 6.1 does not.",
    fixes: &[
        RuleFix {
            action: Fix::Boot("isolcpus=domain,{quiet}"),
            effect: not_tried!("Isolated CPUs keep what they hold."),
            versions: Versions::since(6, 12),
        },
        RuleFix {
            action: Fix::Command("echo max > /sys/fs/cgroup/GROUP/memory.max"),
            effect: not_tried!(
                "No limit, so no stock is drained to stay below it; the same goes for memory.high."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("create and remove control groups before the quiet phase"),
            effect: "The stock is drained when a group is removed.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/memcontrol.c: drain_all_stock",
    names_origin: true,
};
