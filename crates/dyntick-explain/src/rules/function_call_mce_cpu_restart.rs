// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:mce_cpu_restart",
    title: "Machine-check (MCE) settings changed",
    explanation: "Each CPU restarts its own polling for corrected hardware errors when a file of \
        /sys/devices/system/machinecheck is written.",
    fixes: &[RuleFix {
        action: Fix::Advice("change these settings before the quiet phase"),
        effect: "One interrupt per change.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "arch/x86/kernel/cpu/mce/core.c: mce_restart, mce_cpu_restart",
    names_origin: true,
};
