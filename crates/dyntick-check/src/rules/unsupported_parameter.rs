// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::parameters::{self, with_option};

pub(super) static RULE: Rule = Rule {
    id: "unsupported-parameter",
    title: "A parameter whose CONFIG_ option this kernel was built without",
    severity: Severity::Error,
    reads: &[RELEASE, CMDLINE, CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG, NOHZ_FULL, ISOLATED, KERNEL_LOG],
    source: "kernel/time/Kconfig, kernel/rcu/Kconfig, init/Kconfig, kernel/Kconfig.preempt",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let plain = with_option().filter_map(|(parameter, option)| unsupported(machine, parameter, option));
    let later = parameters::PARAMETERS.iter().filter_map(|parameter| too_new(machine, parameter));
    plain.chain(later).chain(nohz_flag(machine)).collect()
}

fn too_new(machine: &Machine<'_>, parameter: &parameters::Parameter) -> Option<Finding> {
    let said = machine.said(parameter.name).filter(|_| parameter.is_newer_than(machine.dialect))?;
    let ((major, minor), word) = (parameter.since, said.value.clone());
    let finding = RULE
        .warning(format!("'{word}' does nothing: the parameter is not in kernels before {major}.{minor}"))
        .seen([said])
        .seen(machine.evidence(RELEASE))
        .so("The kernel ignores it.");
    Some(finding.unboot(word))
}

fn unsupported(machine: &Machine<'_>, parameter: &str, option: &str) -> Option<Finding> {
    let said = machine.said(parameter)?;
    let parameter = said.value.clone();
    if machine.has(option) != Some(false) {
        return None;
    }
    if parameter == NEVER {
        let finding = RULE
            .note(format!("'{parameter}' changes nothing: the kernel was built without CONFIG_{option}"))
            .seen(machine.lacks(option))
            .seen([said])
            .so("The kernel has no transparent huge pages at all.");
        return Some(finding.unboot(parameter));
    }
    Some(
        RULE.error(format!("'{parameter}' does nothing: the kernel was built without CONFIG_{option}"))
            .seen(machine.lacks(option))
            .seen([said])
            .so("The kernel ignores it.")
            .advice(format!("run a kernel with CONFIG_{option}=y, or remove the parameter")),
    )
}

/// Asks for what is so without the option, as on each PREEMPT_RT kernel.
const NEVER: &str = "transparent_hugepage=never";

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
