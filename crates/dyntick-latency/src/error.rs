// SPDX-License-Identifier: GPL-2.0-only
//! Why nothing could be measured.

use std::io;

/// Why nothing could be measured, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum LatencyError {
    /// A real-time policy is not for this user.
    #[error(
        "no permission to run threads under {policy} with priority {priority} ({source}): this needs root, \
         CAP_SYS_NICE or a limit 'rtprio' of at least {priority} (ulimit -r, /etc/security/limits.conf); \
         without --prio and --policy the threads run under SCHED_OTHER"
    )]
    Policy {
        /// Its name.
        policy: &'static str,
        /// What was asked for.
        priority: u32,
        /// What the kernel says.
        source: io::Error,
    },
    /// The memory could not be locked though that was asked for.
    #[error(
        "cannot lock the memory ({0}): this needs root, CAP_IPC_LOCK or a larger limit 'memlock' (ulimit -l)"
    )]
    Lock(io::Error),
    /// A thread could not get to its CPU.
    #[error("cannot run on CPU {cpu}: {source}")]
    Cpu {
        /// The CPU.
        cpu: u32,
        /// What the kernel says.
        source: io::Error,
    },
    /// The CPU went offline meanwhile: the kernel then moves its threads, and lets them run anywhere.
    #[error(
        "the thread of CPU {cpu} did not stay there: the CPU was taken offline, or the thread was moved; its figures would \
         be another CPU's"
    )]
    Moved {
        /// The CPU.
        cpu: u32,
    },
    /// The counter of system management interrupts cannot be read.
    #[error(
        "cannot read the SMI counter of CPU {cpu} ({source}): this needs an Intel CPU, root or \
         CAP_SYS_RAWIO, and /dev/cpu/{cpu}/msr (modprobe msr)"
    )]
    Smi {
        /// The CPU.
        cpu: u32,
        /// What the kernel says.
        source: io::Error,
    },
    /// Anything else that the kernel refused.
    #[error("cannot {0}: {1}")]
    System(&'static str, io::Error),
}

impl LatencyError {
    pub(crate) fn system(what: &'static str) -> impl Fn(rustix::io::Errno) -> Self {
        move |error| LatencyError::System(what, error.into())
    }
}
