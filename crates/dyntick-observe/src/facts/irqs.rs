// SPDX-License-Identifier: GPL-2.0-only
//! Interrupt lines of devices.

use dyntick_model::CpuList;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
