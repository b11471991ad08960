// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::Architecture;

pub(super) static RULE: Rule = Rule {
    id: "idle-poll",
    title: "idle=poll (nohlt on arm64): idle CPUs spin and keep their tick",
    severity: Severity::Warning,
    reads: &[CMDLINE, CPUINFO, CLOCKSOURCE],
    source: "arch/x86/kernel/process.c: idle_setup; kernel/sched/idle.c: do_idle",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // Only arm64 and others have nohlt (GENERIC_IDLE_POLL_SETUP).
    let is_x86 = machine.dialect.architecture.is_none_or(|own| own == Architecture::X86);
    let parameter = if is_x86 {
        machine.said("idle").filter(|said| said.value == "idle=poll")
    } else {
        machine.said("nohlt")
    };
    let Some(said) = parameter else { return Vec::new() };
    let parameter = said.value.clone();
    let finding = RULE
        .warning(format!("{parameter} makes every idle CPU spin"))
        .seen([said])
        .so("Idle CPUs, the isolated ones too, tick HZ times a second, take power and turbo headroom from the others, \
             and slow their SMT siblings.")
        .unboot(parameter);
    let targets: Vec<String> = machine.target.iter().map(|cpu| cpu.to_string()).collect();
    vec![if targets.is_empty() {
        finding
    } else {
        finding.advice(format!(
            "if a low wake-up latency is the aim, after that boot: cd /sys/devices/system/cpu; for c in {}; \
             do cat cpu$c/cpuidle/state1/latency > cpu$c/power/pm_qos_resume_latency_us; done. A value below \
             the latency of that state, C1, leaves only polling, which keeps the tick (menu_select, teo_select); \
             teo keeps it for any state with a target residency below 15 µs, too (6.12)",
            targets.join(" ")
        ))
    }]
}
