// SPDX-License-Identifier: GPL-2.0-only
//! Programs of this machine: where they are, how they are scheduled, and how they end.

use std::ffi::OsStr;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Debian keeps some programs here, and these folders are not on every user's PATH.
const SBIN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The path of a program by its name. Relative folders of PATH are not searched.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SBIN.map(PathBuf::from));
    program_in(folders.filter(|folder| folder.is_absolute()), name.as_ref()).ok()
}

/// The path of a program as a shell finds it, so that a misspelt one is reported before anything is changed.
///
/// # Errors
/// If there is none, or it is not executable.
pub fn find_as_shell(program: &OsStr) -> Result<PathBuf> {
    let path = Path::new(program);
    if program.to_string_lossy().contains('/') {
        return program_in([PathBuf::new()].into_iter(), path);
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    program_in(std::env::split_paths(&folders), path)
}

fn program_in(folders: impl Iterator<Item = PathBuf>, name: &Path) -> Result<PathBuf> {
    let mut error = Error::from_raw_os_error(libc::ENOENT);
    for place in folders.map(|folder| folder.join(name)) {
        match place.metadata() {
            Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => return Ok(place),
            Ok(_) => error = Error::from_raw_os_error(libc::EACCES),
            Err(_) => {}
        }
    }
    Err(error)
}

/// The exit status of a program as a shell has it: 128 and the number of the signal that killed it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    code as u8
}

/// Waits for a child of this process. Returns its status and the resources that it and its own children have used.
///
/// # Errors
/// If it is not a child, or was waited for.
pub fn wait_with_usage(pid: u32) -> Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and both live across the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    while unsafe { libc::wait4(pid as i32, &raw mut status, 0, &raw mut usage) } < 0 {
        let error = Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok((ExitStatus::from_raw(status), usage))
}

/// Sets the scheduling policy (`SCHED_FIFO` and so on) and priority of a thread; 0 is the calling one.
/// Async-signal-safe.
///
/// # Errors
/// The errors of sched_setscheduler(2).
pub fn schedule(thread: i32, policy: libc::c_int, priority: u32) -> Result<()> {
    let parameter = libc::sched_param { sched_priority: priority as i32 };
    // SAFETY: the structure lives across the call.
    match unsafe { libc::sched_setscheduler(thread, policy, &raw const parameter) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_by_name() {
        assert!(find_program("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find_program("no-such-program"), None);
        let kind = |name: &str| find_as_shell(name.as_ref()).map_err(|error| error.kind());
        assert!(kind("sh").is_ok() && kind("/bin/sh").is_ok());
        assert_eq!(kind("no-such-program"), Err(ErrorKind::NotFound));
        assert_eq!(kind("/etc/passwd"), Err(ErrorKind::PermissionDenied));
    }

    #[test]
    fn a_signal_is_a_status_above_128() {
        assert_eq!([0x300, 9, 15].map(|raw| exit_code(ExitStatus::from_raw(raw))), [3, 137, 143]);
    }

    #[test]
    // It is waited for by the function under test.
    #[allow(clippy::zombie_processes)]
    fn a_child_is_waited_for_once() {
        let child = std::process::Command::new("true").spawn().unwrap();
        assert!(wait_with_usage(child.id()).unwrap().0.success());
        assert!(wait_with_usage(child.id()).is_err());
    }
}
