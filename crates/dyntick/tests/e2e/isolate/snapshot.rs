// SPDX-License-Identifier: GPL-2.0-only
//! All settings of a machine that isolating might touch, and many that it must not.

use dyntick_isolate::{Live, System};
use std::collections::BTreeMap;
use std::path::Path;

/// The state of a machine: a value for each file and thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    files: BTreeMap<String, String>,
    threads: BTreeMap<(i32, u64), (String, String)>,
}

/// Folders that are read with all their subfolders, and the prefixes of the file names that count in them.
const TREES: &[(&str, &[&str])] = &[
    ("/proc/irq", &["smp_affinity", "default_smp_affinity", "effective_affinity"]),
    ("/proc/sys/kernel", &[""]),
    ("/proc/sys/vm", &[""]),
    ("/sys/devices/virtual/workqueue", &["cpumask", "nice", "max_active", "affinity"]),
    ("/sys/devices/system/cpu", &["pm_qos", "online", "isolated", "scaling_", "disable"]),
    ("/sys/devices/system/machinecheck", &["check_interval"]),
    ("/sys/class/net/lo/queues", &["rps_", "xps_"]),
    ("/sys/kernel/debug/sched", &["runtime", "period", "name", "flags", "features"]),
    ("/sys/kernel/mm", &["enabled", "defrag", "run"]),
    ("/sys/fs/cgroup", &["cpuset", "cgroup.subtree_control", "cgroup.type"]),
    ("/run", &[""]),
];

const FILES: &[&str] = &[
    "/sys/kernel/rcu_normal",
    "/sys/kernel/rcu_expedited",
    "/sys/kernel/tracing/tracing_on",
    "/sys/kernel/tracing/current_tracer",
    "/sys/kernel/tracing/tracing_cpumask",
    "/sys/kernel/tracing/set_event",
    "/proc/mounts",
];

/// Files that change by themselves. A warning taints the kernel, but warnings are judged by their texts.
const RESTLESS: &[&str] = &[
    "/random/",
    "ns_last_pid",
    "/pty/nr",
    "/stat_refresh",
    "cgroup.stat",
    "/hung_task_detect_count",
    "/tainted",
];

impl Snapshot {
    /// Reads it all.
    pub fn take() -> Self {
        let mut snapshot = Self::default();
        TREES.iter().for_each(|(folder, names)| snapshot.tree(folder.as_ref(), names));
        FILES.iter().for_each(|file| snapshot.file(file.as_ref()));
        snapshot.folders("/sys/kernel/tracing/instances".as_ref());
        snapshot.folders("/sys/fs/cgroup".as_ref());
        for task in Live.tasks() {
            let cgroup = std::fs::read_to_string(format!("/proc/{}/cgroup", task.id.tid)).unwrap_or_default();
            let value = format!("CPUs {} in {}", task.cpus, cgroup.trim());
            snapshot.threads.insert((task.id.tid, task.id.start), (task.comm, value));
        }
        snapshot
    }

    fn tree(&mut self, folder: &Path, names: &[&str]) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let (kind, name) = (entry.file_type().unwrap(), entry.file_name());
            let name = name.to_string_lossy();
            if kind.is_dir() {
                self.tree(&entry.path(), names);
            } else if names.iter().any(|begin| name.starts_with(begin)) {
                self.file(&entry.path());
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let name = path.display().to_string();
        if let (Ok(value), false) = (std::fs::read(path), RESTLESS.iter().any(|part| name.contains(part))) {
            self.files.insert(name, String::from_utf8_lossy(&value).into_owned());
        }
    }

    fn folders(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                self.files.insert(format!("{}/", entry.path().display()), String::new());
            }
        }
    }

    /// The numbers of files and threads that were seen.
    pub fn size(&self) -> (usize, usize) {
        (self.files.len(), self.threads.len())
    }

    /// The differences from `before`. Threads that came or went since are no difference, unless a new one has an
    /// affinity that none of its name had.
    pub fn differences(&self, before: &Self) -> Vec<String> {
        let mut all = Vec::new();
        for name in
            self.files.keys().chain(before.files.keys().filter(|name| !self.files.contains_key(*name)))
        {
            let (then, now) = (before.files.get(name), self.files.get(name));
            if then != now {
                all.push(format!("{name}: {then:?} became {now:?}"));
            }
        }
        let kind = |comm: &str| comm.split(['/', ':']).next().unwrap_or_default().to_owned();
        for (id, (comm, value)) in &self.threads {
            let right = match before.threads.get(id) {
                Some((_, then)) => then == value,
                None => {
                    let mut peers = before.threads.values().filter(|(other, _)| kind(other) == kind(comm));
                    peers.clone().next().is_none() || peers.any(|(_, then)| then == value)
                }
            };
            if !right {
                let then = before.threads.get(id).map(|(_, then)| then);
                all.push(format!("thread {comm} [{}]: {then:?} became {value:?}", id.0));
            }
        }
        all
    }
}
