// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "irqpoll",
    title: "irqpoll, irqfixup: an interrupt that its handler does not take has those of all others run",
    severity: Severity::Warning,
    reads: &[CMDLINE],
    source: "kernel/irq/spurious.c: try_misrouted_irq, misrouted_irq",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.target.is_empty() {
        return Vec::new();
    }
    ["irqpoll", "irqfixup"].into_iter().find_map(|name| judge(machine, name)).into_iter().collect()
}

fn judge(machine: &Machine<'_>, name: &str) -> Option<Finding> {
    let said = machine.said(name)?;
    let what = said.value.clone();
    let finding = if machine.is_rt() {
        RULE.note(format!("'{what}' does nothing on PREEMPT_RT"))
            .so("The kernel says \"not supported with PREEMPT_RT\" in its log, and leaves it off.")
    } else {
        RULE
            .warning(format!("'{what}' has the handlers of other interrupts run"))
            .on(&machine.target)
            .so(format!(
                "With each interrupt that its handler does not take{}, that CPU runs the handlers of all shared \
                 interrupts, one after the other with interrupts off.",
                if name == "irqpoll" { ", and each one of the legacy timer (row 0 of /proc/interrupts)" } else { "" }
            ))
    };
    let finding = finding.unboot(what).seen([said]);
    Some(if machine.is_rt() {
        finding
    } else {
        finding.advice(
            "it is meant for a machine that routes interrupts wrongly, where the kernel's log says \"nobody cared\"",
        )
    })
}
