// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "kernel-config",
    title: "The kernel's configuration is not to be found",
    severity: Severity::Note,
    reads: &[CONFIG_GZ, BOOT_CONFIG, RELEASE],
    source: "kernel/configs.c (CONFIG_IKCONFIG_PROC)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.config.is_some() {
        return Vec::new();
    }
    let boot = BOOT_CONFIG.replace('*', &machine.kernel.release);
    let finding = RULE
        .note(format!("neither {CONFIG_GZ} nor {boot} can be read"))
        .seen(machine.evidence(RELEASE))
        .so("Whether the kernel was built for what its command line asks could not be judged.")
        .advice("modprobe configs, or copy the configuration of this kernel to that place");
    vec![finding]
}
