// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "timer:tsc_sync_check_timer_fn",
    title: "TSC_ADJUST check timer (firmware changes of the TSC)",
    explanation: "Every ten minutes a timer checks the TSC_ADJUST register of the next CPU.",
    fixes: &[RuleFix {
        action: Fix::Boot("tsc=reliable"),
        effect: untried!("No check."),
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "arch/x86/kernel/tsc_sync.c: tsc_sync_check_timer_fn",
    names_origin: true,
};
