// SPDX-License-Identifier: GPL-2.0-only
use super::*;

const PARAMETER: &str = "rcutree.nohz_full_patience_delay";

/// The age from which on RCU waits for a grace period in any case (`rcu_nohz_full_cpu`: HZ jiffies), ms.
const MOST: i64 = 1000;

pub(super) static RULE: Rule = Rule {
    id: "nohz-full-patience",
    title: "rcutree.nohz_full_patience_delay has no effect, or exceeds its maximum",
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
            .so("It makes RCU leave nohz_full CPUs, and no others, alone while a grace period is young.")
            .unboot(PARAMETER)
    } else if ms <= 0 {
        RULE.note(format!("'{PARAMETER}={ms}' does nothing: by default there is no delay"))
            .so("A tick that finds a nohz_full CPU in the kernel does RCU's work at once.")
            .boot(format!("{PARAMETER}={MOST}"))
    } else if ms > MOST {
        RULE.note(format!("'{PARAMETER}={ms}' is effectively {MOST} ms"))
            .so("Once a grace period is older than a second, RCU treats nohz_full CPUs as all others.")
            .boot(format!("{PARAMETER}={MOST}"))
    } else {
        return Vec::new();
    };
    vec![finding.seen(machine.said(PARAMETER))]
}
