// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::PARAMETER_OPTIONS;

pub(super) static RULE: Rule = Rule {
    id: "unsupported-parameter",
    title: "A parameter whose CONFIG_ option this kernel was built without",
    severity: Severity::Error,
    reads: &[CMDLINE, CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG],
    source: "kernel/time/Kconfig, kernel/rcu/Kconfig, init/Kconfig, kernel/Kconfig.preempt",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let told = |(parameter, option): &(&str, &str)| {
        let said = machine.said(parameter)?;
        (machine.has(option) == Some(false)).then(|| {
            RULE.error(format!("'{}' does nothing: the kernel was built without CONFIG_{option}", said.value))
                .seen([said])
                .seen(machine.option(option))
                .so("The kernel ignores it.")
                .advice(format!("run a kernel with CONFIG_{option}=y, or remove the parameter"))
        })
    };
    let mut findings: Vec<Finding> = PARAMETER_OPTIONS.iter().filter_map(told).collect();
    findings.extend(nohz_flag(machine));
    findings
}

fn nohz_flag(machine: &Machine<'_>) -> Option<Finding> {
    let said = machine.said("isolcpus")?;
    let flags = said.value.split_once('=')?.1;
    (flags.split(',').any(|word| word == "nohz") && machine.has("NO_HZ_FULL") == Some(false)).then(|| {
        RULE.error(format!("'{}' does nothing: the kernel was built without CONFIG_NO_HZ_FULL", said.value))
            .seen([said])
            .seen(machine.option("NO_HZ_FULL"))
            .so("Because of the flag nohz the complete parameter is ignored, domain isolation included.")
            .composed(machine.composed_of(&Wanted {
                tick: CpuList::default(),
                ..machine.wanted().and(&domain(machine, &machine.asked.tick))
            }))
    })
}
