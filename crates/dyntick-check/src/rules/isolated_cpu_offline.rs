// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "isolated-cpu-offline",
    title: "A CPU that the command line isolates is offline",
    severity: Severity::Warning,
    reads: &[CMDLINE, ONLINE],
    source: "kernel/cpu.c: _cpu_up",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let asked = machine.asked.tick.union(&machine.asked.domain).union(&machine.asked.managed_irq);
    let offline = asked.difference(&machine.online);
    if machine.named || offline.is_empty() {
        return Vec::new();
    }
    let all: Vec<String> = offline.iter().map(|cpu| cpu.to_string()).collect();
    let finding = RULE
        .warning(format!("{} isolated but offline", cpus_are(&offline)))
        .on(&offline)
        .seen(machine.said("nohz_full"))
        .seen(machine.said("isolcpus"))
        .seen(machine.evidence(ONLINE))
        .so("No task can run there.");
    let names = all.join(" ");
    vec![finding.command(format!("for c in {names}; do echo 1 > /sys/devices/system/cpu/cpu$c/online; done"))]
}
