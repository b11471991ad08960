// SPDX-License-Identifier: GPL-2.0-only
//! Interrupt lines of devices.

use dyntick_model::CpuList;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// One interrupt line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Irq {
    /// The drivers that handle it.
    pub names: Vec<String>,
    /// The CPUs to which it may be delivered.
    pub affinity: CpuList,
    /// The CPUs to which it is delivered.
    pub effective: CpuList,
}

/// All lines that a driver handles.
pub fn irqs() -> BTreeMap<u32, Irq> {
    let entries = std::fs::read_dir("/proc/irq").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, irq(&entry.path())?)))
        .collect()
}

/// The lines whose affinity user space cannot change: per-CPU ones, those without balancing, and managed ones. The
/// kernel gives their files no permission to write from 6.12 on (`kernel/irq/proc.c: register_irq_proc`); before, none
/// is known.
pub fn fixed_irqs() -> BTreeSet<u32> {
    let entries = std::fs::read_dir("/proc/irq").into_iter().flatten().flatten();
    let is_fixed = |folder: &Path| {
        let file = folder.join("smp_affinity_list");
        std::fs::metadata(file).is_ok_and(|file| file.permissions().mode() & 0o222 == 0)
    };
    let fixed = entries.filter(|entry| is_fixed(&entry.path()));
    fixed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn irq(folder: &Path) -> Option<Irq> {
    let list = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.parse::<CpuList>().ok();
    let drivers = std::fs::read_dir(folder).ok()?.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        drivers.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let irq = Irq {
        names,
        affinity: list("smp_affinity_list").unwrap_or_default(),
        effective: list("effective_affinity_list").unwrap_or_default(),
    };
    (!irq.names.is_empty()).then_some(irq)
}
