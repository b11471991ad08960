// SPDX-License-Identifier: GPL-2.0-only
//! The memory limits of control groups (cgroup v1 and v2), and how often the kernel counts that they were reached.

use super::quotas::Hierarchy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A memory limit of a control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLimit {
    /// The group, as its path below the root of the hierarchy.
    pub group: String,
    /// The file with the limit: `memory.max` or `memory.high`, or in control groups v1 `memory.limit_in_bytes`.
    pub file: String,
    /// The limit, KiB.
    pub kib: u64,
    /// The number of times that it had been reached when it was read first.
    pub before: u64,
    /// The number of times that it had been reached when it was read last.
    pub reached: u64,
}

/// The files with limits in a group of v2, each with its name in `memory.events.local`.
const OF_V2: [(&str, &str); 2] = [("memory.max", "max"), ("memory.high", "high")];
/// The file with the limit in a group of v1, and the one with the number of times that it was reached.
const OF_V1: (&str, &str) = ("memory.limit_in_bytes", "memory.failcnt");

/// The limit of a group of v1 that has none, in pages, is this or a little less (`PAGE_COUNTER_MAX`).
const UNLIMITED_BYTES: u64 = i64::MAX as u64 / 2;

impl MemoryLimit {
    /// The limit, in words.
    pub fn words(&self) -> String {
        format!("{} KiB, {} of /{}", self.kib, self.name(), self.group)
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or_default()
    }

    /// Returns true if it slows down, and does not refuse.
    pub fn is_high(&self) -> bool {
        self.file.ends_with(OF_V2[1].0)
    }

    /// The number of times that it was reached since it was read first.
    pub fn grown(&self) -> u64 {
        self.reached.saturating_sub(self.before)
    }

    /// Reads how often it was reached; as it was if its group is gone.
    fn look(&mut self) {
        let path = Path::new(&self.file);
        self.reached = reached(path.parent().unwrap_or(path), self.name()).unwrap_or(self.reached);
    }
}

impl Hierarchy {
    /// The limits of a group itself.
    fn memory_limits(&self, group: &Path) -> Vec<MemoryLimit> {
        let files: &[&str] = if self.is_v2 { &OF_V2.map(|(file, _)| file) } else { &[OF_V1.0] };
        files.iter().filter_map(|file| self.memory_limit(group, file)).collect()
    }

    fn memory_limit(&self, group: &Path, name: &str) -> Option<MemoryLimit> {
        let folder = self.root.join(group);
        let file = folder.join(name);
        let bytes: u64 = std::fs::read_to_string(&file).ok()?.trim().parse().ok()?;
        let reached = reached(&folder, name).unwrap_or(0);
        let (group, file) = (group.display().to_string(), file.display().to_string());
        let limit = MemoryLimit { group, file, kib: bytes / 1024, before: reached, reached };
        (bytes < UNLIMITED_BYTES).then_some(limit)
    }
}

fn reached(folder: &Path, name: &str) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let Some((_, event)) = OF_V2.iter().find(|(file, _)| *file == name) else {
        return read(OF_V1.1)?.trim().parse().ok();
    };
    in_events(&read("memory.events.local")?, event)
}

/// A number in `memory.events.local`.
fn in_events(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// The memory limits of processes, found by their groups.
#[derive(Debug, Default)]
pub(super) struct OfProcesses {
    hierarchy: Option<Hierarchy>,
    /// The limits of groups themselves that were looked at.
    groups: BTreeMap<PathBuf, Vec<MemoryLimit>>,
}

impl OfProcesses {
    pub fn of_machine() -> Self {
        Self { hierarchy: Hierarchy::of_machine("memory"), ..Self::default() }
    }

    /// The limits of a process, by its `/proc/PID/cgroup`, the innermost first.
    pub fn of(&mut self, text: &[u8]) -> Vec<MemoryLimit> {
        let Some(hierarchy) = &self.hierarchy else { return Vec::new() };
        let mut limits = Vec::new();
        for group in hierarchy.group(text).into_iter().flat_map(Path::ancestors) {
            let own = self.groups.entry(group.to_owned()).or_insert_with(|| hierarchy.memory_limits(group));
            limits.extend(own.iter().cloned());
        }
        limits
    }
}

/// Reads again how often limits were reached. `known` has those that were read before.
pub(super) fn look_again(limits: &mut BTreeMap<i32, Vec<MemoryLimit>>, known: &BTreeMap<String, u64>) {
    for limit in limits.values_mut().flatten() {
        limit.look();
        limit.before = known.get(&limit.file).copied().unwrap_or(limit.before);
    }
}

/// The memory limits of all control groups, and how often they were reached since an earlier reading.
#[derive(Debug, Default)]
pub struct MemoryLimits {
    hierarchy: Option<Hierarchy>,
    /// The groups, by the numbers of their folders.
    groups: BTreeMap<u64, PathBuf>,
    /// The limits by their files.
    limits: BTreeMap<String, MemoryLimit>,
}

impl MemoryLimits {
    /// Reads the limits of all groups.
    pub fn read() -> Self {
        let Some(hierarchy) = Hierarchy::of_machine("memory") else { return Self::default() };
        let groups = hierarchy.groups();
        let limits = groups.values().flat_map(|group| hierarchy.memory_limits(group));
        let limits = limits.map(|limit| (limit.file.clone(), limit)).collect();
        Self { hierarchy: Some(hierarchy), groups, limits }
    }

    /// Returns true if any group has a limit.
    pub fn any(&self) -> bool {
        !self.limits.is_empty()
    }

    /// Begins anew.
    pub fn begin(&mut self) {
        for limit in self.limits.values_mut() {
            limit.look();
            limit.before = limit.reached;
        }
    }

    /// Returns the limits that were reached since the previous call, of groups that are or contain one of these, by the
    /// numbers of their folders.
    pub fn reached(&mut self, of: &BTreeSet<u64>) -> Vec<MemoryLimit> {
        let Some(hierarchy) = &self.hierarchy else { return Vec::new() };
        let concerned = hierarchy.around(of, &mut self.groups);
        for limit in concerned.iter().flat_map(|group| hierarchy.memory_limits(group)) {
            // A later group had reached none before.
            let new = || MemoryLimit { before: 0, ..limit.clone() };
            self.limits.entry(limit.file.clone()).or_insert_with(new).reached = limit.reached;
        }
        let is_concerned = |limit: &&MemoryLimit| concerned.contains(Path::new(&limit.group));
        let mut reached: Vec<MemoryLimit> = self.limits.values().filter(is_concerned).cloned().collect();
        reached.retain(|limit| limit.grown() > 0);
        self.limits.values_mut().for_each(|limit| limit.before = limit.reached);
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_words() {
        let text = "low 0\nhigh 7\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n";
        assert_eq!((in_events(text, "max"), in_events(text, "high")), (Some(12), Some(7)));
        assert_eq!(in_events(text, "oo"), None);
        let (group, file) = ("a/b".to_owned(), "/sys/fs/cgroup/a/b/memory.max".to_owned());
        let limit = MemoryLimit { group, file, kib: 32_768, before: 3, reached: 12 };
        assert_eq!(limit.words(), "32768 KiB, memory.max of /a/b");
        assert_eq!((limit.grown(), limit.is_high()), (9, false));
    }

    #[test]
    fn limits_of_both_hierarchies_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().join("pod");
        std::fs::create_dir(&group).unwrap();
        let put = |name: &str, text: &str| std::fs::write(group.join(name), text).unwrap();
        let of = |is_v2| {
            let hierarchy = Hierarchy { root: folder.path().to_owned(), controller: "memory", is_v2 };
            let limits = hierarchy.memory_limits(Path::new("pod"));
            let each = limits.iter().map(|limit| (limit.name().to_owned(), limit.kib, limit.reached));
            each.collect::<Vec<_>>()
        };
        put("memory.max", "max\n");
        put("memory.high", "4194304\n");
        put("memory.events.local", "high 9\nmax 0\n");
        assert_eq!(of(true), [("memory.high".to_owned(), 4096, 9)]);
        put("memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(of(false), []);
        put("memory.limit_in_bytes", "8388608\n");
        put("memory.failcnt", "5\n");
        assert_eq!(of(false), [("memory.limit_in_bytes".to_owned(), 8192, 5)]);
    }
}
