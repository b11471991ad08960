// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "clock-distrusted",
    title: "TSC marked unstable by a boot parameter (tsc=unstable)",
    explanation: "Time is then read from a device (hpet, acpi_pm), which takes a system call each time: the \
        vDSO cannot read it. The tick of a busy nohz_full CPU is not kept for it: the kernel sets that \
        dependency only when a clock that was trusted turns out to be unstable after boot.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("boot without tsc=unstable, and check what dmesg reports about the tsc"),
            effect: "The kernel checks the TSC itself.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("tsc=reliable"),
            effect: "Trusts the TSC without checks. Only right where it really has a constant rate and is \
                synchronised on all CPUs (many virtual machines).",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/kernel/tsc.c: tsc_setup, mark_tsc_unstable; kernel/sched/clock.c: clear_sched_clock_stable",
    names_origin: true,
};
