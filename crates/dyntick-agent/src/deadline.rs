// SPDX-License-Identifier: GPL-2.0-only
//! SCHED_DEADLINE for the calling thread.

/// `struct sched_attr` of include/uapi/linux/sched/types.h.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const SCHED_DEADLINE: u32 = 6;

/// Gives the calling thread this runtime (ns) in every period (ns), which is its deadline too.
///
/// # Errors
/// The kernel's own: EPERM if the thread may not run on every CPU of its root domain, EBUSY if
/// there is no bandwidth left.
pub fn set(runtime: u64, period: u64) -> std::io::Result<()> {
    let attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: SCHED_DEADLINE,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime,
        deadline: period,
        period,
    };
    // SAFETY: the structure lives across the call, and the kernel gets its size.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
