// SPDX-License-Identifier: GPL-2.0-only
//! The kernel of a machine: its configuration, its architecture, and if it reads its command line as upstream does.

use crate::snapshot::Snapshot;
use crate::sources::{
    BOOT_CONFIG, CLOCKSOURCE, CONFIG_GZ, CPUINFO, ISOLATED, KERNEL_LOG, MODULES_CONFIG, NOHZ_FULL,
};
use dyntick_model::{Architecture, CpuList, Isolation, KernelConfig, KernelVersion, Outcome};

/// Returns true if the kernel has adaptive ticks. The file of their CPUs exists only in kernels with the option
/// (`drivers/base/cpu.c`), so if its neighbour exists and it does not, the kernel lacks them.
pub(super) fn has_full(files: &Snapshot, config: Option<&(String, KernelConfig)>) -> Option<bool> {
    let unsupported = files.text(KERNEL_LOG).is_some_and(|log| log.contains("nohz unsupported"));
    match (files.text(NOHZ_FULL), config) {
        (Some(_), _) => Some(true),
        _ if unsupported => Some(false),
        (None, Some((_, config))) => Some(config.is_enabled("NO_HZ_FULL")),
        (None, None) => files.text(ISOLATED).map(|_| false),
    }
}

/// The architecture, from the processor's description, the clock that only one has, or the release.
pub(super) fn architecture(files: &Snapshot, kernel: &KernelVersion) -> Option<Architecture> {
    let cpuinfo = files.text(CPUINFO).unwrap_or_default();
    let has = |word: &str| cpuinfo.lines().any(|line| line.starts_with(word));
    let is_arm =
        has("CPU implementer") || files.text(CLOCKSOURCE).is_some_and(|name| name.contains("arch_sys"));
    match (has("vendor_id") || has("flags"), is_arm) {
        (_, true) if has("CPU architecture: 7") || has("CPU architecture:\t7") => Some(Architecture::Arm),
        (_, true) => Some(Architecture::Arm64),
        (true, _) => Some(Architecture::X86),
        _ => Architecture::of_release(&kernel.release),
    }
}

/// Returns true if the kernel refused a parameter, or a part of it, for its spelling.
pub(super) fn is_misspelt(outcome: &Outcome) -> bool {
    use Outcome::{Beyond, IllegalFlag, NoList, SkippedFlag, UnknownFlag};
    matches!(outcome, NoList(_) | Beyond(_) | IllegalFlag(_) | UnknownFlag(_) | SkippedFlag(_))
}

/// The parameters that a replay of the upstream parser refuses or skips in part, although the kernel lists CPUs that
/// only they can have named. The kernel's lists then replace the parameters' request.
pub(super) fn patched(asked: &mut Isolation, nohz_full: &CpuList, booted: &CpuList) -> Vec<String> {
    let more = !nohz_full.is_subset(&asked.tick) || !booted.is_subset(&asked.domain);
    let refused = |(_, outcome): &(String, Outcome)| is_misspelt(outcome);
    if !more || !asked.outcomes.iter().any(refused) {
        return Vec::new();
    }
    let (unexplained, rest): (Vec<_>, _) = std::mem::take(&mut asked.outcomes).into_iter().partition(refused);
    *asked = Isolation {
        tick: nohz_full.clone(),
        noise: nohz_full.clone(),
        domain: booted.clone(),
        managed_irq: asked.managed_irq.clone(),
        outcomes: rest,
    };
    // Kernels without CPUMASK_OFFSTACK ignore CPUs that cannot exist (5.14 to 6.0, RHEL 8.6 and newer).
    let is_strange = |outcome: &Outcome| !matches!(outcome, Outcome::Beyond(_));
    let strange = unexplained.into_iter().filter(|(_, outcome)| is_strange(outcome));
    strange.map(|(parameter, _)| parameter).collect()
}

/// The configuration that belongs to the running kernel.
pub(super) fn config(files: &Snapshot, kernel: &KernelVersion) -> Option<(String, KernelConfig)> {
    let places = [CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG].map(|place| place.replace('*', &kernel.release));
    places.into_iter().find_map(|path| {
        let config = KernelConfig::parse(files.text(&path)?);
        Some((path, config))
    })
}
