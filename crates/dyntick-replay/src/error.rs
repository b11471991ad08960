// SPDX-License-Identifier: GPL-2.0-only
//! Errors of a replay.

use dyntick_kernels::build::BuildError;
use dyntick_kernels::cache::CacheError;
use dyntick_model::text::{clean_line, shown};
use dyntick_system::InputError;
use dyntick_system::confine::{NoWalls, NotSeen};
use std::path::PathBuf;

/// The reason why a governor could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// No C compiler.
    #[error("cannot compile a governor: 'cc' is not installed: apt-get install gcc libc6-dev")]
    NoCompiler,
    /// A name of the kernel that the stand-in does not have.
    #[error(
        "cannot compile {governor}: it needs '{name}' of the kernel ({place}), which the stand-in for it lacks; declare \
         and define it in a header and name that with --stand-in HEADER"
    )]
    Missing {
        /// The governor.
        governor: String,
        /// The missing name.
        name: String,
        /// File and line.
        place: String,
    },
    /// Another error of the compiler.
    #[error("cannot compile {governor}: {message}")]
    Compile {
        /// The governor.
        governor: String,
        /// The compiler's message.
        message: String,
    },
    /// A file without a governor.
    #[error(
        "{governor} registers no governor: call cpuidle_register_governor() in a function that \
         postcore_initcall() names"
    )]
    NotRegistered {
        /// The governor.
        governor: String,
    },
    /// The governor refused a CPU.
    #[error("{governor} cannot be enabled: its function 'enable' returned {value}")]
    NotEnabled {
        /// The governor.
        governor: String,
        /// The return value.
        value: i64,
    },
    /// A choice of no state.
    #[error("{governor} chose state {value} at decision {decision}, which does not exist")]
    BadState {
        /// The governor.
        governor: String,
        /// The decision's number, from 1.
        decision: u64,
        /// The choice.
        value: i64,
    },
    /// An endless loop.
    #[error("{governor} did not return from decision {decision} within a second of CPU time")]
    Loop {
        /// The governor.
        governor: String,
        /// The decision's number, from 1.
        decision: u64,
    },
    /// A crash, or a system call.
    #[error("{governor} crashed at decision {decision} ({how})")]
    Crash {
        /// The governor.
        governor: String,
        /// The decision's number, from 1.
        decision: u64,
        /// The signal or the status.
        how: String,
    },
    /// More decisions than fit.
    #[error("cannot replay more than 4294967295 decisions at once: record a shorter time")]
    TooMany,
    /// More states than a kernel has.
    #[error("cannot replay with {0} idle states: the kernel's limit is 10")]
    TooManyStates(usize),
    /// A CPU that no kernel has.
    #[error("cannot replay CPU {0}: the kernel's limit is 8192 CPUs; the trace is damaged")]
    NoSuchCpu(u32),
    /// A file of a governor.
    #[error("cannot read {}: {source}", shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A text that names no governor.
    #[error("'{}' is no governor: {reason}", clean_line(.text))]
    Spec {
        /// The text.
        text: String,
        /// The reason.
        reason: String,
    },
    /// No sandbox.
    #[error("cannot run a governor: {0}")]
    NoWalls(#[from] NoWalls),
    /// A file that the sandbox does not show.
    #[error(transparent)]
    NotSeen(#[from] NotSeen),
    /// Sources and patches.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The cache of compiled governors.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A compiled governor.
    #[error("cannot compile a governor: {0}")]
    Built(#[from] InputError),
    /// The machine.
    #[error("cannot run a governor: {0}")]
    Io(#[from] std::io::Error),
}
