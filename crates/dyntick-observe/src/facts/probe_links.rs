// SPDX-License-Identifier: GPL-2.0-only
//! The probes in programs (uprobes) that BPF links hold, e.g. those of bpftrace and of agents, which `uprobe_events` of
//! tracefs does not list.

use std::ffi::{CStr, c_long};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The commands of bpf(2), the types of links and of perf events (`include/uapi/linux/bpf.h`).
const OBJ_GET_INFO_BY_FD: i32 = 15;
const LINK_GET_FD_BY_ID: i32 = 30;
const LINK_GET_NEXT_ID: i32 = 31;
const PERF_EVENT_LINK: u32 = 7;
const UPROBE_MULTI_LINK: u32 = 12;
const UPROBE: u32 = 1;
const URETPROBE: u32 = 2;

/// The maximum number of links that are looked at, and of places of one.
const MOST_LINKS: usize = 4096;
const MOST_PLACES: usize = 4;
/// The maximum length of a path.
const PATH: usize = 4096;

/// The probes of one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProbeLink {
    /// The number of the link.
    pub id: u32,
    /// The file that is probed.
    pub file: String,
    /// The first places in the file, bytes.
    pub offsets: Vec<u64>,
    /// The number of places.
    pub count: u32,
}

impl ProbeLink {
    /// The file with the places, e.g. `/usr/bin/x at 0x1234`.
    pub fn words(&self) -> String {
        let places: Vec<String> = self.offsets.iter().map(|offset| format!("{offset:#x}")).collect();
        let more = match (self.count as usize).saturating_sub(places.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{} at {}{more}", self.file, places.join(", "))
    }
}

/// The probes in programs of all links; empty where the kernel does not tell (before 6.6, or 6.8 for links with several
/// places), or without CAP_SYS_ADMIN.
pub(super) fn probe_links() -> Vec<ProbeLink> {
    let ids = std::iter::successors(next_id(0), |id| next_id(*id));
    ids.take(MOST_LINKS).filter_map(|id| read(id, &fd_of(id)?)).collect()
}

/// The argument of the commands with a number (`union bpf_attr`).
#[repr(C)]
#[derive(Default)]
struct ById {
    id: u32,
    next_id: u32,
    flags: u32,
}

/// The argument of `BPF_OBJ_GET_INFO_BY_FD`.
#[repr(C)]
#[derive(Default)]
struct InfoByFd {
    fd: u32,
    length: u32,
    info: u64,
}

/// `struct bpf_link_info` of the two types: its part for each begins after 16 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
struct LinkInfo {
    kind: u32,
    id: u32,
    program: u32,
    unused: u32,
    part: [u64; 8],
}

fn bpf<T>(command: i32, argument: &mut T) -> Option<c_long> {
    // SAFETY: the argument is one of this command, and as long as stated; the kernel takes missing members as 0.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, argument as *mut T, size_of::<T>()) };
    (result >= 0).then_some(result)
}

fn next_id(id: u32) -> Option<u32> {
    let mut by_id = ById { id, ..ById::default() };
    bpf(LINK_GET_NEXT_ID, &mut by_id)?;
    Some(by_id.next_id)
}

fn fd_of(id: u32) -> Option<OwnedFd> {
    let fd = bpf(LINK_GET_FD_BY_ID, &mut ById { id, ..ById::default() })?;
    // SAFETY: a new descriptor that nothing else owns.
    Some(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn info(fd: &OwnedFd, info: &mut LinkInfo) -> Option<()> {
    let length = size_of::<LinkInfo>() as u32;
    let mut by_fd =
        InfoByFd { fd: fd.as_raw_fd() as u32, length, info: std::ptr::from_mut(info).addr() as u64 };
    bpf(OBJ_GET_INFO_BY_FD, &mut by_fd).map(drop)
}

fn read(id: u32, fd: &OwnedFd) -> Option<ProbeLink> {
    let mut found = LinkInfo::default();
    info(fd, &mut found)?;
    let mut path = vec![0u8; PATH];
    let to_path = path.as_mut_ptr().addr() as u64;
    match found.kind {
        PERF_EVENT_LINK => {
            let kind = found.part[0] as u32;
            // The pointer to the name, and its length beside the offset.
            let mut named = LinkInfo::default();
            (named.part[1], named.part[2]) = (to_path, PATH as u64);
            (kind == UPROBE || kind == URETPROBE).then(|| info(fd, &mut named))??;
            let file = text(&path)?;
            Some(ProbeLink { id, file, offsets: vec![named.part[2] >> 32], count: 1 })
        }
        UPROBE_MULTI_LINK => {
            // Pointers to the path, the offsets and two more; the length of the path and the number of offsets; flags.
            let count = (found.part[4] >> 32) as u32;
            let mut offsets = vec![0u64; count as usize];
            let mut named = LinkInfo::default();
            (named.part[0], named.part[1]) = (to_path, offsets.as_mut_ptr().addr() as u64);
            named.part[4] = PATH as u64 | u64::from(count) << 32;
            info(fd, &mut named)?;
            offsets.truncate(MOST_PLACES);
            Some(ProbeLink { id, file: text(&path)?, offsets, count })
        }
        _ => None,
    }
}

fn text(bytes: &[u8]) -> Option<String> {
    let text = CStr::from_bytes_until_nul(bytes).ok()?.to_string_lossy().into_owned();
    (!text.is_empty()).then_some(text)
}

/// The number of a link in the text of a descriptor (`/proc/PID/fdinfo/FD`).
pub(super) fn link_id(fdinfo: &str) -> Option<u32> {
    fdinfo.lines().find_map(|line| line.strip_prefix("link_id:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_words_and_numbers() {
        let link = ProbeLink { id: 3, file: "/usr/bin/x".to_owned(), offsets: vec![0x12, 0x340], count: 5 };
        assert_eq!(link.words(), "/usr/bin/x at 0x12, 0x340 and 3 more");
        assert_eq!(link_id("pos:\t0\nlink_type:\tuprobe_multi\nlink_id:\t17\nprog_tag:\t0\n"), Some(17));
        assert_eq!(link_id("pos:\t0\n"), None);
        assert_eq!(text(b"\0\0"), None);
        // Without privileges there are none.
        probe_links();
    }
}
