// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "tracing",
    title: "Tracing or kprobes are active in the kernel",
    severity: Severity::Note,
    reads: &[MAIN_TRACING_ON, MAIN_EVENTS, MAIN_TRACER, KPROBES],
    source: "kernel/trace/trace.c: tracing_set_tracer; kernel/trace/trace_kprobe.c; arch/x86/kernel/alternative.c: text_poke_bp_batch",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.target.is_empty() {
        return Vec::new();
    }
    let on = machine.text(MAIN_TRACING_ON) == Some("1");
    let events = on && machine.text(MAIN_EVENTS).is_some_and(|enabled| enabled != "0");
    let tracer = machine.text(MAIN_TRACER).is_some_and(|tracer| tracer != "nop");
    let probes = machine.text(KPROBES).is_some_and(|probes| !probes.is_empty());
    let which: Vec<&str> = [("events", events), ("a tracer", tracer), ("kprobes", probes)]
        .into_iter()
        .filter_map(|(name, active)| active.then_some(name))
        .collect();
    if which.is_empty() {
        return Vec::new();
    }
    let mut finding = RULE
        .note(format!("the kernel is traced: {}", which.join(", ")))
        .on(&machine.target)
        .seen(machine.evidence(MAIN_EVENTS).filter(|_| events))
        .seen(machine.evidence(MAIN_TRACER).filter(|_| tracer))
        .seen(machine.evidence(KPROBES).filter(|_| probes))
        .so("Each traced event takes time on the CPU where it occurs, and switching tracing on or off \
             patches kernel code, which interrupts all CPUs.");
    let offs = [
        (events, format!("echo 0 > {MAIN_EVENTS}")),
        (tracer, format!("echo nop > {MAIN_TRACER}")),
        (probes, format!("echo > {KPROBES}")),
    ];
    for (_, off) in offs.into_iter().filter(|(active, _)| *active) {
        finding =
            finding.advice(format!("if it is no longer needed, and before the isolated task starts: {off}"));
    }
    vec![finding]
}
