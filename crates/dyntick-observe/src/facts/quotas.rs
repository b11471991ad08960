// SPDX-License-Identifier: GPL-2.0-only
//! The CPU quotas of control groups (cgroup v2), and the throttling by them that the kernel counts itself.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The root of the hierarchy.
pub(super) const ROOT: &str = "/sys/fs/cgroup";

/// The maximum number of groups that are looked at.
const MOST_GROUPS: usize = 1 << 14;

/// The beginning of the group's path in the words about its quota.
pub(super) const OF_GROUP: &str = "cpu.max of /";

/// The throttling of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// The group, as its path below the root of the hierarchy.
    pub group: String,
    /// Its quota, in words.
    pub quota: String,
    /// The number of periods in which it was throttled (`nr_throttled` in its `cpu.stat`).
    pub count: u64,
    /// The time in which it was throttled, summed over CPUs, ns (`throttled_usec`).
    pub ns: u64,
}

/// The counts of groups with a quota when they were read before.
#[derive(Debug, Default)]
pub struct Quotas {
    /// The groups, by the numbers of their folders.
    groups: BTreeMap<u64, PathBuf>,
    /// Count and time, ns, of those with a quota.
    counts: BTreeMap<PathBuf, (u64, u64)>,
}

impl Quotas {
    /// Reads the counts of all groups.
    pub fn read() -> Self {
        let mut quotas = Self { groups: groups(), ..Self::default() };
        quotas.counts =
            quotas.groups.values().filter_map(|group| Some((group.clone(), counts(group)?))).collect();
        quotas
    }

    /// Returns the groups that were throttled since the previous call, and that are or contain one of these, by the
    /// numbers of their folders. Later groups had no count before.
    pub fn throttled(&mut self, of: &BTreeSet<u64>) -> Vec<Throttled> {
        if of.iter().any(|group| !self.groups.contains_key(group)) {
            self.groups = groups();
        }
        let above =
            of.iter().filter_map(|number| self.groups.get(number)).flat_map(|group| group.ancestors());
        let concerned: BTreeSet<PathBuf> = above.map(Path::to_owned).collect();
        let mut throttled = Vec::new();
        let known = self.counts.keys().cloned();
        for group in known.chain(concerned.iter().cloned()).collect::<BTreeSet<_>>() {
            let (Some(quota), Some(now)) = (quota(&group), counts(&group)) else { continue };
            let before = self.counts.insert(group.clone(), now).unwrap_or_default();
            let (count, ns) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
            if count > 0 && concerned.contains(&group) {
                throttled.push(Throttled { group: group.display().to_string(), quota, count, ns });
            }
        }
        throttled
    }
}

/// The quota of a group, in words; `None` if the group itself has no limit.
pub(super) fn quota(group: &Path) -> Option<String> {
    let limit = std::fs::read_to_string(Path::new(ROOT).join(group).join("cpu.max")).ok()?;
    let (quota, period) = limit.trim().split_once(' ').filter(|(quota, _)| *quota != "max")?;
    Some(format!("{quota} µs in {period} µs, {OF_GROUP}{}", group.display()))
}

/// All groups, as paths below the root, by the numbers of their folders; none without cgroup v2.
fn groups() -> BTreeMap<u64, PathBuf> {
    let (mut found, mut left) = (BTreeMap::new(), Vec::new());
    if has_groups() {
        left.push(PathBuf::new());
    }
    while let Some(group) = left.pop().filter(|_| found.len() < MOST_GROUPS) {
        let folder = Path::new(ROOT).join(&group);
        let Ok(about) = std::fs::metadata(&folder) else { continue };
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        left.extend(folders.map(|entry| group.join(entry.file_name())));
        found.insert(about.ino(), group);
    }
    found
}

/// Returns true if the root is one of cgroup v2.
fn has_groups() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

/// The counts of a group with a quota.
fn counts(group: &Path) -> Option<(u64, u64)> {
    quota(group)?;
    let stat = std::fs::read_to_string(Path::new(ROOT).join(group).join("cpu.stat")).ok()?;
    Some((in_stat(&stat, "nr_throttled "), in_stat(&stat, "throttled_usec ") * 1000))
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
        assert_eq!((in_stat(stat, "nr_throttled "), in_stat(stat, "throttled_usec ")), (3, 251_000));
        assert_eq!(in_stat("usage_usec 9\n", "nr_throttled "), 0);
    }

    #[test]
    fn each_group_is_found_by_its_number() {
        let quotas = Quotas::read();
        let root = has_groups().then(|| std::fs::metadata(ROOT).unwrap().ino());
        assert_eq!(root.map(|root| quotas.groups[&root].clone()), root.map(|_| PathBuf::new()));
        assert_eq!(Quotas::default().throttled(&[1 << 60].into()), []);
    }
}
