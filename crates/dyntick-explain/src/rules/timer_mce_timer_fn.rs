// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "timer:mce_timer_fn",
    title: "Machine-check polling timer (corrected errors)",
    explanation: "A timer on each CPU reads the machine-check banks, every five minutes by default and more \
        often after errors.",
    fixes: &[
        RuleFix {
            action: Fix::Command("echo 0 > /sys/devices/system/machinecheck/machinecheck0/check_interval"),
            effect: "No polling; errors that raise an interrupt are still reported.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("mce=ignore_ce"),
            effect: "No polling and no interrupts for corrected errors.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/kernel/cpu/mce/core.c: mce_timer_fn",
    names_origin: true,
};
