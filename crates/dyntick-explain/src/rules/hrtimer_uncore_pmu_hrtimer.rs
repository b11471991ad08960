// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:uncore_pmu_hrtimer",
    title: "Uncore PMU counters read before they overflow",
    explanation: "The counters of a package belong to one of its CPUs, which reads them once a minute, or \
        more often, while a process has events on them open. /sys/bus/event_source/devices/uncore_*/cpumask \
        shows which CPU that is.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "stop the processes that have these events open (perf stat, turbostat, monitoring agents)",
            ),
            effect: untried!("Without events there is no timer."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command(
                "echo 0 > /sys/devices/system/cpu/cpu{cpu}/online; echo 1 > /sys/devices/system/cpu/cpu{cpu}/online",
            ),
            effect: untried!("The counters move to another CPU of the package, and stay there."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("do not isolate the first CPU of each package"),
            effect: untried!("The kernel chooses that CPU at boot."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/events/intel/uncore.c: uncore_pmu_hrtimer, uncore_event_cpu_offline",
    names_origin: true,
};
