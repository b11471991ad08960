// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:cqm_handle_limbo",
    title: "resctrl: cache occupancy of a removed monitoring group checked (RMID limbo)",
    explanation: "After a monitoring group of resctrl is removed, its RMID cannot be used again until its \
        data have left the cache. One CPU of each cache checks once a second.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("remove monitoring groups of resctrl before the quiet phase"),
            effect: untried!("The checks end when the cache holds little of their data."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("rdt=!cmt"),
            effect: untried!("resctrl without cache occupancy monitoring."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "fs/resctrl/monitor.c: cqm_handle_limbo (before 6.16 arch/x86/kernel/cpu/resctrl/monitor.c)",
    names_origin: true,
};
