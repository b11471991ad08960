// SPDX-License-Identifier: GPL-2.0-only
//! Programs of this machine: where they are, and that they do not outlive this one.

use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
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

/// Has the kernel end the program where it makes a file of more than so many bytes (`RLIMIT_FSIZE`).
pub fn limit_files(command: &mut Command, bytes: u64) {
    // SAFETY: async-signal-safe system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let least = |limit: Option<u64>| Some(limit.map_or(bytes, |limit| limit.min(bytes)));
            let limit = getrlimit(Resource::Fsize);
            let limit = Rlimit { current: least(limit.current), maximum: least(limit.maximum) };
            Ok(setrlimit(Resource::Fsize, limit)?)
        });
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

    #[test]
    fn a_file_has_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let write = |blocks: &str| {
            let mut dd = Command::new("dd");
            dd.args(["if=/dev/zero", "of=file", "bs=1024", blocks]).current_dir(dir.path());
            limit_files(&mut dd, 4096);
            dd.stderr(std::process::Stdio::null()).status().unwrap().success()
        };
        assert!(write("count=4") && !write("count=5"));
    }
}
