// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:flush_backlog",
    title: "Network device removed: packet backlog of this CPU flushed",
    explanation: "Before a network device is removed (containers that end, VPNs, unloaded drivers), each \
        CPU whose backlog may hold its packets drops them, in a work item.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "create and remove network devices, and containers with them, before the quiet phase",
            ),
            effect: "No device is removed.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("for f in /sys/class/net/*/queues/rx-*/rps_cpus; do echo {mask} > $f; done"),
            effect: not_tried!(
                "Packets are not handed to the CPU (RPS), so its backlog is empty and it is skipped."
            ),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "net/core/dev.c: flush_all_backlogs, flush_required",
    names_origin: true,
};
