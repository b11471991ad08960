// SPDX-License-Identifier: GPL-2.0-only
//! A program with a BPF link that probes two places of it (`BPF_TRACE_UPROBE_MULTI`, from Linux 6.6 on).

use anyhow::{Context, Result, bail};
use std::convert::Infallible;
use std::hint::black_box;
use std::os::fd::RawFd;
use std::time::Duration;

/// The commands of bpf(2), the type of the program and of the link (`include/uapi/linux/bpf.h`).
const PROG_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;
const PROG_TYPE_KPROBE: u32 = 2;
const TRACE_UPROBE_MULTI: u32 = 48;

/// The calls of each function in a turn, and the pause between two turns.
const CALLS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// The argument of `BPF_PROG_LOAD` as far as it is needed.
#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log: [u64; 2],
    version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attached_as: u32,
}

/// The argument of `BPF_LINK_CREATE` for places in a file.
#[repr(C)]
#[derive(Default)]
struct Link {
    program: u32,
    target: u32,
    attached_as: u32,
    flags: u32,
    path: u64,
    offsets: u64,
    counters: u64,
    cookies: u64,
    count: u32,
    place_flags: u32,
    process: u32,
    padding: u32,
}

#[inline(never)]
extern "C" fn first(x: u32) -> u32 {
    black_box(x) + 1
}

#[inline(never)]
extern "C" fn second(x: u32) -> u32 {
    black_box(x) ^ 2
}

/// Sets the link, and calls both functions again and again.
pub fn run() -> Result<Infallible> {
    let path = std::env::current_exe()?;
    let path = std::ffi::CString::new(path.into_os_string().into_encoded_bytes())?;
    let offsets = [first as *const () as u64, second as *const () as u64].map(in_file);
    let offsets =
        [offsets[0].context("no place of the first")?, offsets[1].context("no place of the second")?];
    // r0 = 0; exit
    let code = [0xb7u64, 0x95];
    let program = bpf(
        PROG_LOAD,
        &Load {
            kind: PROG_TYPE_KPROBE,
            instructions: code.len() as u32,
            code: code.as_ptr().addr() as u64,
            license: c"GPL".as_ptr().addr() as u64,
            attached_as: TRACE_UPROBE_MULTI,
            ..Load::default()
        },
    )?;
    // Both descriptors are open until the program ends.
    bpf(
        LINK_CREATE,
        &Link {
            program: program as u32,
            attached_as: TRACE_UPROBE_MULTI,
            path: path.as_ptr().addr() as u64,
            offsets: offsets.as_ptr().addr() as u64,
            count: offsets.len() as u32,
            ..Link::default()
        },
    )?;
    loop {
        black_box((0..CALLS).fold(0, |x, _| second(first(x))));
        std::thread::sleep(PAUSE);
    }
}

/// The place in the file of an address of this program (`/proc/self/maps`).
fn in_file(address: u64) -> Option<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let offset = number(fields.nth(1)?)?;
        (number(start)?..number(end)?).contains(&address).then_some(address - number(start)? + offset)
    })
}

fn bpf<T>(command: i32, argument: &T) -> Result<RawFd> {
    // SAFETY: the argument is one of this command, and as long as stated; what it points to lives as long.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(argument), size_of::<T>()) };
    if result < 0 {
        bail!("bpf command {command}: {}", std::io::Error::last_os_error());
    }
    Ok(result as RawFd)
}
