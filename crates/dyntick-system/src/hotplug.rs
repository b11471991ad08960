// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that go offline, or come back, while something is measured.

use dyntick_model::CpuList;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Receives events of CPUs that are taken offline and brought back, from now on. The kernel sends them to each user
/// (`device_offline` of drivers/base/core.c), by what udev hears of devices.
#[derive(Debug)]
pub struct Hotplug {
    /// `None` if this machine or container has no such socket.
    events: Option<OwnedFd>,
}

impl Hotplug {
    /// From now on.
    pub fn watch() -> Self {
        Self { events: socket().ok() }
    }

    /// The CPUs that went offline or came back since this was called before, and those that are offline.
    pub fn unsteady(&mut self, of: &CpuList) -> CpuList {
        let mut unsteady = online().map_or_else(CpuList::default, |online| of.difference(&online));
        let mut text = [0; 4096];
        while let Some(length) = self.events.as_ref().and_then(|events| received(events, &mut text)) {
            let cpu = cpu_of(&text[..length]).filter(|cpu| of.contains(*cpu));
            unsteady = unsteady.union(&cpu.into_iter().collect());
        }
        unsteady
    }
}

/// The CPUs that are online; `None` if unknown.
pub fn online() -> Option<CpuList> {
    std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?.trim().parse().ok()
}

/// The note that the figures of these CPUs are not valid.
pub fn note(offline: &CpuList) -> Option<String> {
    let (cpus, were, their) = match offline.len() {
        0 => return None,
        1 => ("CPU", "was", "its"),
        _ => ("CPUs", "were", "their"),
    };
    Some(format!("{cpus} {offline} {were} offline meanwhile: {their} figures do not hold"))
}

/// Parses `offline@/devices/system/cpu/cpu1`, which more text follows behind a NUL.
fn cpu_of(event: &[u8]) -> Option<u32> {
    let head = std::str::from_utf8(event.split(|byte| *byte == 0).next()?).ok()?;
    let (action, place) = head.split_once('@')?;
    let number = place.strip_prefix("/devices/system/cpu/cpu")?;
    ["offline", "online"].contains(&action).then(|| number.parse().ok()).flatten()
}

/// The kernel's own events of devices, which any process may hear (netlink(7): NETLINK_KOBJECT_UEVENT).
fn socket() -> Result<OwnedFd> {
    const FROM_KERNEL: u32 = 1;
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: makes a file, which is owned from here on.
    let events = unsafe {
        match libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_KOBJECT_UEVENT) {
            -1 => return Err(Error::last_os_error()),
            fd => OwnedFd::from_raw_fd(fd),
        }
    };
    // SAFETY: numbers alone, all of them may be zero.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    address.nl_groups = FROM_KERNEL;
    // SAFETY: an address of this kind, and its length.
    let bound = unsafe {
        libc::bind(events.as_raw_fd(), (&raw const address).cast(), size_of::<libc::sockaddr_nl>() as u32)
    };
    if bound == 0 { Ok(events) } else { Err(Error::last_os_error()) }
}

/// The length of the next event; `None` after the last.
fn received(events: &OwnedFd, text: &mut [u8]) -> Option<usize> {
    loop {
        // SAFETY: within the buffer.
        let length = unsafe { libc::recv(events.as_raw_fd(), text.as_mut_ptr().cast(), text.len(), 0) };
        match usize::try_from(length) {
            Ok(length) => return Some(length),
            // Some were lost, of which those that came after are there.
            Err(_) if Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(_) if Error::last_os_error().kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_cpus_alone_are_heard() {
        assert_eq!(cpu_of(b"offline@/devices/system/cpu/cpu13\0ACTION=offline\0SUBSYSTEM=cpu\0"), Some(13));
        assert_eq!(cpu_of(b"online@/devices/system/cpu/cpu1\0ACTION=online\0"), Some(1));
        for other in [
            &b"offline@/devices/system/memory/memory1\0"[..],
            b"add@/devices/system/cpu/cpu1\0",
            b"offline@/devices/system/cpu/cpufreq\0",
            b"libudev\0\xfe\xed",
            b"",
        ] {
            assert_eq!(cpu_of(other), None);
        }
    }

    #[test]
    fn a_cpu_that_stays_is_steady_and_one_that_is_not_there_is_not() {
        let Some(online) = online() else { return };
        let mut hotplug = Hotplug::watch();
        assert_eq!(hotplug.unsteady(&online), CpuList::default());
        let absent: CpuList = [8000].into_iter().collect();
        assert_eq!(hotplug.unsteady(&online.union(&absent)), absent);
        assert_eq!(note(&online.difference(&online)), None);
        assert_eq!(note(&absent).unwrap(), "CPU 8000 was offline meanwhile: its figures do not hold");
    }
}
