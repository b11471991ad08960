// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "frequency-governor",
    title: "The frequency of an isolated CPU follows its load, or stays at the minimum",
    severity: Severity::Warning,
    reads: &[FREQ_GOVERNOR, FREQ_DRIVER, FREQ_PREFERENCE, INTEL_PSTATE, AMD_PSTATE],
    source: "drivers/cpufreq/cpufreq.c: show_scaling_governor; drivers/cpufreq/intel_pstate.c, amd-pstate.c: active mode",
    find,
};

/// The control of a CPU's frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frequency {
    /// A governor of the kernel, by the load.
    Governor,
    /// The processor itself, by the load and a preference.
    Hardware,
    /// None: the frequency is the lowest.
    Lowest,
}

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let of = |wanted| {
        machine.target.iter().filter(|cpu| decides(machine, *cpu) == Some(wanted)).collect::<CpuList>()
    };
    let kinds = [Frequency::Governor, Frequency::Hardware, Frequency::Lowest];
    kinds.into_iter().filter_map(|kind| judge(machine, kind, &of(kind))).collect()
}

fn decides(machine: &Machine<'_>, cpu: u32) -> Option<Frequency> {
    match machine.of_cpu(FREQ_GOVERNOR, cpu).1? {
        "schedutil" | "ondemand" | "conservative" => Some(Frequency::Governor),
        // In active mode these drivers have two policies, which are not governors.
        "powersave" if active(machine, cpu) => {
            let preference = machine.of_cpu(FREQ_PREFERENCE, cpu).1;
            (preference != Some("performance")).then_some(Frequency::Hardware)
        }
        "powersave" => Some(Frequency::Lowest),
        _ => None,
    }
}

fn active(machine: &Machine<'_>, cpu: u32) -> bool {
    match machine.of_cpu(FREQ_DRIVER, cpu).1 {
        Some("intel_pstate") => machine.text(INTEL_PSTATE).is_none_or(|mode| mode == "active"),
        Some("amd-pstate-epp") => machine.text(AMD_PSTATE).is_none_or(|mode| mode == "active"),
        _ => false,
    }
}

fn judge(machine: &Machine<'_>, kind: Frequency, hit: &CpuList) -> Option<Finding> {
    let first = hit.iter().next()?;
    let all: Vec<String> = hit.iter().map(|cpu| cpu.to_string()).collect();
    let write = |file: &str| {
        format!(
            "for c in {}; do echo performance > /sys/devices/system/cpu/cpu$c/cpufreq/{file}; done",
            all.join(" ")
        )
    };
    let finding = match kind {
        Frequency::Governor => RULE
            .note(format!("cpufreq scales the frequency of {} with the load", cpus(hit)))
            .so("A task that wakes up starts at a low frequency; the change costs time on that CPU."),
        Frequency::Hardware => RULE
            .note(format!("the processor scales the frequency of {} with the load", cpus(hit)))
            .so("In this driver's active mode powersave is not a fixed frequency: the processor chooses it \
                 by the load and energy_performance_preference. A task that wakes up may start at a low \
                 frequency."),
        Frequency::Lowest => RULE
            .warning(format!("{} held at the lowest frequency", cpus_are(hit)))
            .so("With this driver powersave does not follow the load: the CPU never runs faster than its \
                 lowest frequency."),
    };
    let finding = finding
        .on(hit)
        .seen(machine.evidence(&machine.of_cpu(FREQ_GOVERNOR, first).0))
        .seen(machine.evidence(&machine.of_cpu(FREQ_DRIVER, first).0))
        .seen(machine.evidence(&machine.of_cpu(FREQ_PREFERENCE, first).0))
        .command(write("scaling_governor"));
    Some(match kind {
        Frequency::Hardware => finding
            .advice(untried(format!("or keep powersave, and: {}", write("energy_performance_preference")))),
        _ => finding,
    })
}
