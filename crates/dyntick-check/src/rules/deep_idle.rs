// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "deep-idle",
    title: "An isolated CPU may enter idle states with a long exit latency",
    severity: Severity::Warning,
    reads: &[IDLE_NAME, IDLE_LATENCY, IDLE_DISABLE, RESUME_LATENCY, CPU_DMA_LATENCY, CMDLINE],
    source: "drivers/cpuidle/governor.c: cpuidle_governor_latency_req",
    find,
};

/// The exit latency from which on a late wake-up is worth reporting, µs.
const SLOW_US: u64 = 50;

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let found: Vec<_> = machine.target.iter().filter_map(|cpu| Some((cpu, deepest(machine, cpu)?))).collect();
    let Some((_, worst)) = found.iter().max_by_key(|(_, state)| state.exit_us) else { return Vec::new() };
    let hit: CpuList = found.iter().map(|(cpu, _)| *cpu).collect();
    let all: Vec<String> = hit.iter().map(|cpu| cpu.to_string()).collect();
    let severity = if machine.is_rt() { Severity::Warning } else { Severity::Note };
    let limit = SLOW_US / 5;
    let finding = RULE
        .finding(severity, format!("{} may enter {}, which has an exit latency of {} µs", cpus(&hit), worst.name, worst.exit_us))
        .on(&hit)
        .seen(machine.evidence(&worst.file))
        .seen(machine.evidence(CPU_DMA_LATENCY))
        .seen(machine.said("intel_idle.table"))
        .so("A wake-up of an idle CPU is delayed by up to the exit latency.")
        .command(format!(
            "for c in {}; do echo {limit} > /sys/devices/system/cpu/cpu$c/power/pm_qos_resume_latency_us; done",
            all.join(" ")
        ));
    vec![finding]
}

/// The state with the longest exit latency that a CPU may enter, if it is long.
pub(super) fn deepest(machine: &Machine<'_>, cpu: u32) -> Option<crate::IdleState> {
    let limit = limit_us(machine, cpu);
    let allowed =
        machine.idle_states(cpu).into_iter().filter(|state| state.enabled && state.exit_us <= limit);
    allowed.max_by_key(|state| state.exit_us).filter(|state| state.exit_us >= SLOW_US)
}

/// The PM QoS limit of a CPU, µs. In the CPU's own file 0 means no limit, and `n/a` means no latency at all.
fn limit_us(machine: &Machine<'_>, cpu: u32) -> u64 {
    let own = match machine.of_cpu(RESUME_LATENCY, cpu).1 {
        Some("n/a") => 0,
        Some("0") | None => u64::MAX,
        Some(number) => number.parse().unwrap_or(u64::MAX),
    };
    own.min(machine.number(CPU_DMA_LATENCY).and_then(|us| u64::try_from(us).ok()).unwrap_or(u64::MAX))
}
