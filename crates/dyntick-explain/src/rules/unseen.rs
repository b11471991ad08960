// SPDX-License-Identifier: GPL-2.0-only
//! Causes that no event shows: they are read from counters and parameters, or the origin is unknown.

use super::{Rule, RuleFix};

pub(super) static CLOCK_DISTRUSTED: Rule = Rule {
    id: "clock-distrusted",
    title: "TSC marked unstable by a boot parameter (tsc=unstable)",
    explanation: "Time is then read from a device (hpet, acpi_pm), which takes a system call each time: the \
        vDSO cannot read it. The tick of a busy nohz_full CPU is not kept for it: the kernel sets that \
        dependency only when a clock that was trusted turns out to be unstable after boot.",
    fixes: &[
        RuleFix::advice(
            "boot without tsc=unstable, and check what dmesg reports about the tsc",
            "The kernel checks the TSC itself.",
        ),
        RuleFix::boot(
            "tsc=reliable",
            "Trusts the TSC without checks. Only right if it really has a constant rate and is \
                synchronised on all CPUs (many virtual machines).",
        ),
    ],
    source: "arch/x86/kernel/tsc.c: tsc_setup, mark_tsc_unstable; kernel/sched/clock.c: \
        clear_sched_clock_stable",
    ..Rule::DEFAULT
};

pub(super) static HYPERVISOR_STEAL: Rule = Rule {
    id: "hypervisor-steal",
    title: "Steal time: the hypervisor did not run this virtual CPU",
    explanation: "This machine is virtual, and its CPU did not run for a while although it had work. No \
        event of this kernel shows that; the hypervisor reports it (steal in /proc/stat).",
    fixes: &[
        RuleFix::advice(
            "on the host: pin the virtual CPU to a dedicated physical CPU, and isolate that",
            "Nothing else then runs on it.",
        ),
        RuleFix::advice(
            "run dyntick on the host, on the CPU that runs this virtual CPU",
            "Shows what takes the time there.",
        ),
    ],
    source: "kernel/sched/cputime.c: account_steal_time",
    ..Rule::DEFAULT
};

pub(super) static SMI: Rule = Rule {
    id: "smi",
    title: "System management interrupt (SMI): firmware took the CPU",
    explanation: "Firmware has its own interrupts, which the kernel can neither see nor mask; the time is \
        lost, mostly 10 to 300 µs. Only the counter MSR_SMI_COUNT of the CPU shows how many there were.",
    fixes: &[
        RuleFix::advice(
            "in the firmware setup: disable USB legacy support, and power and memory health monitoring, \
                if it offers that",
            untried!("These are the usual reasons for SMIs."),
        ),
        RuleFix::advice(
            "update the firmware, or ask the vendor for its low-latency settings",
            untried!("Server vendors have guides for them."),
        ),
    ],
    source: "Intel 64 and IA-32 Architectures Software Developer's Manual, volume 4: MSR_SMI_COUNT (0x34)",
    ..Rule::DEFAULT
};

pub(super) static UNKNOWN: Rule = Rule {
    id: "unknown",
    title: "Origin not found",
    explanation: "None of the recorded events shows why this happened. The raw events around it are listed \
        as evidence; start from them.",
    source: "-",
    names_origin: false,
    ..Rule::DEFAULT
};
