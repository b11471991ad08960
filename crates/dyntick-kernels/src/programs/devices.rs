// SPDX-License-Identifier: GPL-2.0-only
//! Programs for which no device is there but /dev/null and /dev/urandom, and none of the kernel's own files.
//! What a stranger packed may name one, or be one, and to open it is to do something to it: a watchdog resets
//! the machine, tracefs's `free_buffer` throws the trace away.

use std::ffi::{CStr, CString};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the program open no other device and nothing in /proc, /sys and their like, by a mount namespace of
/// its own. An ordinary user cannot make one, and may open little there; root in a container that may not
/// mount, or behind chroot(2), has what is there.
pub fn without_devices(command: &mut Command) {
    let kernels = kernels(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
    // SAFETY: async-signal-safe system calls between fork and exec.
    unsafe {
        command.pre_exec(move || if has_own_mounts()? { refuse(&kernels) } else { Ok(()) });
    }
}

/// File systems whose files the kernel makes (`/proc/filesystems`).
const OF_KERNEL: [&str; 16] = [
    "proc",
    "sysfs",
    "tracefs",
    "debugfs",
    "securityfs",
    "configfs",
    "cgroup",
    "cgroup2",
    "bpf",
    "efivarfs",
    "pstore",
    "resctrl",
    "selinuxfs",
    "smackfs",
    "fusectl",
    "binfmt_misc",
];

/// Where those are mounted (`/proc/PID/mountinfo`, proc_pid_mountinfo(5)), what holds others first.
fn kernels(mounts: &str) -> Vec<CString> {
    let point = |line: &str| {
        let (mount, file_system) = line.split_once(" - ")?;
        let is_kernels = OF_KERNEL.contains(&file_system.split(' ').next()?);
        let point = mount.split(' ').nth(4).filter(|_| is_kernels)?;
        CString::new(unescaped(point)).ok()
    };
    mounts.lines().filter_map(point).collect()
}

/// Spaces and the like stand there as a backslash and three octal digits.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| first == b'\\').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

/// Makes mounts of this process's own, which nobody else sees, where that may be.
fn has_own_mounts() -> Result<bool> {
    let private = Attributes { propagation: libc::MS_PRIVATE, ..Attributes::default() };
    // SAFETY: the process has one thread, and its mounts become a copy.
    let own = of(unsafe { libc::unshare(libc::CLONE_NEWNS) }.into());
    match own.and_then(|()| set(c"/", libc::AT_RECURSIVE, &private)) {
        // Behind chroot(2) the root is no mount, and before Linux 5.12 there is no such call.
        Err(error)
            if [ErrorKind::PermissionDenied, ErrorKind::InvalidInput, ErrorKind::Unsupported]
                .contains(&error.kind()) =>
        {
            Ok(false)
        }
        own => own.map(|()| true),
    }
}

/// What programs have always opened; git names its temporary files by the second.
const HARMLESS: [&CStr; 2] = [c"/dev/null", c"/dev/urandom"];

fn refuse(kernels: &[CString]) -> Result<()> {
    for point in kernels {
        match mount(c"none", point, c"tmpfs", libc::MS_RDONLY) {
            // It was below one that is no longer seen.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            hidden => hidden?,
        }
    }
    HARMLESS.iter().try_for_each(|device| mount(device, device, c"none", libc::MS_BIND))?;
    set(c"/", libc::AT_RECURSIVE, &Attributes { set: NODEV, ..Attributes::default() })?;
    HARMLESS
        .iter()
        .try_for_each(|device| set(device, 0, &Attributes { clear: NODEV, ..Attributes::default() }))
}

fn mount(source: &CStr, place: &CStr, file_system: &CStr, flags: libc::c_ulong) -> Result<()> {
    let [source, place, file_system] = [source, place, file_system].map(CStr::as_ptr);
    // SAFETY: the strings live for as long as the call.
    of(unsafe { libc::mount(source, place, file_system, flags, std::ptr::null()) }.into())
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
    fn mounts_of_the_kernels() {
        let mounts = "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n\
                      23 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      24 1 0:22 / /a\\040b/c rw shared:1 master:2 - tracefs tracefs rw\n";
        let found: Vec<_> = kernels(mounts).into_iter().map(|point| point.into_string().unwrap()).collect();
        assert_eq!(found, ["/proc", "/a b/c"]);
    }

    #[test]
    fn no_device_is_opened_but_the_harmless_and_nothing_of_the_kernels() {
        let read = |path: &str| {
            let mut head = Command::new("head");
            head.args(["-c1", path]);
            without_devices(&mut head);
            head.output().unwrap().status.success()
        };
        assert!(read("/dev/null") && read("/dev/urandom") && read("/etc/passwd"));
        let may_mount = rustix::process::geteuid().is_root() && {
            let mut alone = Command::new("true");
            let own = || if has_own_mounts()? { Ok(()) } else { Err(ErrorKind::PermissionDenied.into()) };
            // SAFETY: between fork and exec, as above.
            unsafe { alone.pre_exec(own) };
            alone.status().is_ok()
        };
        match may_mount {
            true => assert!(!read("/dev/zero") && !read("/proc/version") && !read("/sys/kernel/notes")),
            false => println!("skipped: no mounts of one's own here"),
        }
    }
}
