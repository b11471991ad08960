// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "steal",
    title: "A virtual machine: the host may run something else on its CPUs (steal time)",
    severity: Severity::Warning,
    reads: &[CPUINFO, STAT],
    source: "fs/proc/stat.c: show_stat; Documentation/virt/kvm/x86/msr.rst (steal time)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if !machine.is_guest() || machine.target.is_empty() {
        return Vec::new();
    }
    let stolen: Vec<(u32, u64)> =
        machine.target.iter().filter_map(|cpu| Some((cpu, steal(machine, cpu)?))).collect();
    let hit: CpuList = stolen.iter().filter(|(_, ticks)| *ticks > 0).map(|(cpu, _)| *cpu).collect();
    let seconds = stolen.iter().map(|(_, ticks)| *ticks).fold(0, u64::saturating_add) as f64 / 100.0;
    let seen =
        |cpu: u32, ticks: u64| Evidence { file: STAT.to_owned(), value: format!("cpu{cpu} steal {ticks}") };
    let effect = "This kernel can keep its own work off a CPU, but not the host's: that takes vCPU threads \
                  that are pinned to isolated CPUs of the host.";
    let finding = if hit.is_empty() {
        RULE.note("this is a virtual machine: interruptions by the host are not visible here")
    } else {
        RULE.warning(format!("steal time on {}: {seconds} s in total", cpus(&hit)))
    };
    let evidence = stolen.iter().filter(|(_, ticks)| *ticks > 0).map(|(cpu, ticks)| seen(*cpu, *ticks));
    let guest = Evidence { file: CPUINFO.to_owned(), value: "flags: hypervisor".to_owned() };
    vec![
        finding
            .on(&hit)
            .seen([guest])
            .seen(evidence)
            .so(effect)
            .advice("pin each vCPU to an isolated CPU of the host"),
    ]
}

/// The steal time: the eighth field, in hundredths of a second (USER_HZ).
fn steal(machine: &Machine<'_>, cpu: u32) -> Option<u64> {
    let prefix = format!("cpu{cpu} ");
    let line = machine.text(STAT)?.lines().find(|line| line.starts_with(&prefix))?;
    line.split_ascii_whitespace().nth(8)?.parse().ok()
}
