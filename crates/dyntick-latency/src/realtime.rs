// SPDX-License-Identifier: GPL-2.0-only
//! The scheduling policy and the memory that a thread needs to wake up in time.

use crate::{LatencyError, Policy};
use std::hint::black_box;
use std::io;

/// The part of a measuring thread's stack that is touched beforehand, bytes. Its loop needs less.
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

/// Sets this thread's policy and priority, and raises the limit on the priority if that is allowed.
pub(crate) fn schedule(policy: Policy, priority: u32) -> Result<(), LatencyError> {
    let set = || dyntick_system::schedule(0, policy.number(), priority);
    let raised = |error: io::Error| if raise_limit(priority) { set() } else { Err(error) };
    set().or_else(raised).map_err(|source| LatencyError::Policy { policy: policy.name(), priority, source })
}

/// Raises the soft limit on the priority, which a user may do up to the hard one.
fn raise_limit(priority: u32) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Rtprio);
    let enough = limit.maximum.is_none_or(|maximum| maximum >= u64::from(priority));
    let wanted = Rlimit { current: Some(u64::from(priority)), ..limit };
    enough && setrlimit(Resource::Rtprio, wanted).is_ok()
}

/// Locks this process's present and future memory, so that no page fault reads it later.
pub(crate) fn lock_memory() -> io::Result<()> {
    use rustix::mm::{MlockAllFlags, mlockall};
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Touches the stack that the thread will use, so that it is mapped even if memory is not locked.
#[inline(never)]
pub(crate) fn touch_stack() {
    let mut stack = [0u8; STACK];
    black_box(&mut stack).iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    black_box(&stack);
}
