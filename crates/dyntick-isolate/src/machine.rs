// SPDX-License-Identifier: GPL-2.0-only
//! A check that this process is not in a container. A container may be killed with all its processes, the guardian
//! included. Its journal then names threads and cgroups that have other names outside, if it can be found there at
//! all: nothing could be restored.

use crate::JournalError;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;

/// The number of a machine's first PID namespace (`include/linux/proc_ns.h`: PROC_PID_INIT_INO).
const PROC_PID_INIT_INO: u64 = 0xEFFF_FFFC;

/// The other namespaces that the words of a journal depend on: groups, network devices, and start times of threads.
const OTHERS: [&str; 3] = ["cgroup", "net", "time"];

/// Fails in a container.
///
/// # Errors
/// In a container, and if /proc does not show it.
pub fn ensure_on_machine() -> Result<(), JournalError> {
    let inside = |name: &str| Err(JournalError::Container(format!("in its own {name} namespace")));
    if number("self", "pid")?.is_some_and(|own| own != PROC_PID_INIT_INO) {
        return inside("pid");
    }
    for name in OTHERS {
        // kthreadd is the one process that no user can move, and whose namespaces a security module need not hide.
        if number("self", name)? != number("2", name)? {
            return inside(name);
        }
    }
    if has_own_run() { Err(JournalError::Container("with its own /run".to_owned())) } else { Ok(()) }
}

/// The number of a process's namespace; `None` if the kernel does not have that kind.
fn number(process: &str, name: &str) -> Result<Option<u64>, JournalError> {
    let path = format!("/proc/{process}/ns/{name}");
    match std::fs::metadata(&path) {
        Ok(found) => Ok(Some(found.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(JournalError::File { path: path.into(), source }),
    }
}

/// Returns true if the journal would be where the machine does not look for it; false if that cannot be known.
fn has_own_run() -> bool {
    let id =
        |path: &str| -> io::Result<_> { std::fs::metadata(path).map(|found| (found.dev(), found.ino())) };
    matches!((id("/run"), id("/proc/1/root/run")), (Ok(own), Ok(machines)) if own != machines)
}
