// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "latency-held",
    title: "A process holds /dev/cpu_dma_latency at 0: all idle CPUs poll",
    severity: Severity::Note,
    reads: &[CPU_DMA_LATENCY, TASK_FILES],
    source: "kernel/power/qos.c: cpu_latency_qos_read",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.number(CPU_DMA_LATENCY) != Some(0) {
        return Vec::new();
    }
    let holders = machine.matching(TASK_FILES).filter(|(_, links)| links.contains(CPU_DMA_LATENCY));
    let holders =
        holders.map(|(folder, _)| Evidence { file: folder.to_owned(), value: CPU_DMA_LATENCY.to_owned() });
    let finding = RULE
        .note("/dev/cpu_dma_latency is held at 0 µs: every idle CPU of the machine polls")
        .seen(machine.evidence(CPU_DMA_LATENCY))
        .seen(holders)
        .so("Housekeeping CPUs and SMT siblings use power and turbo headroom, and no CPU with a polling \
             state stops its tick in idle.")
        .advice("limit only the isolated CPUs: /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us");
    vec![finding]
}
