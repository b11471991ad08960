// SPDX-License-Identifier: GPL-2.0-only
//! Whose files may be relied on.

use rustix::process::geteuid;

/// Whether what this user owns is as good as one's own: this user, root, or, in a user namespace that does
/// not know it, whoever is root outside.
pub fn is_trusted(uid: u32) -> bool {
    uid == geteuid().as_raw() || uid == 0 || is_unknown(uid)
}

/// Whether that is how users are shown who are not in this user namespace (`user_namespaces(7)`), and nobody in it.
fn is_unknown(uid: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    read("/proc/sys/kernel/overflowuid").trim() == uid.to_string()
        && !is_mapped(uid, &read("/proc/self/uid_map"))
}

/// Whether a user of this number is in a namespace of this map: first number within, first outside, how many.
pub(crate) fn is_mapped(uid: u32, map: &str) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [first, _, count] = numbers[..] else { return true };
        (first..first.saturating_add(count)).contains(&u64::from(uid))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_a_namespace() {
        assert!(is_mapped(65534, "         0          0 4294967295\n"));
        assert!(is_mapped(65534, "0 1000 1\n1 100000 65536\n"), "that of a user with containers");
        assert!(!is_mapped(65534, "0 1000 1\n1 100000 65533\n"));
        assert!(!is_mapped(65534, "1000 1000 1\n"), "that of a single user");
        assert!(is_mapped(65534, "unreadable"));
    }
}
