// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-idle",
    title: "Idle-state exit latency",
    explanation: "The CPU was idle: between the due time and the first interrupt nothing ran. Leaving an \
        idle state takes its exit latency; in a virtual machine the hypervisor has to run the virtual CPU \
        again first.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "hold /dev/cpu_dma_latency at 0 (the default of dyntick latency: omit --laptop, \
                    --default-system and --latency)",
            ),
            effect: "Only polling and states without exit latency are used; costs power.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("echo 1 > /sys/devices/system/cpu/cpu{cpu}/cpuidle/stateDEEP/disable"),
            effect: not_tried!("That state is no longer used on this CPU."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("idle=poll"),
            effect: not_tried!("No CPU, physical or virtual, ever enters an idle state; costs much power."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "drivers/cpuidle/cpuidle.c: cpuidle_enter_state",
    names_origin: true,
};
