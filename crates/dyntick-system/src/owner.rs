// SPDX-License-Identifier: GPL-2.0-only
//! Whose files may be relied on.

use rustix::process::geteuid;

/// Whether what this user owns is as good as one's own: this user, root, or, in a user namespace that does
/// not know it, whoever is root outside.
pub fn is_trusted(uid: u32) -> bool {
    const OVERFLOW: u32 = 65534;
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let knows_all = map.split_whitespace().eq(["0", "0", "4294967295"]);
    uid == geteuid().as_raw() || uid == 0 || uid == OVERFLOW && !knows_all
}
