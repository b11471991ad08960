// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "menu-stopped-tick",
    title: "The menu governor selects too deep idle states on a CPU whose tick is stopped",
    severity: Severity::Note,
    reads: &[IDLE_GOVERNOR, IDLE_LATENCY, IDLE_DISABLE, NOHZ_FULL, CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG],
    source: "drivers/cpuidle/governors/menu.c: menu_select",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let slow = |cpu: &u32| super::deep_idle::deepest(machine, *cpu).is_some();
    let hit: CpuList = machine.of_target(&machine.nohz_full).iter().filter(slow).collect();
    if machine.text(IDLE_GOVERNOR) != Some("menu") || hit.is_empty() {
        return Vec::new();
    }
    let kernel = (machine.kernel.major, machine.kernel.minor, machine.kernel.point);
    let effect = match kernel {
        (6, 12, ..75) => {
            "With the tick stopped, an idle time that is predicted shorter than a tick is replaced by the time to the \
             next timer, and before 6.12.75 after very short idle times by no limit at all: the deepest state."
        }
        (7, 1.., _) | (8.., _, _) => {
            "With the tick stopped, a predicted idle time shorter than a tick is replaced by the time to the next \
             timer where that is more than two ticks away."
        }
        _ => {
            "With the tick stopped, an idle time that is predicted shorter than a tick is replaced by the time to \
             the next timer."
        }
    };
    let finding = RULE
        .note(format!("menu may select a deeper idle state than its prediction calls for on {}", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(IDLE_GOVERNOR))
        .seen(machine.evidence(NOHZ_FULL))
        .so(effect)
        .advice("limit the exit latency, as for deep-idle");
    // Since 7.1 both governors look at the next timer first (e57c2bf2e89d, 106a2662e655).
    if machine.since(7, 1) || machine.has("CPU_IDLE_GOV_TEO") != Some(true) {
        return vec![finding];
    }
    vec![
        finding
            .advice("the teo governor does not help: before 7.1 it does the same when the tick is stopped"),
    ]
}
