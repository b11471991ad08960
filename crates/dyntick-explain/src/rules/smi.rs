// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "smi",
    title: "The firmware took the CPU (system management interrupt)",
    explanation: "The firmware has interrupts of its own that the kernel can neither see nor refuse; the time \
        is simply gone, mostly 10 to 300 us. Only the CPU's counter MSR_SMI_COUNT tells how many came.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "in the firmware's setup: switch off USB legacy support, power and memory \
                health monitoring where it offers that",
            ),
            effect: untried!("These are its usual reasons."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("update the firmware, or ask the maker for its low-latency settings"),
            effect: untried!("Server makers have guides for them."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "Intel 64 and IA-32 Architectures Software Developer's Manual, volume 4: MSR_SMI_COUNT (0x34)",
    names_origin: true,
    detect: None,
};
