// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:mbm_handle_overflow",
    title: "resctrl: memory bandwidth counters (MBM) read before they overflow",
    explanation: "resctrl counts memory bandwidth and cache occupancy in narrow counters, so one CPU of \
        each cache or package reads them once a second as long as resctrl is mounted. 6.12 prefers a CPU \
        without nohz_full for it, where the package has one.",
    fixes: &[
        RuleFix {
            action: Fix::Command("umount /sys/fs/resctrl"),
            effect: untried!("Nothing is counted or read, but the cache allocation is gone, too."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("rdt=!mbmtotal,!mbmlocal"),
            effect: untried!("resctrl without memory bandwidth monitoring."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("keep one CPU of each package out of the isolated CPUs"),
            effect: untried!("From 6.12 on that CPU reads the counters."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "fs/resctrl/monitor.c: mbm_handle_overflow (before 6.16 arch/x86/kernel/cpu/resctrl/monitor.c)",
    names_origin: true,
};
