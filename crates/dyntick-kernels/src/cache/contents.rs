// SPDX-License-Identifier: GPL-2.0-only
//! The contents of the cache as its user sees them: entries with their sizes, and their removal on request.

use super::Cache;
use super::unused::{bytes, remove, used};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The folders whose entries are used and removed one by one.
const BY_ENTRY: [&str; 12] = [
    "built",
    "git",
    "governors",
    "headers",
    "kernels",
    "modules",
    "packages",
    "plugins",
    "qemu",
    "source-packages",
    "sources",
    "vmlinux",
];
/// The folders that are used and removed each as one entry.
const WHOLE: [&str; 6] = ["apt", "apt-bullseye", "apt-sid", "building", "ccache", "scratch"];

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// Its path in the cache, e.g. `sources/linux-source-6.12_6.12.117-1`.
    pub name: String,
    /// The space that it takes, bytes.
    pub bytes: u64,
    /// The time since it was used last, s.
    pub unused_s: u64,
}

/// The entries that are to go. Several limits add up.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The time without use after which an entry goes.
    pub unused_for: Option<Duration>,
    /// The maximum of all entries together, bytes; the least recently used ones go first.
    pub at_most: Option<u64>,
    /// The names of entries and folders that stay.
    pub keep: BTreeSet<String>,
}

impl Limits {
    /// True if an entry stays, whatever its age and size.
    fn keeps(&self, entry: &Entry) -> bool {
        let folder = entry.name.split('/').next().unwrap_or_default();
        self.keep.contains(&entry.name) || self.keep.contains(folder)
    }
}

/// The entries of a cache, the least recently used first.
pub fn entries(cache: &Cache) -> Vec<Entry> {
    let whole = WHOLE.iter().map(|name| (*name).to_owned());
    let each = BY_ENTRY.iter().flat_map(|folder| names(cache, folder));
    let mut found: Vec<Entry> = whole.chain(each).filter_map(|name| entry(cache, name)).collect();
    found.sort_by_key(|entry| std::cmp::Reverse(entry.unused_s));
    found
}

fn names(cache: &Cache, folder: &str) -> Vec<String> {
    let found = std::fs::read_dir(cache.path(folder)).into_iter().flatten().flatten();
    let names = found.filter_map(|entry| entry.file_name().into_string().ok());
    // What is being made or removed has a hidden name.
    let whole = names.filter(|name| !name.starts_with('.') && !name.ends_with(".lock"));
    whole.map(|name| format!("{folder}/{name}")).collect()
}

fn entry(cache: &Cache, name: String) -> Option<Entry> {
    let path = cache.path(&name);
    let unused = SystemTime::now().duration_since(used(&path)?).unwrap_or_default();
    Some(Entry { bytes: bytes(&path), unused_s: unused.as_secs(), name })
}

/// Removes entries, and returns those that are gone. One in use stays.
pub fn prune(cache: &Cache, limits: &Limits) -> Vec<Entry> {
    let found = entries(cache);
    let mut left: u64 = found.iter().fold(0, |sum, entry| sum.saturating_add(entry.bytes));
    let mut gone = Vec::new();
    for entry in found {
        let is_old = limits.unused_for.is_some_and(|age| Duration::from_secs(entry.unused_s) >= age);
        let is_too_much = limits.at_most.is_some_and(|most| left > most);
        let path: PathBuf = cache.path(&entry.name);
        if (is_old || is_too_much) && !limits.keeps(&entry) && remove(&path) {
            left = left.saturating_sub(entry.bytes);
            gone.push(entry);
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::unused::InUse;
    use std::fs::File;

    /// A cache with entries of 100 000 bytes, each with the days since its last use.
    fn cache_of(entries: &[(&str, u64)]) -> (tempfile::TempDir, Cache) {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        for (name, days) in entries {
            let folder = cache.path(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("file"), vec![0; 100_000]).unwrap();
            let used = SystemTime::now() - Duration::from_secs(days * 86_400);
            File::open(&folder).unwrap().set_modified(used).unwrap();
        }
        (root, cache)
    }

    fn names(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    const ALL: [(&str, u64); 4] = [("kernels/a", 9), ("kernels/b", 1), ("sources/c", 5), ("ccache", 3)];

    #[test]
    fn entries_are_listed_by_their_last_use() {
        let (root, cache) = cache_of(&ALL);
        std::fs::write(root.path().join("kernels/a.lock"), "").unwrap();
        std::fs::create_dir(root.path().join("kernels/.new-d")).unwrap();
        let found = entries(&cache);
        assert_eq!(names(&found), ["kernels/a", "sources/c", "ccache", "kernels/b"]);
        assert!(found.iter().all(|entry| entry.bytes > 100_000 && entry.bytes < 200_000));
        assert_eq!(found[0].unused_s / 86_400, 9);
    }

    #[test]
    fn old_entries_go_unless_they_are_kept_or_in_use() {
        let (_root, cache) = cache_of(&ALL);
        let limits = Limits {
            unused_for: Some(Duration::from_secs(3 * 86_400)),
            keep: BTreeSet::from(["ccache".to_owned()]),
            ..Limits::default()
        };
        let held = InUse::of(&cache.path("kernels/a")).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(9 * 86_400);
        File::open(cache.path("kernels/a")).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(names(&prune(&cache, &limits)), ["sources/c"]);
        drop(held);
        assert_eq!(names(&prune(&cache, &limits)), ["kernels/a"]);
        assert_eq!(names(&entries(&cache)), ["ccache", "kernels/b"]);
    }

    #[test]
    fn least_recently_used_entries_go_until_the_rest_is_small_enough() {
        let (_root, cache) = cache_of(&ALL);
        let all: u64 = entries(&cache).iter().map(|entry| entry.bytes).sum();
        let limits = |at_most| Limits { at_most: Some(at_most), ..Limits::default() };
        assert_eq!(names(&prune(&cache, &limits(all))), [""; 0]);
        let keeping = Limits { keep: BTreeSet::from(["kernels".to_owned()]), ..limits(all - 1) };
        assert_eq!(names(&prune(&cache, &keeping)), ["sources/c"]);
        assert_eq!(names(&prune(&cache, &limits(0))), ["kernels/a", "ccache", "kernels/b"]);
    }
}
