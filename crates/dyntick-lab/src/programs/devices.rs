// SPDX-License-Identifier: GPL-2.0-only
//! Programs for which no device is there but /dev/null and /dev/urandom. What a stranger packed may name one, or be one, and
//! to open it is to do something to it: a watchdog resets the machine.

use std::ffi::CStr;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the program open no other device, by a mount namespace of its own. An ordinary user cannot make one, and may
/// open few devices; root in a container that may not mount has those of the container.
pub fn without_devices(command: &mut Command) {
    // SAFETY: async-signal-safe system calls between fork and exec.
    unsafe { command.pre_exec(|| if leave_mounts()? { refuse_devices() } else { Ok(()) }) };
}

/// Whether this process has mounts of its own now.
fn leave_mounts() -> Result<bool> {
    // SAFETY: the process has one thread, and its mounts become a copy.
    match of(unsafe { libc::unshare(libc::CLONE_NEWNS) }.into()) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(false),
        left => left.map(|()| true),
    }
}

/// What programs have always opened; git names its temporary files by the second.
const HARMLESS: [&CStr; 2] = [c"/dev/null", c"/dev/urandom"];

fn refuse_devices() -> Result<()> {
    set(c"/", libc::AT_RECURSIVE, &Attributes { propagation: libc::MS_PRIVATE, ..Attributes::default() })?;
    for device in HARMLESS {
        let (path, none) = (device.as_ptr(), std::ptr::null());
        // SAFETY: the string lives for as long as the call.
        of(unsafe { libc::mount(path, path, none, libc::MS_BIND, none.cast()) }.into())?;
    }
    set(c"/", libc::AT_RECURSIVE, &Attributes { set: NODEV, ..Attributes::default() })?;
    HARMLESS
        .iter()
        .try_for_each(|device| set(device, 0, &Attributes { clear: NODEV, ..Attributes::default() }))
}

/// `MOUNT_ATTR_NODEV` of mount_setattr(2).
const NODEV: u64 = 4;

/// `struct mount_attr` of mount_setattr(2), Linux 5.12.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

fn set(mount: &CStr, flags: libc::c_int, attributes: &Attributes) -> Result<()> {
    let (mount, attributes): (_, *const Attributes) = (mount.as_ptr(), attributes);
    let size = size_of::<Attributes>();
    // SAFETY: string and attributes live for as long as the call, which only reads them.
    of(unsafe { libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, mount, flags, attributes, size) })
}

fn of(returned: libc::c_long) -> Result<()> {
    if returned == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_device_is_opened_but_the_harmless() {
        let read = |path: &str| {
            let mut head = Command::new("head");
            head.args(["-c1", path]);
            without_devices(&mut head);
            head.output().unwrap().status.success()
        };
        assert!(read("/dev/null") && read("/dev/urandom") && read("/etc/passwd"));
        // SAFETY: between fork and exec, as above.
        let may_mount = rustix::process::geteuid().is_root() && {
            let mut alone = Command::new("true");
            unsafe { alone.pre_exec(|| of(libc::unshare(libc::CLONE_NEWNS).into())) };
            alone.status().is_ok()
        };
        match may_mount {
            true => assert!(!read("/dev/zero")),
            false => println!("skipped: no mounts of one's own here"),
        }
    }
}
