// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "not-realtime",
    title: "The kernel is named a real-time one, but was built without PREEMPT_RT",
    severity: Severity::Warning,
    reads: &[RELEASE, CMDLINE, VERSION, REALTIME, CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG],
    source: "kernel/Kconfig.preempt: PREEMPT_RT; init/Makefile: build-version",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let (Some(name), Some((false, built))) = (machine.named_rt(), machine.built_rt()) else {
        return Vec::new();
    };
    let finding = RULE
        .warning(format!("the kernel is named '{}', but was built without CONFIG_PREEMPT_RT", name.value))
        .on(&machine.target)
        .seen([name, built])
        .so("Interrupt handlers are not forced into threads, spinning locks are not preempted, and softirqs \
             run at the end of interrupts: a task of the highest priority waits for all of them.")
        .advice(
            "build the kernel with CONFIG_PREEMPT_RT=y, which make olddefconfig drops without a word where \
             CONFIG_EXPERT or the patch for this version is missing, or boot one of the distribution that has \
             it: uname -v of such a kernel says PREEMPT_RT",
        );
    vec![finding]
}
