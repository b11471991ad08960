// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "locked-memory",
    title: "Compaction may migrate pages that a program has locked",
    severity: Severity::Note,
    reads: &[COMPACT_LOCKED, TASK_STAT, TASK_STATUS, NOHZ_FULL, ISOLATED],
    source: "mm/compaction.c: isolate_migratepages (sysctl_compact_unevictable_allowed)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let quiet = machine.of_target(&machine.isolated.union(&machine.nohz_full));
    let locks = |task: &&crate::Task| {
        !task.kernel && task.locked_kb > 0 && !task.allowed.is_empty() && task.allowed.is_subset(&quiet)
    };
    let found: Vec<&crate::Task> = machine.tasks.iter().filter(locks).collect();
    if machine.text(COMPACT_LOCKED) != Some("1") || found.is_empty() {
        return Vec::new();
    }
    let locked = |task: &&crate::Task| Evidence {
        file: task.file.clone(),
        value: format!("VmLck: {} kB ({})", task.locked_kb, task.name),
    };
    let finding = RULE
        .naming(Severity::Note, |most| {
            let who = names(found.iter().map(|task| task.name.as_str()), most);
            format!("compaction may migrate the locked memory of {who}")
        })
        .on(&found.iter().fold(CpuList::default(), |sum, task| sum.union(&task.allowed)))
        .seen(machine.evidence(COMPACT_LOCKED))
        .seen(found.iter().map(locked))
        .so("mlock keeps a page in memory, but not at its place. Where it is moved, a task that uses it waits in a page \
             fault, and its CPU is interrupted to flush the TLB.")
        .command("sysctl -w vm.compact_unevictable_allowed=0");
    vec![finding]
}
