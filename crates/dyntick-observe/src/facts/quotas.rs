// SPDX-License-Identifier: GPL-2.0-only
//! The CPU quotas of control groups (cgroup v1 and v2), and the throttling by them that the kernel counts itself.

use dyntick_system::read_lossy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The controller of CPU time.
pub(super) const CPU: &str = "cpu";

/// The maximum number of groups that are looked at.
const MOST_GROUPS: usize = 1 << 14;

/// The CPU quota of a control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// The number of the group's folder, by which the kernel knows the group.
    pub number: u64,
    /// The group, as its path below the root of the hierarchy.
    pub group: String,
    /// The file with the limit.
    pub file: String,
    /// The CPU time in each period, us.
    pub quota_us: u64,
    /// The period, us.
    pub period_us: u64,
}

/// The file with the limit in a group of v2.
const OF_V2: &str = "cpu.max";
/// The file with the limit in a group of v1, beside the one with the period.
const OF_V1: &str = "cpu.cfs_quota_us";

impl Quota {
    /// The quota, in words.
    pub fn words(&self) -> String {
        let name = if self.is_v2() { OF_V2 } else { OF_V1 };
        format!("{} µs in {} µs, {name} of /{}", self.quota_us, self.period_us, self.group)
    }

    /// Returns true for a group of v2.
    pub fn is_v2(&self) -> bool {
        self.file.ends_with(OF_V2)
    }
}

/// The throttling of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// Its quota.
    pub quota: Quota,
    /// The number of periods in which it was throttled (`nr_throttled` in its `cpu.stat`).
    pub count: u64,
    /// The time in which it was throttled, summed over CPUs, ns (`throttled_usec`, or `throttled_time` of v1).
    pub ns: u64,
}

/// The hierarchy of control groups that has a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub root: PathBuf,
    /// The controller, e.g. `cpu`.
    pub controller: &'static str,
    pub is_v2: bool,
}

impl Hierarchy {
    /// The one of this machine.
    pub fn of_machine(controller: &'static str) -> Option<Self> {
        Self::of(&read_lossy(Path::new("/proc/self/mounts")).unwrap_or_default(), controller)
    }

    /// The one of these mounts: of v1 if that has the controller, which is then not in v2.
    fn of(mounts: &str, controller: &'static str) -> Option<Self> {
        let mut v2 = None;
        for mount in mounts.lines() {
            let words: Vec<&str> = mount.split(' ').collect();
            let [_, root, kind, options, ..] = words[..] else { continue };
            let root = || PathBuf::from(unescaped(root));
            match kind {
                "cgroup" if options.split(',').any(|option| option == controller) => {
                    return Some(Self { root: root(), controller, is_v2: false });
                }
                "cgroup2" if v2.is_none() => {
                    v2 = Some(Self { root: root(), controller, is_v2: true });
                }
                _ => {}
            }
        }
        v2
    }

    /// The group of a process in it, by its `/proc/PID/cgroup`, below the root.
    pub fn group<'a>(&self, text: &'a [u8]) -> Option<&'a Path> {
        let group = text.split(|byte| *byte == b'\n').find_map(|line| {
            let mut fields = line.splitn(3, |byte| *byte == b':');
            let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            let is_one = match self.is_v2 {
                true => number == b"0" && controllers.is_empty(),
                false => controllers.split(|byte| *byte == b',').any(|one| one == self.controller.as_bytes()),
            };
            path.strip_prefix(b"/").filter(|_| is_one)
        })?;
        Some(Path::new(OsStr::from_bytes(group)))
    }

    /// The quotas that limit a process, by its `/proc/PID/cgroup`, the innermost first.
    pub fn quotas(&self, text: &[u8]) -> Vec<Quota> {
        let group = self.group(text);
        group.into_iter().flat_map(Path::ancestors).filter_map(|group| self.quota(group)).collect()
    }

    /// The quota of a group; `None` if the group itself has no limit.
    fn quota(&self, group: &Path) -> Option<Quota> {
        let folder = self.root.join(group);
        let file = folder.join(if self.is_v2 { OF_V2 } else { OF_V1 });
        let limit = std::fs::read_to_string(&file).ok()?;
        let period = || std::fs::read_to_string(folder.join("cpu.cfs_period_us")).ok();
        let (quota_us, period_us) = match self.is_v2 {
            true => limit_of_v2(&limit)?,
            // -1 for none.
            false => (limit.trim().parse().ok()?, period()?.trim().parse().ok()?),
        };
        let number = std::fs::metadata(&folder).ok()?.ino();
        let group = group.display().to_string();
        Some(Quota { number, group, file: file.display().to_string(), quota_us, period_us })
    }

    /// The counts of a group: the number of periods, and the time, ns.
    fn counts(&self, group: &Path) -> (u64, u64) {
        let stat = std::fs::read_to_string(self.root.join(group).join("cpu.stat")).unwrap_or_default();
        (in_stat(&stat, "nr_throttled "), throttled_ns(&stat))
    }

    /// All groups, as paths below the root, by the numbers of their folders.
    pub fn groups(&self) -> BTreeMap<u64, PathBuf> {
        let (mut found, mut left) = (BTreeMap::new(), vec![PathBuf::new()]);
        while let Some(group) = left.pop().filter(|_| found.len() < MOST_GROUPS) {
            let folder = self.root.join(&group);
            let Ok(about) = std::fs::metadata(&folder) else { continue };
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            left.extend(folders.map(|entry| group.join(entry.file_name())));
            found.insert(about.ino(), group);
        }
        found
    }

    /// The groups that are or contain one of these, which are given by the numbers of their folders. `known` are all
    /// groups; they are found again if one of these is not among them.
    pub fn around(&self, of: &BTreeSet<u64>, known: &mut BTreeMap<u64, PathBuf>) -> BTreeSet<PathBuf> {
        if of.iter().any(|group| !known.contains_key(group)) {
            *known = self.groups();
        }
        let above = of.iter().filter_map(|number| known.get(number)).flat_map(|group| group.ancestors());
        above.map(Path::to_owned).collect()
    }
}

/// Limit and period of `cpu.max`, us; `None` without a limit.
fn limit_of_v2(text: &str) -> Option<(u64, u64)> {
    let (quota, period) = text.trim().split_once(' ')?;
    Some((quota.parse().ok()?, period.parse().ok()?))
}

/// A path of `/proc/mounts`, in which the kernel escapes blanks (`fs/proc_namespace.c: mangle`).
fn unescaped(path: &str) -> String {
    path.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

/// The throttling of groups since an earlier reading.
#[derive(Debug, Default)]
pub struct Quotas {
    hierarchy: Option<Hierarchy>,
    /// The groups, by the numbers of their folders.
    groups: BTreeMap<u64, PathBuf>,
    /// Count and time, ns, of those with a quota, when they were read before.
    counts: BTreeMap<PathBuf, (u64, u64)>,
}

impl Quotas {
    /// Reads the counts of all groups.
    pub fn read() -> Self {
        let Some(hierarchy) = Hierarchy::of_machine(CPU) else { return Self::default() };
        let groups = hierarchy.groups();
        let limited = groups.values().filter(|group| hierarchy.quota(group).is_some());
        let counts = limited.map(|group| (group.clone(), hierarchy.counts(group))).collect();
        Self { hierarchy: Some(hierarchy), groups, counts }
    }

    /// Returns true if any group has a quota.
    pub fn any(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Reads the counts again, of the groups that had a quota.
    pub fn begin(&mut self) {
        let Some(hierarchy) = &self.hierarchy else { return };
        self.counts.iter_mut().for_each(|(group, counts)| *counts = hierarchy.counts(group));
    }

    /// Returns the groups that were throttled since the previous call, and that are or contain one of these, by the
    /// numbers of their folders. Later groups had no count before.
    pub fn throttled(&mut self, of: &BTreeSet<u64>) -> Vec<Throttled> {
        let Some(hierarchy) = &self.hierarchy else { return Vec::new() };
        let concerned = hierarchy.around(of, &mut self.groups);
        let mut throttled = Vec::new();
        let known = self.counts.keys().cloned();
        for group in known.chain(concerned.iter().cloned()).collect::<BTreeSet<_>>() {
            let Some(quota) = hierarchy.quota(&group) else { continue };
            let now = hierarchy.counts(&group);
            let before = self.counts.insert(group.clone(), now).unwrap_or_default();
            let (count, ns) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
            if count > 0 && concerned.contains(&group) {
                throttled.push(Throttled { quota, count, ns });
            }
        }
        throttled
    }
}

/// The time in `cpu.stat`, ns: of v2 in us, of v1 in ns.
fn throttled_ns(stat: &str) -> u64 {
    in_stat(stat, "throttled_usec ") * 1000 + in_stat(stat, "throttled_time ")
}

/// A number in `cpu.stat`; 0 if it is not there.
fn in_stat(stat: &str, name: &str) -> u64 {
    stat.lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_is_read() {
        let stat = "usage_usec 9\nnr_periods 4\nnr_throttled 3\nthrottled_usec 251000\nnr_bursts 0\n";
        assert_eq!((in_stat(stat, "nr_throttled "), throttled_ns(stat)), (3, 251_000_000));
        assert_eq!(throttled_ns("nr_periods 4\nnr_throttled 3\nthrottled_time 251000\n"), 251_000);
        assert_eq!(in_stat("usage_usec 9\n", "nr_throttled "), 0);
    }

    #[test]
    fn limits_and_their_words() {
        assert_eq!(limit_of_v2("20000 100000\n"), Some((20_000, 100_000)));
        assert_eq!(limit_of_v2("max 100000\n"), None);
        let of = |file: &str| {
            let (group, file) = ("a/b".to_owned(), file.to_owned());
            Quota { number: 1, group, file, quota_us: 5, period_us: 7 }
        };
        assert_eq!(of("/sys/fs/cgroup/a/b/cpu.max").words(), "5 µs in 7 µs, cpu.max of /a/b");
        assert_eq!(of("/c/cpu/a/b/cpu.cfs_quota_us").words(), "5 µs in 7 µs, cpu.cfs_quota_us of /a/b");
    }

    #[test]
    fn controller_is_in_one_hierarchy() {
        let hybrid = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid 0 0\n\
                      cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n";
        let v1 = Hierarchy::of(hybrid, CPU).unwrap();
        assert_eq!((v1.root.to_str(), v1.is_v2), (Some("/sys/fs/cgroup/cpu,cpuacct"), false));
        let v2 = Hierarchy::of("none /mnt/my\\040groups cgroup2 rw 0 0\n", CPU).unwrap();
        assert_eq!((v2.root.to_str(), v2.is_v2), (Some("/mnt/my groups"), true));
        let memory = "cgroup /x cgroup rw,memory 0 0\n";
        assert_eq!(Hierarchy::of(memory, CPU), None);
        assert!(Hierarchy::of(memory, "memory").is_some_and(|memory| !memory.is_v2));
        let text = b"4:cpu,cpuacct:/of/v1\n1:name=systemd:/x\n0::/of/v2\n";
        assert_eq!(v1.group(text), Some(Path::new("of/v1")));
        assert_eq!(v2.group(text), Some(Path::new("of/v2")));
        assert_eq!(v1.group(b"3:cpuset:/a\n"), None);
    }

    #[test]
    fn each_group_is_found_by_its_number() {
        let quotas = Quotas::read();
        let root =
            Hierarchy::of_machine(CPU).map(|hierarchy| std::fs::metadata(hierarchy.root).unwrap().ino());
        assert_eq!(root.map(|root| quotas.groups[&root].clone()), root.map(|_| PathBuf::new()));
        assert_eq!(Quotas::default().throttled(&[1 << 60].into()), []);
    }
}
