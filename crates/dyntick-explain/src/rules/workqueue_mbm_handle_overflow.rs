// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:mbm_handle_overflow",
    title: "The counters of memory bandwidth were read before they overflow",
    explanation: "resctrl counts memory bandwidth and cache use in registers that are small, so one CPU of each cache or package \
        reads them once a second as long as resctrl is mounted. 6.12 prefers a CPU without nohz_full for it, where the \
        package has one.",
    fixes: &[
        Fix {
            setting: Setting::Command("umount /sys/fs/resctrl"),
            effect: untried!(
                "Nothing is counted and nothing read, but the shares of the cache are gone, too."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("rdt=!mbmtotal,!mbmlocal"),
            effect: untried!("resctrl without the counting of bandwidth."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("leave a CPU of each package out of the isolated ones"),
            effect: untried!("It is the one that reads, from 6.12 on."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "fs/resctrl/monitor.c: mbm_handle_overflow (before 6.16 arch/x86/kernel/cpu/resctrl/monitor.c)",
    names_origin: true,
    detect: None,
};
