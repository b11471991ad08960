// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "perf-events",
    title: "A process holds perf events open",
    severity: Severity::Warning,
    reads: &[TASK_FILES, TASK_STAT],
    source: "kernel/events/core.c: account_freq_event_nohz, perf_event_task_tick",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.of_target(&machine.nohz_full).is_empty() {
        return Vec::new();
    }
    let holders = machine.matching(TASK_FILES).filter(|(_, links)| links.contains(PERF_EVENT));
    let judge = |(folder, links): (&str, &str)| {
        let pid: u32 = folder.strip_prefix("/proc/")?.strip_suffix("/fd")?.parse().ok()?;
        let task = machine.tasks.iter().find(|task| task.tid == pid);
        let name = task.map_or("a process", |task| task.name.as_str());
        let count = links.lines().filter(|link| *link == PERF_EVENT).count();
        let finding = RULE.warning(format!("{name} (pid {pid}) holds {count} perf event{}", if count == 1 { "" } else { "s" }))
            .on(&machine.of_target(&machine.nohz_full))
            .seen([Evidence { file: folder.to_owned(), value: format!("{count} x {PERF_EVENT}") }])
            .so("One event in frequency mode (perf record without -c) keeps the tick of all nohz_full CPUs; events \
                 that only count do not. The kernel does not show which these are.")
            .advice(format!("end it (kill {pid}), or let it only count (perf stat, perf record -c)"));
        Some(finding)
    };
    holders.filter_map(judge).collect()
}
