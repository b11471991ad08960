// SPDX-License-Identifier: GPL-2.0-only
//! The memory of this machine.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// All of it, bytes.
pub fn memory() -> u64 {
    let system = rustix::system::sysinfo();
    system.totalram.saturating_mul(system.mem_unit.into())
}

/// Lets this process, and what it starts, have half of it each (`RLIMIT_DATA`). Readers of others' files have limits
/// of their own; where one is missing, this process ends and not another one of the machine.
pub fn leave_half_of_memory() {
    let limit = getrlimit(Resource::Data);
    let half = memory() / 2;
    let current = Some(limit.current.map_or(half, |current| current.min(half)));
    // It cannot fail: a lower limit is anybody's to set.
    let _ = setrlimit(Resource::Data, Rlimit { current, maximum: limit.maximum });
}
