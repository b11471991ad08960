// SPDX-License-Identifier: GPL-2.0-only
//! The counters of the kernel and the CPUs, to be compared before and after.

use dyntick_model::CpuList;
use dyntick_trace::COUNTED;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;

/// `MSR_SMI_COUNT` of Intel's CPUs (Software Developer's Manual, volume 4): system management
/// interrupts since reset. AMD's have none.
const MSR_SMI_COUNT: u64 = 0x34;

/// Counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// `/proc/interrupts`.
    pub interrupts: String,
    /// Time that the hypervisor gave to others, by CPU, in 1/100 s (`/proc/stat`, `USER_HZ`).
    pub steal: BTreeMap<u32, u64>,
    /// System management interrupts, by CPU; empty where they cannot be read.
    pub smis: BTreeMap<u32, u64>,
    /// The machine's counters of `/proc/vmstat` about page faults; none in records that older versions made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory: BTreeMap<String, u64>,
    /// The hits of each probe in programs (`uprobe_profile` of tracefs): its name, with its file; none in records that
    /// older versions made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probes: BTreeMap<String, u64>,
    /// The hits of dyntick's own probes of the kernel that only count (`kprobe_profile`), by event; none in records of
    /// older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernel_probes: BTreeMap<String, u64>,
}

impl Counts {
    /// The text of `/proc/interrupts`.
    pub fn interrupts() -> String {
        std::fs::read_to_string("/proc/interrupts").unwrap_or_default()
    }

    /// The time that the hypervisor gave to others, by CPU, in 1/100 s (`/proc/stat`).
    pub fn stolen() -> BTreeMap<u32, u64> {
        steal(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Reads them. For the SMIs each CPU is interrupted once, so this is not for the time that is observed.
    pub fn read(cpus: &CpuList) -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            interrupts: Self::interrupts(),
            steal: Self::stolen(),
            memory: memory(&read("/proc/vmstat")),
            probes: probes(&read("/sys/kernel/tracing/uprobe_profile")),
            kernel_probes: kernel_probes(&read("/sys/kernel/tracing/kprobe_profile")),
            smis: cpus.iter().filter_map(|cpu| Some((cpu, smis(cpu)?))).collect(),
        }
    }
}

fn steal(stat: &str) -> BTreeMap<u32, u64> {
    let of_cpu = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split(' ');
        Some((fields.next()?.parse().ok()?, fields.nth(7)?.parse().ok()?))
    };
    stat.lines().filter_map(of_cpu).collect()
}

/// The counters that tell kinds of page faults apart.
const OF_FAULTS: [&str; 5] =
    ["numa_hint_faults", "pgmajfault", "thp_fault_alloc", "pswpin", "numa_pages_migrated"];

fn memory(vmstat: &str) -> BTreeMap<String, u64> {
    let of_line = |line: &str| {
        let (name, count) = line.split_once(' ')?;
        OF_FAULTS.contains(&name).then_some((name.to_owned(), count.trim().parse().ok()?))
    };
    vmstat.lines().filter_map(of_line).collect()
}

/// The lines `FILE EVENT HITS` (kernel/trace/trace_uprobe.c: probes_profile_seq_show; 6.1 to 7.2).
fn probes(profile: &str) -> BTreeMap<String, u64> {
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [file, event, hits, ..] = words[..] else { return None };
        Some((format!("{event} of {file}"), hits.parse().ok()?))
    };
    profile.lines().filter_map(of_line).collect()
}

/// The lines `EVENT HITS MISSED` (kernel/trace/trace_kprobe.c: probes_profile_seq_show; 6.1 to 7.2).
fn kernel_probes(profile: &str) -> BTreeMap<String, u64> {
    let of_line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let event = words.next().filter(|event| COUNTED.iter().any(|probe| probe.name == *event))?;
        Some((event.to_owned(), words.next()?.parse().ok()?))
    };
    profile.lines().filter_map(of_line).collect()
}

fn smis(cpu: u32) -> Option<u64> {
    let file = std::fs::File::open(format!("/dev/cpu/{cpu}/msr")).ok()?;
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, MSR_SMI_COUNT).ok()?;
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_faults_and_probes() {
        assert_eq!(memory("nr_free_pages 7\npgmajfault 3\n"), BTreeMap::from([("pgmajfault".to_owned(), 3)]));
        let lines = "  /usr/bin/x                 work             12          0\n\n";
        assert_eq!(probes(lines), BTreeMap::from([("work of /usr/bin/x".to_owned(), 12)]));
        let lines = "  dyntick_watch_point      500       0\n  fault_end     7      0\n";
        assert_eq!(kernel_probes(lines), BTreeMap::from([("dyntick_watch_point".to_owned(), 500)]));
    }

    #[test]
    fn steal_is_the_eighth_column() {
        let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu12 0 0 0 0 0 0 0 5 0 0\nintr 1\n";
        assert_eq!(steal(stat), BTreeMap::from([(0, 8), (12, 5)]));
    }
}
