// SPDX-License-Identifier: GPL-2.0-only
//! Programs of this machine: where they are, and that they do not outlive this one.

use rustix::process::{Signal, set_parent_process_death_signal};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Debian keeps some programs here, and these folders are not on every user's PATH.
const SBIN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The path of a program by its name.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SBIN.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Has the kernel send `signal` to the program when the thread that starts it ends, also by being
/// killed (`PR_SET_PDEATHSIG`).
pub fn end_with_this_one(command: &mut Command, signal: Signal) {
    // SAFETY: a single async-signal-safe system call between fork and exec.
    unsafe {
        command.pre_exec(move || Ok(set_parent_process_death_signal(Some(signal))?));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_by_name() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find("no-such-program"), None);
    }
}
