// SPDX-License-Identifier: GPL-2.0-only
//! Programs in the kernel: how they and their maps are reached, what the kernel says of them, and what may go wrong.

use crate::trace::SessionError;
use aya::maps::Map;
use aya::programs::{Program, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfError};
use dyntick_model::KernelVersion;
use dyntick_trace::{FormatError, RingError};
use memmap2::{MmapOptions, MmapRaw};
use rustix::thread::CapabilitySet;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The reason why nothing can be counted this way.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The process may not.
    #[error("no permission to load eBPF programs: this needs root, or CAP_BPF and CAP_PERFMON")]
    NotPermitted,
    /// The kernel has no type information.
    #[error(
        "this kernel has no type information in /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF), which eBPF programs need: {0}"
    )]
    NoBtf(BtfError),
    /// The kernel or its configuration has no eBPF, or does not take these programs.
    #[error("the kernel rejects the eBPF programs: {0}")]
    Refused(String),
    /// The trace.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The layout of an event.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A damaged page of the trace.
    #[error("CPU {cpu}: {source}")]
    Page {
        /// The CPU of the buffer.
        cpu: u32,
        /// The defect.
        source: RingError,
    },
    /// No thread to empty the buffers.
    #[error("cannot read the trace in a thread: {0}")]
    Thread(std::io::Error),
    /// Nothing was asked for.
    #[error("no CPU was given to count on")]
    NoCpu,
}

/// Maps an array of that many bytes into memory.
pub(super) fn map_array(ebpf: &Ebpf, name: &str, bytes: usize) -> Result<MmapRaw, LiveError> {
    let Some(Map::Array(map)) = ebpf.map(name) else {
        return Err(LiveError::Refused("the map of counts is missing".to_owned()));
    };
    // An array's values are aligned to 8 bytes, as a row is.
    MmapOptions::new()
        .len(bytes)
        .map_raw(map.fd().as_fd().as_raw_fd())
        .map_err(|error| LiveError::Refused(format!("cannot map the counts: {error}")))
}

/// The error of a number that no thread has.
pub(super) fn no_thread(pid: u32) -> LiveError {
    LiveError::Refused(format!("there is no thread {pid}"))
}

/// Attaches the program of a tracepoint; false where this kernel has no such tracepoint.
pub(super) fn attach(ebpf: &mut Ebpf, tracepoint: &str, btf: &Btf) -> Result<bool, LiveError> {
    let name = tracepoint.rsplit(':').next().unwrap_or(tracepoint);
    let attached = match ebpf.program_mut(name) {
        Some(Program::BtfTracePoint(program)) => {
            program.load(name, btf).and_then(|()| program.attach().map(|_| ()))
        }
        Some(Program::RawTracePoint(program)) => {
            program.load().and_then(|()| program.attach(name).map(|_| ()))
        }
        _ => return Err(LiveError::Refused(format!("there is no eBPF program for {tracepoint}"))),
    };
    match attached {
        Ok(()) => Ok(true),
        Err(error) if is_unknown(&error) => Ok(false),
        Err(error) => Err(refused(error.into())),
    }
}

/// Loads and attaches the program of this name.
pub(super) fn with_program<'e, P>(
    ebpf: &'e mut Ebpf,
    name: &str,
    attach: impl FnOnce(&mut P) -> Result<(), ProgramError>,
) -> Result<(), LiveError>
where
    P: 'e,
    &'e mut P: TryFrom<&'e mut Program, Error = ProgramError>,
{
    let program =
        ebpf.program_mut(name).ok_or_else(|| LiveError::Refused(format!("no eBPF program {name}")))?;
    let program: &mut P = program.try_into().map_err(|error: ProgramError| refused(error.into()))?;
    attach(program).map_err(|error| refused(error.into()))
}

/// The version of the kernel that runs; `None` if its release does not begin with one.
pub(super) fn running_kernel() -> Option<KernelVersion> {
    rustix::system::uname().release().to_string_lossy().parse().ok()
}

/// Returns true if the kernel has no such tracepoint.
fn is_unknown(error: &ProgramError) -> bool {
    match error {
        ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => true,
        ProgramError::SyscallError(call) => call.io_error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

pub(super) fn refused(error: EbpfError) -> LiveError {
    let mut text = error.to_string();
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            if io.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error()) {
                return if may_load() {
                    LiveError::Refused(FORBIDDEN.to_owned())
                } else {
                    LiveError::NotPermitted
                };
            }
        }
        if !text.contains(&error.to_string()) {
            text += &format!(": {error}");
        }
        source = error.source();
    }
    LiveError::Refused(text)
}

/// The reason of EPERM for a process with all rights.
const FORBIDDEN: &str = "operation not permitted, although this process has the capabilities: lockdown, a security module or a sandbox forbids them";

/// Returns true if this process has the capabilities for eBPF programs (`kernel/bpf/syscall.c: bpf_prog_load`, 6.12).
fn may_load() -> bool {
    let own = rustix::thread::capabilities(None).map(|sets| sets.effective).unwrap_or(CapabilitySet::empty());
    own.contains(CapabilitySet::SYS_ADMIN) || own.contains(CapabilitySet::BPF | CapabilitySet::PERFMON)
}

/// Returns the number of times that the kernel skipped these programs, since they ran already on the same CPU.
pub(super) fn recursion_misses<'a>(programs: impl Iterator<Item = BorrowedFd<'a>>) -> u64 {
    each_fdinfo(programs).map(|text| in_fdinfo(&text, "recursion_misses:")).sum()
}

/// The programs that were loaded, by name.
pub(super) fn programs(ebpf: &Ebpf) -> impl Iterator<Item = (&str, BorrowedFd<'_>)> {
    ebpf.programs().filter_map(|(name, program)| Some((name, program.fd().ok()?.as_fd())))
}

/// Returns the kernel's statistics of each program.
pub(super) fn each_fdinfo<'a>(
    programs: impl Iterator<Item = BorrowedFd<'a>>,
) -> impl Iterator<Item = String> {
    programs.filter_map(|fd| std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).ok())
}

/// A number in it; 0 where the kernel does not say it.
pub(super) fn in_fdinfo(text: &str, name: &str) -> u64 {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::in_fdinfo;

    #[test]
    fn what_the_kernel_says_of_a_program() {
        let text = "pos:\t0\nprog_type:\t26\nrun_time_ns:\t1500\nrun_cnt:\t10\nrecursion_misses:\t2\n";
        let of = |name| in_fdinfo(text, name);
        assert_eq!(
            (of("run_cnt:"), of("run_time_ns:"), of("recursion_misses:"), of("none:")),
            (10, 1500, 2, 0)
        );
    }
}
