// SPDX-License-Identifier: GPL-2.0-only
//! Programs of this machine: where they are, and that they do not outlive this one (invariant 10).

pub mod environment;

pub use dyntick_system::find_program as find;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Has the kernel send `signal` to the program when the thread that starts it ends, also by being
/// killed (`PR_SET_PDEATHSIG`).
pub fn end_with_this_one(command: &mut Command, signal: Signal) {
    // SAFETY: a single async-signal-safe system call between fork and exec.
    unsafe {
        command.pre_exec(move || Ok(set_parent_process_death_signal(Some(signal))?));
    }
}

/// Gives the program a limit that the kernel keeps, in bytes: of each file that it makes (`Fsize`), or of its own
/// memory (`Data`, which does not count files that are mapped to be read).
pub fn limit(command: &mut Command, resource: Resource, bytes: u64) {
    // SAFETY: async-signal-safe system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let least = |limit: Option<u64>| Some(limit.map_or(bytes, |limit| limit.min(bytes)));
            let now = getrlimit(resource);
            let limit = Rlimit { current: least(now.current), maximum: least(now.maximum) };
            Ok(setrlimit(resource, limit)?)
        });
    }
}

/// Has the kernel end the program by SIGALRM after this many seconds (alarm(2) outlives execve). For programs that read
/// untrusted files: a FIFO in place of a file would be waited for without end.
pub fn end_after(command: &mut Command, seconds: u32) {
    // SAFETY: a single async-signal-safe system call between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::alarm(seconds);
            Ok(())
        });
    }
}

/// The folders of PATH that are in /usr, by their own name or by another.
pub fn path_in_usr() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let inside = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| folder.starts_with("/usr"));
    std::env::join_paths(std::env::split_paths(&path).filter(inside)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let write = |blocks: &str| {
            let mut dd = Command::new("dd");
            dd.args(["if=/dev/zero", "of=file", "bs=1024", blocks]).current_dir(dir.path());
            limit(&mut dd, Resource::Fsize, 4096);
            dd.stderr(std::process::Stdio::null()).status().unwrap().success()
        };
        assert!(write("count=4") && !write("count=5"));
    }

    #[test]
    fn memory_has_its_limit() {
        let take = |size: &str| {
            let mut dd = Command::new("dd");
            dd.args(["if=/dev/zero", "of=/dev/null", "count=1", size]);
            limit(&mut dd, Resource::Data, 64 << 20);
            dd.stderr(std::process::Stdio::null()).status().unwrap().success()
        };
        assert!(take("bs=16M") && !take("bs=80M"));
    }

    #[test]
    fn endless_programs_are_ended() {
        use std::os::unix::process::ExitStatusExt;
        let mut sleep = Command::new("sleep");
        end_after(sleep.arg("60"), 1);
        assert_eq!(sleep.status().unwrap().signal(), Some(libc::SIGALRM));
    }
}
