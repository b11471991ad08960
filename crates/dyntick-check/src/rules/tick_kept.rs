// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "tick-kept",
    title: "An isolated CPU without nohz_full",
    severity: Severity::Note,
    reads: &[NOHZ_FULL, ISOLATED, CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG],
    source: "kernel/time/tick-sched.c: tick_nohz_full_update_tick",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let hit =
        machine.of_target(&machine.isolated).difference(&machine.nohz_full).difference(&machine.asked.tick);
    // The boot CPU always keeps its tick.
    let hit = hit.difference(&CpuList::first(1));
    if hit.is_empty() || machine.has("NO_HZ_FULL") == Some(false) {
        return Vec::new();
    }
    let hz = machine.config.as_ref().and_then(|(_, config)| config.hz());
    let rate = hz.map_or("HZ".to_owned(), |hz| hz.to_string());
    let finding = RULE
        .note(format!(
            "{} isolated, but still ticking {rate} times a second while a task runs",
            cpus_are(&hit)
        ))
        .on(&hit)
        .seen(machine.evidence(ISOLATED))
        .seen(machine.evidence(NOHZ_FULL))
        .so(
            "nohz_full stops the tick, but makes each kernel entry more expensive: right for code that stays \
             in user space, often wrong for code that makes many system calls.",
        )
        .composed(machine.composed(&tick(&hit)));
    vec![finding]
}
