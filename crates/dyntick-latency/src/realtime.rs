// SPDX-License-Identifier: GPL-2.0-only
//! What a thread needs to wake up in time: a policy, and memory that is there.

use crate::{LatencyError, Policy};
use std::hint::black_box;
use std::io;

/// Stack that a measuring thread has ready. Its loop needs a small part of it.
const STACK: usize = 32 << 10;

impl Policy {
    fn number(self) -> i32 {
        match self {
            Policy::Other => libc::SCHED_OTHER,
            Policy::Batch => libc::SCHED_BATCH,
            Policy::Idle => libc::SCHED_IDLE,
            Policy::Fifo => libc::SCHED_FIFO,
            Policy::RoundRobin => libc::SCHED_RR,
        }
    }
}

/// Schedules this thread so from now on. Where the limit of its priority may be raised, it is.
pub(crate) fn schedule(policy: Policy, priority: u32) -> Result<(), LatencyError> {
    let set = || set(policy, priority);
    let raised = |error: io::Error| match raise_limit(priority) {
        true => set(),
        false => Err(error),
    };
    set().or_else(raised).map_err(|source| LatencyError::Policy { policy: policy.name(), priority, source })
}

fn set(policy: Policy, priority: u32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority as i32 };
    // SAFETY: a system call on this thread, with a structure that lives across it.
    match unsafe { libc::sched_setscheduler(0, policy.number(), &parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A user may raise the soft limit up to the hard one.
fn raise_limit(priority: u32) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Rtprio);
    let enough = limit.maximum.is_none_or(|maximum| maximum >= u64::from(priority));
    let wanted = Rlimit { current: Some(u64::from(priority)), ..limit };
    enough && setrlimit(Resource::Rtprio, wanted).is_ok()
}

/// Keeps this process's memory in place, also what it gets from now on: no page is read in later.
pub(crate) fn lock_memory() -> io::Result<()> {
    use rustix::mm::{MlockAllFlags, mlockall};
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Touches the stack that the thread will use, so that it is there also where memory is not locked.
#[inline(never)]
pub(crate) fn touch_stack() {
    let mut stack = [0u8; STACK];
    black_box(&mut stack).iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    black_box(&stack);
}
