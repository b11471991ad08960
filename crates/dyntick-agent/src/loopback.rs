// SPDX-License-Identifier: GPL-2.0-only
//! The guest's only network: its loopback.

use anyhow::{Result, bail};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Brings the loopback up, as every system does. A kernel without a network has none.
pub fn up() -> Result<()> {
    // SAFETY: makes a descriptor, which is owned at once.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Ok(());
    }
    // SAFETY: the descriptor was made above and is owned here.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: an all-zero request is valid; the name ends with a zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the kernel reads the request.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) } != 0 {
        bail!("bring up the loopback: {}", std::io::Error::last_os_error());
    }
    Ok(())
}
