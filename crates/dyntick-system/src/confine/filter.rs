// SPDX-License-Identifier: GPL-2.0-only
//! The system calls that a confined program is not given: those by which it would get around its
//! namespaces. Some kinds of sockets know no network namespace (AF_VSOCK reaches the hypervisor and every
//! guest of this machine), and a new user namespace would give back all privileges inside of it.

use rustix::fs::MemfdFlags;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};

/// The kinds of sockets that a namespace holds, and that compilers and QEMU may use.
const SOCKETS: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Refused whatever their arguments: other namespaces, keys of the kernel, and rings by which sockets
/// could be had without socket(2). Arguments of clone3(2) are in memory, where no filter sees them; the
/// C library goes back to clone(2).
const REFUSED: [libc::c_long; 9] = [
    libc::SYS_clone3,
    libc::SYS_setns,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
];

/// The same calls by the numbers of the x32 ABI (`__X32_SYSCALL_BIT`).
const X32: i64 = 0x4000_0000;

/// The filter as `bwrap --seccomp` takes it: `struct sock_filter` after `struct sock_filter`, in a
/// file that is open and at its begin. What is refused is answered by ENOSYS, as by a kernel without it.
///
/// # Errors
/// If there is no memory for it.
pub fn file() -> std::io::Result<File> {
    let program = program().map_err(std::io::Error::other)?;
    let memory = rustix::fs::memfd_create("dyntick-filter", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(memory);
    for one in program {
        file.write_all(&one.code.to_ne_bytes())?;
        file.write_all(&[one.jt, one.jf])?;
        file.write_all(&one.k.to_ne_bytes())?;
    }
    file.rewind()?;
    Ok(file)
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let socket = SOCKETS.iter().map(|family| condition(0, SeccompCmpOp::Ne, *family as u64));
    let socket = SeccompRule::new(socket.collect::<Result<_, _>>()?)?;
    let new_user = libc::CLONE_NEWUSER as u64;
    let with_user = SeccompRule::new(vec![condition(0, SeccompCmpOp::MaskedEq(new_user), new_user)?])?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for base in [0, X32] {
        rules.extend(REFUSED.map(|call| (base + call, Vec::new())));
        rules.insert(base + libc::SYS_socket, vec![socket.clone()]);
        rules.insert(base + libc::SYS_socketpair, vec![socket.clone()]);
        rules.insert(base + libc::SYS_clone, vec![with_user.clone()]);
        rules.insert(base + libc::SYS_unshare, vec![with_user.clone()]);
    }
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, refused, TargetArch::x86_64)?.try_into()
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}
