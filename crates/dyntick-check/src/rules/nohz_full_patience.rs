// SPDX-License-Identifier: GPL-2.0-only
use super::*;

const PARAMETER: &str = "rcutree.nohz_full_patience_delay";

/// A grace period that is older than this is waited for in any case (`rcu_nohz_full_cpu`: HZ jiffies), ms.
const MOST: i64 = 1000;

pub(super) static RULE: Rule = Rule {
    id: "nohz-full-patience",
    title: "rcutree.nohz_full_patience_delay without effect, or beyond what it can have",
    severity: Severity::Note,
    reads: &[CMDLINE, NOHZ_FULL],
    source: "kernel/rcu/tree.c: rcu_pending; kernel/rcu/tree_plugin.h: rcu_nohz_full_cpu (6.12)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(value) = machine.line.get(PARAMETER) else { return Vec::new() };
    let Ok(ms) = value.parse::<i64>() else { return Vec::new() };
    let finding = if machine.nohz_full.is_empty() {
        RULE.note(format!("'{PARAMETER}={ms}' does nothing: no CPU is nohz_full"))
            .so("It has RCU leave nohz_full CPUs alone while a grace period is young, and no others.")
            .unboot(PARAMETER)
    } else if ms <= 0 {
        RULE.note(format!("'{PARAMETER}={ms}' does nothing: RCU has no patience by itself"))
            .so("A tick on a nohz_full CPU in the kernel looks at RCU at once.")
            .boot(format!("{PARAMETER}={MOST}"))
    } else if ms > MOST {
        RULE.note(format!("'{PARAMETER}={ms}' is {MOST} ms in effect"))
            .so("A grace period that is older than a second is waited for on nohz_full CPUs as on all others.")
            .boot(format!("{PARAMETER}={MOST}"))
    } else {
        return Vec::new();
    };
    vec![finding.seen(machine.said(PARAMETER))]
}
