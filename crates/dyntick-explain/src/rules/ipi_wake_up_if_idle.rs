// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "ipi:wake_up_if_idle",
    title: "Idle CPUs woken: PM QoS latency or cpuidle driver changed",
    explanation: "When the latency limit of all CPUs is changed (/dev/cpu_dma_latency, PM QoS), idle CPUs \
        are woken, so that none stays in an idle state that is too deep. Changes of the cpuidle driver wake \
        them, too.",
    fixes: &[RuleFix {
        action: Fix::Advice("set the latency once and keep the file open"),
        effect: "No change, no wake-up.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/smp.c: wake_up_all_idle_cpus",
    names_origin: true,
};
