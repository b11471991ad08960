// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "softirq:NET_RX",
    title: "NET_RX softirq: packets received",
    explanation: "Network packets are received by a softirq on the CPU that took the interrupt of the \
        network card, that packet steering chose, or that sent over loopback.",
    fixes: &[
        RuleFix {
            action: Fix::Command("echo {housekeeping} > /proc/irq/{irq}/smp_affinity_list"),
            effect: untried!("Moves the interrupt of the network card."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("echo {mask} > /sys/class/net/DEVICE/queues/rx-QUEUE/rps_cpus"),
            effect: "Steers packets to the other CPUs only.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "net/core/dev.c: net_rx_action",
    names_origin: true,
};
