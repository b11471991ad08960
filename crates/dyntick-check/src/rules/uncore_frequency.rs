// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "uncore-frequency",
    title: "The uncore frequency (caches, memory controllers) follows the load",
    severity: Severity::Note,
    reads: &[UNCORE_MIN, UNCORE_MAX],
    source: "drivers/platform/x86/intel/uncore-frequency/uncore-frequency-common.c: show_min_freq_khz, store_min_freq_khz",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let range = |(path, most): (&'_ str, &str)| {
        let least = path.replace("max_freq_khz", "min_freq_khz");
        let (low, high) = (machine.number(&least)?, most.parse::<i64>().ok()?);
        (low < high).then_some((least, path.to_owned()))
    };
    let found: Vec<(String, String)> = machine.matching(UNCORE_MAX).filter_map(range).collect();
    let Some((least, most)) = found.first().filter(|_| !machine.target.is_empty()) else { return Vec::new() };
    let finding = RULE
        .note("the uncore frequency (caches, memory controllers) varies")
        .on(&machine.target)
        .seen(machine.evidence(least))
        .seen(machine.evidence(most))
        .so("A busy isolated CPU waits longer for memory if the rest of the package is idle.")
        .advice(untried(
            "for d in /sys/devices/system/cpu/intel_uncore_frequency/*/; do cat $d/max_freq_khz > $d/min_freq_khz; done",
        ));
    vec![finding]
}
