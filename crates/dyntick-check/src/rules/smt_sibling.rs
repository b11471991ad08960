// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "smt-sibling",
    title: "An isolated CPU shares its core with a housekeeping CPU",
    severity: Severity::Warning,
    reads: &[SIBLINGS],
    source: "drivers/base/topology.c: thread_siblings_list",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let shares = |cpu: u32| {
        let (file, text) = machine.of_cpu(SIBLINGS, cpu);
        let siblings: CpuList = text?.parse().ok()?;
        let others = siblings.intersection(&machine.housekeeping());
        (!others.is_empty()).then_some((cpu, file, others))
    };
    let found: Vec<(u32, String, CpuList)> = machine.target.iter().filter_map(shares).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let hit: CpuList = found.iter().map(|(cpu, _, _)| *cpu).collect();
    let others = found.iter().fold(CpuList::default(), |sum, (_, _, others)| sum.union(others));
    let all: Vec<String> = others.iter().map(|cpu| cpu.to_string()).collect();
    let finding = RULE
        .warning(format!("{} share cores with {}, which do other work", cpus(&hit), cpus(&others)))
        .on(&hit)
        .seen(found.iter().take(4).filter_map(|(_, file, _)| machine.evidence(file)))
        .so("Two threads of a core compete for its units and caches: run times vary with what the sibling does.")
        .command(format!(
            "for c in {}; do echo 0 > /sys/devices/system/cpu/cpu$c/online; done",
            all.join(" ")
        ))
        .advice("or isolate the siblings too, and leave them idle");
    vec![finding]
}
