// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::parameters::with_option;

pub(super) static RULE: Rule = Rule {
    id: "unsupported-parameter",
    title: "A parameter whose CONFIG_ option this kernel was built without",
    severity: Severity::Error,
    reads: &[CMDLINE, CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG, NOHZ_FULL, ISOLATED, KERNEL_LOG],
    source: "kernel/time/Kconfig, kernel/rcu/Kconfig, init/Kconfig, kernel/Kconfig.preempt",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let plain = with_option().filter_map(|(parameter, option)| unsupported(machine, parameter, option));
    plain.chain(nohz_flag(machine)).collect()
}

fn unsupported(machine: &Machine<'_>, parameter: &str, option: &str) -> Option<Finding> {
    let said = machine.said(parameter)?;
    let parameter = said.value.clone();
    (machine.has(option) == Some(false)).then(|| {
        RULE.error(format!("'{parameter}' does nothing: the kernel was built without CONFIG_{option}"))
            .seen(machine.lacks(option))
            .seen([said])
            .so("The kernel ignores it.")
            .advice(format!("run a kernel with CONFIG_{option}=y, or remove the parameter"))
    })
}

fn nohz_flag(machine: &Machine<'_>) -> Option<Finding> {
    let said = machine.said("isolcpus")?;
    let (_, value) = said.value.split_once('=')?;
    let (flags, list) = dyntick_model::isolation::flags_and_list(value);
    (flags.contains(&"nohz") && machine.has("NO_HZ_FULL") == Some(false)).then(|| {
        let list = machine.reader().list(list).unwrap_or_default();
        RULE.error(format!("'{}' does nothing: the kernel was built without CONFIG_NO_HZ_FULL", said.value))
            .seen(machine.lacks("NO_HZ_FULL"))
            .seen([said.clone()])
            .so("Because of the flag nohz the complete parameter is ignored, domain isolation included.")
            .composed(machine.composed_of(&machine.line, &machine.wanted().and(&domain(machine, &list))))
    })
}
