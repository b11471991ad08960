// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::parameters;

pub(super) static RULE: Rule = Rule {
    id: "unknown-value",
    title: "A parameter with a value that the kernel does not know",
    severity: Severity::Error,
    reads: &[CMDLINE, KERNEL_LOG],
    source: "arch/x86/kernel/process.c: idle_setup; kernel/watchdog.c: hardlockup_panic_setup; \
             kernel/time/tick-sched.c: setup_tick_nohz, skew_tick; mm/huge_memory.c: setup_transparent_hugepage; \
             drivers/cpufreq/intel_pstate.c, amd-pstate.c; drivers/cpuidle/governor.c; \
             drivers/idle/intel_idle.c: cmdline_table_adjust (7.0); arch/x86/kernel/cpu/mce/core.c: mcheck_enable; \
             kernel/sched/core.c: sched_dynamic_mode; arch/x86/kernel/tsc.c: tsc_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    parameters::PARAMETERS.iter().filter_map(|parameter| judged(machine, parameter)).collect()
}

fn judged(machine: &Machine<'_>, parameter: &parameters::Parameter) -> Option<Finding> {
    let value = machine.line.get(parameter.name)?;
    let said = machine.said(parameter.name)?;
    let is_unused = parameter.option.is_some_and(|option| machine.has(option) == Some(false));
    if parameter.values.knows(value, machine.dialect)
        || is_unused
        || foreign_architecture::is_foreign(machine, &said.value)
    {
        return None;
    }
    let known = parameter.values.listed(machine.dialect);
    let word = said.value.clone();
    let log = machine.unknown_parameters().filter(|_| machine.lists_as_unknown(parameter.name));
    let log = log.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() });
    let finding = RULE
        .error(format!("'{word}' is ignored: {}", knows(&known)))
        .seen(log)
        .seen([said])
        .so("It has no effect; the kernel's default applies.");
    Some(match parameter.values.meant(value, machine.dialect) {
        Some(meant) => finding.boot(format!("{}={meant}", parameter.name)),
        None if known.is_empty() => finding.unboot(word),
        None => finding.advice(format!("set {} to one of its values: {}", parameter.name, or(&known))),
    })
}

fn knows(known: &[&str]) -> String {
    match known {
        [] => "this kernel knows no value of it".to_owned(),
        known => format!("this kernel knows {}", or(known)),
    }
}

fn or(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
