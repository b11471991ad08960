// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "nohz-off",
    title: "nohz=off: no CPU ever stops its tick",
    severity: Severity::Error,
    reads: &[CMDLINE],
    source: "kernel/time/tick-sched.c: tick_nohz_activate, tick_nohz_full_update_tick",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let off = machine.line.get("nohz").and_then(boolean) == Some(false);
    if !off {
        return Vec::new();
    }
    let full = !machine.asked.tick.is_empty();
    let severity = if full { Severity::Error } else { Severity::Warning };
    let effect = if full {
        "No tick stops, neither in idle nor while a task runs; the CPUs of nohz_full still pay for context \
                 tracking at each entry into the kernel."
    } else {
        "Idle CPUs are woken HZ times a second."
    };
    let finding = RULE.finding(severity, "nohz=off keeps the tick of every CPU").on(&machine.target);
    let said = machine.said("nohz");
    let parameter = said.as_ref().map(|said| said.value.clone()).unwrap_or_default();
    vec![finding.seen(said).seen(machine.said("nohz_full")).so(effect).unboot(parameter)]
}
