// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "kernel-config",
    title: "The kernel's configuration was not found",
    severity: Severity::Note,
    reads: &[CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG, RELEASE],
    source: "kernel/configs.c (CONFIG_IKCONFIG_PROC)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.config.is_some() {
        return Vec::new();
    }
    let [boot, modules] =
        [BOOT_CONFIG, MODULES_CONFIG].map(|place| place.replace('*', &machine.kernel.release));
    let finding = RULE
        .note(format!("none of {CONFIG_GZ}, {boot} and {modules} can be read"))
        .seen(machine.evidence(RELEASE))
        .so("Whether the kernel was built with the options that its command line needs could not be checked.")
        .advice("modprobe configs, or copy the configuration of this kernel to one of these places");
    vec![finding]
}
