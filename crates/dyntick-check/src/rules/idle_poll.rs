// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "idle-poll",
    title: "idle=poll: idle CPUs spin and keep their tick",
    severity: Severity::Warning,
    reads: &[CMDLINE],
    source: "arch/x86/kernel/process.c: idle_setup; kernel/sched/idle.c: do_idle",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.line.get("idle") != Some("poll") {
        return Vec::new();
    }
    let finding = RULE
        .warning("idle=poll makes every idle CPU spin")
        .seen(machine.said("idle"))
        .so("Idle CPUs, the isolated ones too, tick HZ times a second, take power and turbo headroom from the others, \
             and slow their SMT siblings.")
        .unboot("idle=poll");
    let targets: Vec<String> = machine.target.iter().map(|cpu| cpu.to_string()).collect();
    vec![match targets.is_empty() {
        true => finding,
        false => finding.advice(format!(
            "if a low wake-up latency is the aim, after that boot: cd /sys/devices/system/cpu; for c in {}; \
             do cat cpu$c/cpuidle/state1/latency > cpu$c/power/pm_qos_resume_latency_us; done. A value below \
             the latency of that state, C1, leaves only polling, which keeps the tick (menu_select, \
             teo_select)",
            targets.join(" ")
        )),
    }]
}
