// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "smi",
    title: "System management interrupt (SMI): firmware took the CPU",
    explanation: "Firmware has its own interrupts, which the kernel can neither see nor mask; the time is \
        lost, mostly 10 to 300 µs. Only the counter MSR_SMI_COUNT of the CPU shows how many there were.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "in the firmware setup: disable USB legacy support, and power and memory health monitoring, \
                where it offers that",
            ),
            effect: untried!("These are the usual reasons for SMIs."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("update the firmware, or ask the vendor for its low-latency settings"),
            effect: untried!("Server vendors have guides for them."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "Intel 64 and IA-32 Architectures Software Developer's Manual, volume 4: MSR_SMI_COUNT (0x34)",
    names_origin: true,
};
