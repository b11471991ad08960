// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:rps_trigger_softirq",
    title: "Receive packet steering (RPS): packets queued to this CPU",
    explanation: "Receive packet steering distributes packets over CPUs by their flow, and interrupts the \
        chosen CPU.",
    fixes: &[RuleFix {
        action: Fix::Command("echo {mask} > /sys/class/net/DEVICE/queues/rx-QUEUE/rps_cpus"),
        effect: "Steers packets to the other CPUs only.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "net/core/dev.c: net_rps_send_ipi, rps_trigger_softirq",
    names_origin: true,
};
