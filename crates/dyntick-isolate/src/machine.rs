// SPDX-License-Identifier: GPL-2.0-only
//! Whether this process is on the machine itself. Who is in a container may die with all of it, the guardian
//! too, and its journal then names threads and cgroups that nobody else finds by these names, where anybody
//! finds the journal at all: nothing could be restored.

use crate::JournalError;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;

/// The number of a machine's first PID namespace (`include/linux/proc_ns.h`: PROC_PID_INIT_INO).
const PROC_PID_INIT_INO: u64 = 0xEFFF_FFFC;

/// The other namespaces that decide what a journal's words mean: groups, network devices, and when a thread started.
const OTHERS: [&str; 3] = ["cgroup", "net", "time"];

/// # Errors
/// In a container, and where /proc does not say.
pub fn ensure_on_machine() -> Result<(), JournalError> {
    let inside = |name: &str| Err(JournalError::Container(format!("in a {name} namespace of its own")));
    if number("self", "pid")?.is_some_and(|own| own != PROC_PID_INIT_INO) {
        return inside("pid");
    }
    for name in OTHERS {
        // Of all processes kthreadd is the one that no user moves, and whose namespaces a security module
        // need not hide.
        if number("self", name)? != number("2", name)? {
            return inside(name);
        }
    }
    match has_own_run() {
        true => Err(JournalError::Container("with a /run of its own".to_owned())),
        false => Ok(()),
    }
}

/// The number of a process's namespace; none where the kernel has no such.
fn number(process: &str, name: &str) -> Result<Option<u64>, JournalError> {
    let path = format!("/proc/{process}/ns/{name}");
    match std::fs::metadata(&path) {
        Ok(found) => Ok(Some(found.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(JournalError::File { path: path.into(), source }),
    }
}

/// Whether the journal would be where the machine does not look for it. What may not be known is not so.
fn has_own_run() -> bool {
    let id =
        |path: &str| -> io::Result<_> { std::fs::metadata(path).map(|found| (found.dev(), found.ino())) };
    matches!((id("/run"), id("/proc/1/root/run")), (Ok(own), Ok(machines)) if own != machines)
}
