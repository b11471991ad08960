// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:cqm_handle_limbo",
    title: "It was looked whether the cache still holds data of a monitoring group that is gone",
    explanation: "After a monitoring group of resctrl is removed its number cannot be used again before its data have left the \
        cache. One CPU of each cache looks once a second.",
    fixes: &[
        Fix {
            setting: Setting::Program("remove monitoring groups of resctrl before the quiet phase"),
            effect: untried!("It ends when the cache holds little of them."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("rdt=!cmt"),
            effect: untried!("resctrl without the counting of cache use."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "fs/resctrl/monitor.c: cqm_handle_limbo (before 6.16 arch/x86/kernel/cpu/resctrl/monitor.c)",
    names_origin: true,
    detect: None,
};
