// SPDX-License-Identifier: GPL-2.0-only
//! CPUs of threads.

use dyntick_model::CpuList;
use dyntick_system::affinity;
use std::path::Path;

/// The CPUs that this thread may use.
pub fn allowed() -> CpuList {
    affinity(None).unwrap_or_default()
}

/// The online CPUs, including those of `isolcpus=`, onto which a thread can still move itself.
pub fn online() -> CpuList {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
    list.and_then(|list| list.parse().ok()).unwrap_or_else(allowed)
}

/// The NUMA node of a CPU, if sysfs shows it.
pub fn node_of(cpu: u32) -> Option<u32> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
    let entries = std::fs::read_dir(Path::new(&folder)).ok()?.flatten();
    entries.into_iter().find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}
