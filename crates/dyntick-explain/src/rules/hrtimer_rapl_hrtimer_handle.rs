// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:rapl_hrtimer_handle",
    title: "The energy counters were read before they overflow",
    explanation: "The counters of a package belong to one of its CPUs, which reads them as often as their width asks for, while somebody has \
        events on them open. /sys/bus/event_source/devices/power/cpumask tells which CPU that is.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "end who has these events open (perf stat, turbostat, monitoring agents)",
            ),
            effect: untried!("Without events there is no timer."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Command(
                "echo 0 > /sys/devices/system/cpu/cpuN/online; echo 1 > /sys/devices/system/cpu/cpuN/online",
            ),
            effect: untried!("The counters pass to another CPU of the package, and stay there."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("leave the first CPU of each package out of the isolated ones"),
            effect: untried!("It is the one that is chosen at boot."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/events/rapl.c: rapl_hrtimer_handle",
    names_origin: true,
    detect: None,
};
