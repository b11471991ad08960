// SPDX-License-Identifier: GPL-2.0-only
//! The disks of guests.

use crate::few::few;
use dyntick_guest::names::DISK_FOLDER;
use std::collections::{BTreeMap, BTreeSet};

/// The number of cases that are named with their disk.
const MOST_CASES: usize = 32;

/// The disks of these cases, by their ids, in bytes: in words, and with the cases where not all have the same.
pub fn in_words<'c>(disks: impl Iterator<Item = (&'c str, Option<u64>)>) -> Option<String> {
    let mut by_size: BTreeMap<Option<u64>, BTreeSet<&str>> = BTreeMap::new();
    for (case, bytes) in disks {
        by_size.entry(bytes).or_default().insert(case);
    }
    let alike = by_size.len() == 1;
    let words = |(bytes, cases): (Option<u64>, BTreeSet<&str>)| {
        let cases = few(cases.into_iter().map(str::to_owned), MOST_CASES).join(", ");
        let of = if alike { String::new() } else { format!(" of {cases}") };
        Some(format!("{} MiB{of}", bytes? >> 20))
    };
    let sizes: Vec<String> = by_size.into_iter().filter_map(words).collect();
    (!sizes.is_empty()).then(|| {
        format!(
            "{}, virtio-blk with ext4 on {DISK_FOLDER}, backed by a file in this machine's page cache",
            sizes.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_named_with_their_cases_if_these_differ() {
        let [small, large] = [64 << 20, 1 << 30];
        let sizes = |disks: &[(&str, Option<u64>)]| {
            in_words(disks.iter().copied())
                .map(|message| message.split(", virtio").next().unwrap().to_owned())
        };
        assert_eq!(sizes(&[]), None);
        assert_eq!(sizes(&[("a", None)]), None);
        assert_eq!(sizes(&[("a", Some(small)), ("b", Some(small))]).unwrap(), "64 MiB");
        assert_eq!(sizes(&[("a", Some(small)), ("b", None)]).unwrap(), "64 MiB of a");
        let three = [("c", Some(large)), ("a", Some(small)), ("b", Some(small)), ("a", Some(small))];
        assert_eq!(sizes(&three).unwrap(), "64 MiB of a, b; 1024 MiB of c");
    }
}
