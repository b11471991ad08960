// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "unknown-value",
    title: "A parameter with a value that the kernel does not know",
    severity: Severity::Error,
    reads: &[CMDLINE],
    source: "arch/x86/kernel/process.c: idle_setup; kernel/watchdog.c: hardlockup_panic_setup; \
             kernel/time/tick-sched.c: setup_tick_nohz; mm/huge_memory.c: setup_transparent_hugepage; \
             drivers/cpufreq/intel_pstate.c: intel_pstate_setup; \
             kernel/sched/core.c: sched_dynamic_mode; arch/x86/kernel/tsc.c: tsc_setup",
    find,
};

/// A parameter and the values that are more than a word for yes or no.
struct Values {
    name: &'static str,
    values: &'static str,
    known: fn(&Machine<'_>, &str) -> bool,
    /// What was meant by a value that the kernel does not know, where nothing else can be.
    meant: fn(&str) -> Option<&'static str>,
}

fn nobody_knows(_: &str) -> Option<&'static str> {
    None
}

/// A word for yes or no, where the kernel wants a number.
fn number(value: &str) -> Option<&'static str> {
    match value {
        "off" | "no" | "n" | "false" | "never" | "disable" | "disabled" => Some("0"),
        "on" | "yes" | "y" | "true" | "enable" | "enabled" => Some("1"),
        _ => None,
    }
}

const VALUES: [Values; 8] = [
    Values {
        name: "idle",
        values: "poll, halt or nomwait",
        known: |_, v| ["poll", "halt", "nomwait"].contains(&v),
        meant: nobody_knows,
    },
    Values {
        name: "nmi_watchdog",
        values: "0 or 1",
        known: |_, v| ["panic", "nopanic", "0", "1", "r"].iter().any(|word| v.starts_with(word)),
        meant: number,
    },
    Values {
        name: "intel_pstate",
        values: "disable, active, passive, force, no_hwp, hwp_only, support_acpi_ppc or per_cpu_perf_limits",
        // `no_cas` came later than 6.12.
        known: |_, v| {
            let known = ["disable", "active", "passive", "force", "no_hwp", "hwp_only", "support_acpi_ppc"];
            known.contains(&v) || ["per_cpu_perf_limits", "no_cas"].contains(&v)
        },
        meant: nobody_knows,
    },
    Values { name: "nohz", values: "on or off", known: |_, v| boolean(v).is_some(), meant: nobody_knows },
    Values { name: "highres", values: "on or off", known: |_, v| boolean(v).is_some(), meant: nobody_knows },
    Values {
        name: "transparent_hugepage",
        values: "always, madvise or never",
        known: |_, v| ["always", "madvise", "never"].contains(&v),
        meant: |v| (boolean(v) == Some(false)).then_some("never"),
    },
    Values {
        name: "preempt",
        values: "none, voluntary or full (and lazy from 6.13 on)",
        known: |machine, v| {
            ["none", "voluntary", "full"].contains(&v) || (v == "lazy" && machine.since(6, 13))
        },
        meant: nobody_knows,
    },
    Values {
        name: "tsc",
        values: "reliable, nowatchdog, watchdog, recalibrate, noirqtime or unstable",
        known: |_, v| {
            ["reliable", "nowatchdog", "watchdog", "recalibrate", "noirqtime", "unstable"].contains(&v)
        },
        meant: nobody_knows,
    },
];

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let told = |parameter: &Values| {
        let value = machine.line.get(parameter.name)?;
        let said = machine.said(parameter.name)?;
        (!(parameter.known)(machine, value)).then(|| {
            let finding = RULE
                .error(format!("'{}' is ignored: the kernel does not know this value", said.value))
                .seen([said])
                .so("It has no effect; the kernel's default applies.");
            match (parameter.meant)(&value.to_ascii_lowercase()) {
                Some(meant) => finding.boot(format!("{}={meant}", parameter.name)),
                None => finding
                    .advice(format!("set {} to one of its values: {}", parameter.name, parameter.values)),
            }
        })
    };
    VALUES.iter().filter_map(told).collect()
}
