// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "not-in-effect",
    title: "The kernel isolates other CPUs than the command line says",
    severity: Severity::Error,
    reads: &[CMDLINE, NOHZ_FULL, ISOLATED, KERNEL_LOG],
    source: "drivers/base/cpu.c: print_cpus_nohz_full, print_cpus_isolated",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // Another rule reports kernels that cannot do it.
    if machine.has("NO_HZ_FULL") == Some(false) {
        return Vec::new();
    }
    let tick = differs(machine, "nohz_full", NOHZ_FULL, &machine.asked.tick);
    let domain = differs(machine, "isolcpus", ISOLATED, &machine.asked.domain);
    tick.into_iter().chain(domain).collect()
}

/// Finds the CPUs that a parameter names and the kernel does not list, although a replay of its parser follows it.
/// CPU 0 has its own rule.
fn differs(machine: &Machine<'_>, name: &str, file: &str, asked: &CpuList) -> Option<Finding> {
    let listed: CpuList = machine.text(file)?.parse().unwrap_or_default();
    let boot_cpu = if file == NOHZ_FULL { CpuList::first(1) } else { CpuList::default() };
    let lacking = asked.difference(&listed).difference(&boot_cpu);
    (!lacking.is_empty()).then(|| {
        let log = refused_parameter::log_about_isolation(machine);
        let has_log = !log.is_empty();
        let finding = RULE
            .error(format!("{} named in {name}= without effect", cpus_are(&lacking)))
            .on(&lacking)
            .seen(log)
            .seen(machine.said(name))
            .seen(machine.evidence(file));
        if has_log {
            finding
                .so("An upstream kernel of this version would apply it. The kernel's log says what this one did.")
                .advice("change what the log names; a kernel whose parser was changed reads the line differently")
        } else {
            finding
                .so("An upstream kernel of this version would apply it: either this kernel was changed, or it \
                     refused the parameter for a reason in its log.")
                .advice("dmesg | grep -e Housekeeping -e isolcpus -e NO_HZ shows why")
        }
    })
}
