// SPDX-License-Identifier: GPL-2.0-only
//! The time that the host takes from a guest on the wall clock: a thread that is one of its CPUs was ready to run, and
//! the host ran something else (`run_delay`, the second number of /proc/PID/task/TID/schedstat;
//! Documentation/scheduler/sched-stats.rst).

use dyntick_guest::Stage;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The time by CPU of the guest, ns.
pub type Stolen = BTreeMap<u32, u64>;

/// QEMU names its threads then: `CPU 0/KVM`, `CPU 1/TCG`.
pub(super) const NAMED_THREADS: [&str; 2] = ["-name", "dyntick,debug-threads=on"];

/// Reads the delays of a guest's CPUs when its window opens and when it closes.
pub(super) struct Watch {
    /// The process that was started: QEMU, or the walls around it.
    process: u32,
    before: Stolen,
    after: Stolen,
}

impl Watch {
    /// Watches the guest of this process.
    pub fn new(process: u32) -> Self {
        Self { process, before: Stolen::new(), after: Stolen::new() }
    }

    /// A stage has begun.
    pub fn stage(&mut self, stage: Stage) {
        match stage {
            Stage::Measure => self.before = delays(self.process),
            _ if stage > Stage::Measure && self.after.is_empty() => self.after = delays(self.process),
            _ => {}
        }
    }

    /// The time taken in the stage that contains the window, and so at most the time taken in the window; empty if the
    /// host does not account it.
    pub fn in_window(&self) -> Stolen {
        let grown = |(cpu, after): (&u32, &u64)| Some((*cpu, after.checked_sub(*self.before.get(cpu)?)?));
        self.after.iter().filter_map(grown).collect()
    }
}

/// The delays so far of the guest CPUs in this process and its children.
fn delays(process: u32) -> Stolen {
    let threads = threads_of(process);
    let children = threads.iter().filter_map(|thread| std::fs::read_to_string(thread.join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    let of_children = children.into_iter().flat_map(delays);
    threads.iter().filter_map(|thread| delay(thread)).chain(of_children).collect()
}

fn threads_of(process: u32) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The guest CPU that a thread is, and its delay.
fn delay(thread: &Path) -> Option<(u32, u64)> {
    let name = dyntick_system::read_lossy(&thread.join("comm")).ok()?;
    let delay = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    Some((cpu_of(&name)?, delay.split_whitespace().nth(1)?.parse().ok()?))
}

fn cpu_of(name: &str) -> Option<u32> {
    name.strip_prefix("CPU ")?.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_are_cpus() {
        assert_eq!(cpu_of("CPU 0/KVM\n"), Some(0));
        assert_eq!(cpu_of("CPU 17/TCG\n"), Some(17));
        assert_eq!(cpu_of("qemu-system-x86\n"), None);
        assert_eq!(cpu_of("CPU x/TCG"), None);
    }

    #[test]
    fn what_grew_in_the_window() {
        let watch = |before: &[(u32, u64)], after: &[(u32, u64)]| Watch {
            process: 0,
            before: before.iter().copied().collect(),
            after: after.iter().copied().collect(),
        };
        assert_eq!(
            watch(&[(0, 5), (1, 7)], &[(0, 5), (1, 107)]).in_window(),
            Stolen::from([(0, 0), (1, 100)])
        );
        assert!(watch(&[], &[(0, 5)]).in_window().is_empty(), "nothing is known of the beginning");
    }
}
