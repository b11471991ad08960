// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "frequency-governor",
    title: "The frequency of an isolated CPU follows its load",
    severity: Severity::Note,
    reads: &[FREQ_GOVERNOR, FREQ_DRIVER],
    source: "drivers/cpufreq/cpufreq.c: show_scaling_governor",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let follows = |cpu: &u32| {
        let governor = machine.of_cpu(FREQ_GOVERNOR, *cpu).1;
        governor.is_some_and(|governor| ["schedutil", "ondemand", "conservative"].contains(&governor))
    };
    let hit: CpuList = machine.target.iter().filter(follows).collect();
    let Some(first) = hit.iter().next() else { return Vec::new() };
    let all: Vec<String> = hit.iter().map(|cpu| cpu.to_string()).collect();
    let finding = RULE
        .note(format!("the frequency of {} follows the load", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(&machine.of_cpu(FREQ_GOVERNOR, first).0))
        .seen(machine.evidence(&machine.of_cpu(FREQ_DRIVER, first).0))
        .so("A task that wakes up starts at a low frequency; the change costs time on that CPU.")
        .command(format!(
            "for c in {}; do echo performance > /sys/devices/system/cpu/cpu$c/cpufreq/scaling_governor; done",
            all.join(" ")
        ));
    vec![finding]
}
