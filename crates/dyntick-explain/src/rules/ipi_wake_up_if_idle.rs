// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "ipi:wake_up_if_idle",
    title: "Idle CPUs were woken to choose another idle state",
    explanation: "When the latency that all CPUs have to keep is changed (/dev/cpu_dma_latency, PM QoS) \
        those that sleep are woken, so that none stays too deep. Changes of the idle driver do it too.",
    fixes: &[Fix {
        setting: Setting::Program("set the latency once and keep the file open"),
        effect: "No change, no wake-up.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/smp.c: wake_up_all_idle_cpus",
    names_origin: true,
    detect: None,
};
