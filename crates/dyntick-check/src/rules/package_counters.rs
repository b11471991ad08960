// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "package-counters",
    title: "An isolated CPU reads the PMU counters of its package (uncore, power)",
    severity: Severity::Note,
    reads: &[COUNTER_CPUS],
    source: "arch/x86/events/intel/uncore.c: uncore_event_cpu_offline, uncore_pmu_hrtimer; arch/x86/events/rapl.c",
    find,
};

/// The PMUs of a package, or a part of it, rather than a core.
const SHARED: &[&str] = &["uncore_", "power", "amd_df", "amd_l3", "amd_umc", "cstate_pkg"];

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let name = |path: &str| path.split('/').nth_back(1).unwrap_or_default().to_owned();
    let shared = |path: &str| SHARED.iter().any(|start| name(path).starts_with(start));
    let devices = machine.matching(COUNTER_CPUS).filter(|(path, _)| shared(path));
    let ours = |(path, list): (&'_ str, &str)| {
        let hit = machine.of_target(&list.parse::<CpuList>().ok()?);
        (!hit.is_empty()).then(|| (path.to_owned(), hit))
    };
    let found: Vec<(String, CpuList)> = devices.filter_map(ours).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let hit = found.iter().fold(CpuList::default(), |sum, (_, cpus)| sum.union(cpus));
    let which: Vec<String> = found.iter().map(|(path, _)| text::clean_line(&name(path))).collect();
    let all: Vec<String> = hit.iter().map(|cpu| cpu.to_string()).collect();
    let finding = RULE
        .naming(Severity::Note, |most| {
            let which = names(which.iter().map(String::as_str), most);
            format!("{} designated to read {which}", cpus_are(&hit))
        })
        .on(&hit)
        .seen(found.iter().filter_map(|(path, _)| machine.evidence(path)))
        .so("A read from another CPU interrupts that CPU, and while events on them are open, a timer runs there.")
        .advice(untried(format!(
            "they move to another CPU of the package when this one goes offline, and stay there: for c in \
             {}; do echo 0 > /sys/devices/system/cpu/cpu$c/online; echo 1 > \
             /sys/devices/system/cpu/cpu$c/online; done",
            all.join(" ")
        )))
        .advice("keep the first CPU of each package for housekeeping");
    vec![finding]
}
