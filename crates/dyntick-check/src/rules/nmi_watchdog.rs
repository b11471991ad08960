// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "nmi-watchdog",
    title: "The hard-lockup watchdog runs on an isolated CPU",
    severity: Severity::Warning,
    reads: &[
        NMI_WATCHDOG,
        SOFT_WATCHDOG,
        WATCHDOG_CPUMASK,
        WATCHDOG_THRESH,
        CONFIG_GZ,
        BOOT_CONFIG,
        MODULES_CONFIG,
    ],
    source: "kernel/watchdog_perf.c: watchdog_hardlockup_enable; kernel/watchdog_buddy.c (from 6.5 on)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let hit = machine.of_target(&super::soft_watchdog::watched(machine));
    if machine.text(NMI_WATCHDOG) != Some("1") || hit.is_empty() {
        return Vec::new();
    }
    let seconds = machine.number(WATCHDOG_THRESH).unwrap_or(10);
    let buddy = machine.has("HARDLOCKUP_DETECTOR_BUDDY") == Some(true);
    if buddy && machine.text(SOFT_WATCHDOG) == Some("1") {
        // Both use the timer that the other rule reports.
        return Vec::new();
    }
    let effect = if buddy {
        format!(
            "A timer interrupt every {} s, in which each CPU checks its neighbour (buddy detector). This \
             kernel needs no NMI and no performance counter for it.",
            seconds as f64 * 2.0 / 5.0
        )
    } else {
        format!(
            "An NMI, which cannot be masked, every {seconds} s of busy cycles, and one \
             performance counter less."
        )
    };
    let finding = RULE
        .warning(format!("the hard-lockup watchdog runs on {}", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(NMI_WATCHDOG))
        .seen(machine.evidence(WATCHDOG_CPUMASK))
        .seen(machine.option("HARDLOCKUP_DETECTOR_BUDDY").filter(|_| buddy))
        .so(effect)
        .command(super::soft_watchdog::elsewhere(machine))
        .command("sysctl -w kernel.nmi_watchdog=0");
    vec![finding]
}
