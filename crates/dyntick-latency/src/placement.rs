// SPDX-License-Identifier: GPL-2.0-only
//! CPUs of threads.

use dyntick_model::CpuList;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::Path;

/// The CPUs that this thread may use.
pub fn allowed() -> CpuList {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU as u32).filter(|cpu| set.is_set(*cpu as usize)).collect()
}

/// The CPUs that run. Those that `isolcpus=` took from all threads are among them: a thread may go there
/// by itself.
pub fn online() -> CpuList {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
    list.and_then(|list| list.parse().ok()).unwrap_or_else(allowed)
}

/// This thread runs there from now on, and so do those that it starts.
pub fn run_on(cpus: &CpuList) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// The memory node of a CPU, where the machine tells it.
pub fn node_of(cpu: u32) -> Option<u32> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
    let entries = std::fs::read_dir(Path::new(&folder)).ok()?.flatten();
    entries.into_iter().find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_moves() {
        let all = allowed();
        let first: CpuList = all.iter().take(1).collect();
        run_on(&first).unwrap();
        assert_eq!(allowed(), first);
        run_on(&all).unwrap();
        assert_eq!(allowed(), all);
    }
}
