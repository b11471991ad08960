// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "clock-distrusted",
    title: "The kernel was told not to trust the CPU's clock (tsc=unstable)",
    explanation: "Time is then read from a device (hpet, acpi_pm), by a system call each time and no longer by \
        the program itself. The tick of a busy nohz_full CPU is not kept for it: the kernel sets that dependency \
        only when a clock that was trusted turns out to be unstable after boot.",
    fixes: &[
        Fix {
            setting: Setting::Program("boot without tsc=unstable, and see what dmesg says of the tsc"),
            effect: "The kernel checks the counter itself.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("tsc=reliable"),
            effect: "Trusts the counter without checks. Only right where it really is steady and in step \
                on all CPUs (many virtual machines).",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/kernel/tsc.c: tsc_setup, mark_tsc_unstable; kernel/sched/clock.c: clear_sched_clock_stable",
    names_origin: true,
    detect: None,
};
