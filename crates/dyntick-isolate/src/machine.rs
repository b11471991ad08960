// SPDX-License-Identifier: GPL-2.0-only
//! Whether this process is on the machine itself. Who is in a container may die with all of it, the guardian too, and its journal then
//! names threads and cgroups that nobody else finds by these names, where anybody finds the journal at all: nothing could be restored.

use crate::JournalError;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;

/// The first namespaces of a machine, of processes and of cgroups, have the same numbers everywhere (`include/linux/proc_ns.h`:
/// PROC_PID_INIT_INO, PROC_CGROUP_INIT_INO).
const FIRST: [(&str, u64); 2] = [("pid", 0xEFFF_FFFC), ("cgroup", 0xEFFF_FFFB)];

/// # Errors
/// In a container, and where /proc does not say.
pub fn ensure_on_machine() -> Result<(), JournalError> {
    for (name, first) in FIRST {
        let path = format!("/proc/self/ns/{name}");
        match std::fs::metadata(&path) {
            Ok(found) if found.ino() == first => {}
            Ok(_) => return Err(JournalError::Container(format!("in a {name} namespace of its own"))),
            // A kernel without such namespaces.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(JournalError::File { path: path.into(), source }),
        }
    }
    match has_own_run() {
        true => Err(JournalError::Container("with a /run of its own".to_owned())),
        false => Ok(()),
    }
}

/// Whether the journal would be where the machine does not look for it. What may not be known is not so.
fn has_own_run() -> bool {
    let id =
        |path: &str| -> io::Result<_> { std::fs::metadata(path).map(|found| (found.dev(), found.ino())) };
    matches!((id("/run"), id("/proc/1/root/run")), (Ok(own), Ok(machines)) if own != machines)
}
