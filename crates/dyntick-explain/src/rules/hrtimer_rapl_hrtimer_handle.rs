// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:rapl_hrtimer_handle",
    title: "RAPL energy counters read before they overflow",
    explanation: "The counters of a package belong to one of its CPUs, which reads them as often as their \
        width requires, while a process has events on them open. \
        /sys/bus/event_source/devices/power/cpumask shows which CPU that is.",
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
    source: "arch/x86/events/rapl.c: rapl_hrtimer_handle",
    names_origin: true,
};
