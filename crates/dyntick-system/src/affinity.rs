// SPDX-License-Identifier: GPL-2.0-only
//! The CPUs that threads may run on (sched_setaffinity(2)).

use dyntick_model::CpuList;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::io::Result;

/// The CPUs of a thread: of the one of this number, or of this one.
///
/// # Errors
/// If there is no such thread.
pub fn affinity(thread: Option<i32>) -> Result<CpuList> {
    let set = sched_getaffinity(thread.and_then(Pid::from_raw))?;
    Ok((0..CpuSet::MAX_CPU as u32).filter(|cpu| set.is_set(*cpu as usize)).collect())
}

/// Lets a thread run on these CPUs only: the one of this number, or this one. It only does a system call, so a
/// child may call it between fork and exec.
///
/// # Errors
/// If the thread may not be moved, or its cpuset has none of these CPUs.
pub fn run_on(thread: Option<i32>, cpus: &CpuList) -> Result<()> {
    Ok(sched_setaffinity(thread.and_then(Pid::from_raw), &cpu_set(cpus))?)
}

/// These CPUs as the kernel takes them; what it cannot have is left out.
pub fn cpu_set(cpus: &CpuList) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().filter(|cpu| (*cpu as usize) < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu as usize));
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_moves_and_comes_back() {
        std::thread::spawn(|| {
            let all = affinity(None).unwrap();
            let first: CpuList = all.iter().take(1).collect();
            run_on(None, &first).unwrap();
            assert_eq!(affinity(None).unwrap(), first);
            let beyond: CpuList = all.iter().chain([CpuSet::MAX_CPU as u32 + 1]).collect();
            run_on(Some(rustix::thread::gettid().as_raw_nonzero().get()), &beyond).unwrap();
            assert_eq!(affinity(None).unwrap(), all);
            assert!(affinity(Some(i32::MAX)).is_err());
        })
        .join()
        .unwrap();
    }
}
