// SPDX-License-Identifier: GPL-2.0-only
//! Programs of this machine: where they are, and that they do not outlive this one.

mod devices;

pub use devices::without_devices;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Debian keeps some programs here, and these folders are not on every user's PATH.
const SBIN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// PATH where nothing is left of it: an empty one is the folder that one stands in.
const USUAL: &str = "/usr/bin:/bin";

/// The path of a program by its name.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SBIN.map(PathBuf::from));
    folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Takes relative folders out of what says where programs and their libraries are (PATH, and the variables of ld.so(8)), for this
/// program and all that it starts. An empty or relative part is the folder that one stands in, and a stranger's study comes with a folder.
///
/// # Safety
/// No other thread may run yet: others may read the environment.
pub unsafe fn forget_relative_folders() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let absolute = only_absolute(&path, b":");
    // SAFETY: as the caller promises, here and below.
    unsafe { std::env::set_var("PATH", if absolute.is_empty() { USUAL.into() } else { absolute }) };
    for (name, separators) in [("LD_LIBRARY_PATH", &b":;"[..]), ("LD_PRELOAD", b": "), ("LD_AUDIT", b":")] {
        let Some(value) = std::env::var_os(name) else { continue };
        match only_absolute(&value, separators) {
            none if none.is_empty() => unsafe { std::env::remove_var(name) },
            some => unsafe { std::env::set_var(name, some) },
        }
    }
}

/// The parts of a list that begin with a slash.
fn only_absolute(list: &OsStr, separators: &[u8]) -> OsString {
    let parts = list.as_bytes().split(|byte| separators.contains(byte));
    let absolute: Vec<&[u8]> = parts.filter(|part| part.starts_with(b"/")).collect();
    OsString::from_vec(absolute.join(&b':'))
}

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

/// Has the kernel end the program by SIGALRM after so many seconds (alarm(2) outlives execve). For programs that read
/// what a stranger made: in place of a file there may be something that is waited for without end.
pub fn end_after(command: &mut Command, seconds: u32) {
    // SAFETY: a single async-signal-safe system call between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::alarm(seconds);
            Ok(())
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

    /// In a process of its own, whose environment no other test reads.
    #[test]
    fn no_program_is_of_the_folder_that_one_stands_in() {
        const PATH: &str = "DYNTICK_TEST_PATH";
        if let Some(wanted) = std::env::var_os(PATH) {
            assert_eq!(find("planted"), None);
            // SAFETY: the other threads of this process wait for this one.
            unsafe { forget_relative_folders() };
            assert_eq!(std::env::var_os("PATH"), Some(wanted));
            assert_eq!(std::env::var("LD_LIBRARY_PATH").as_deref(), Ok("/usr/lib"));
            assert_eq!(std::env::var_os("LD_PRELOAD"), None);
            assert!(Command::new("planted").status().is_err());
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/true", dir.path().join("planted")).unwrap();
        let here = std::env::current_exe().unwrap();
        let absolute =
            ["/usr/bin:", ".:/usr/bin", ":/usr/bin", "a/b::/usr/bin"].map(|path| (path, "/usr/bin"));
        for (path, wanted) in absolute.into_iter().chain([("", USUAL), (".:", USUAL)]) {
            let mut again = Command::new(&here);
            again.args(["--exact", "programs::tests::no_program_is_of_the_folder_that_one_stands_in"]);
            again.current_dir(dir.path()).env("PATH", path).env(PATH, wanted);
            again.envs([("LD_LIBRARY_PATH", "lib;/usr/lib:"), ("LD_PRELOAD", "./planted.so planted.so")]);
            let ended = again.output().unwrap();
            assert!(ended.status.success(), "{path:?}: {}", String::from_utf8_lossy(&ended.stdout));
        }
    }

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
    fn what_waits_without_end_is_ended() {
        use std::os::unix::process::ExitStatusExt;
        let mut sleep = Command::new("sleep");
        end_after(sleep.arg("60"), 1);
        assert_eq!(sleep.status().unwrap().signal(), Some(libc::SIGALRM));
    }
}
