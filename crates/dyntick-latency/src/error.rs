// SPDX-License-Identifier: GPL-2.0-only
//! The errors of a measurement.

use std::io;

/// An error that prevents or ends a measurement, with its remedy.
#[derive(Debug, thiserror::Error)]
pub enum LatencyError {
    /// The user may not use a real-time policy.
    #[error(
        "no permission to run threads under {policy} with priority {priority} ({source}): this needs root, \
         CAP_SYS_NICE or a limit 'rtprio' of at least {priority} (ulimit -r, /etc/security/limits.conf); \
         without --prio and --policy the threads run under SCHED_OTHER"
    )]
    Policy {
        /// The name of the policy.
        policy: &'static str,
        /// The requested priority.
        priority: u32,
        /// The kernel's error.
        source: io::Error,
    },
    /// The memory could not be locked, although `--mlockall` requires it.
    #[error(
        "cannot lock the memory ({0}): this needs root, CAP_IPC_LOCK or a larger limit 'memlock' (ulimit -l)"
    )]
    Lock(io::Error),
    /// A thread could not move to its CPU.
    #[error("cannot run on CPU {cpu}: {source}")]
    Cpu {
        /// The CPU.
        cpu: u32,
        /// The kernel's error.
        source: io::Error,
    },
    /// The counter of system management interrupts cannot be read.
    #[error(
        "cannot read the SMI counter of CPU {cpu} ({source}): this needs an Intel CPU, root or \
         CAP_SYS_RAWIO, and /dev/cpu/{cpu}/msr (modprobe msr)"
    )]
    Smi {
        /// The CPU.
        cpu: u32,
        /// The kernel's error.
        source: io::Error,
    },
    /// Any other refusal of the kernel.
    #[error("cannot {0}: {1}")]
    System(&'static str, io::Error),
}

impl LatencyError {
    pub(crate) fn system(what: &'static str) -> impl Fn(rustix::io::Errno) -> Self {
        move |error| LatencyError::System(what, error.into())
    }
}
