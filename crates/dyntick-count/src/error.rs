// SPDX-License-Identifier: GPL-2.0-only
//! The reasons why nothing could be measured.

use dyntick_observe::live::{CallsError, LiveError};
use std::io;

/// The reason why measuring failed or ended.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// dyntick would run on the CPUs that it measures.
    #[error("cannot move off the measured CPUs: {0}")]
    Place(#[source] io::Error),
    /// A thread that waits for the end could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// The command names no program.
    #[error("no command")]
    NoCommand,
    /// The command could not be started.
    #[error("cannot run '{0}': {1}")]
    Command(String, #[source] io::Error),
    /// A process could not be started by its starter.
    #[error("cannot run the command: {0}")]
    Start(#[source] io::Error),
    /// A process that was named does not exist.
    #[error("there is no process {0}: {1}")]
    Process(u32, #[source] io::Error),
    /// The counters.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The calls of functions that were named.
    #[error(transparent)]
    Calls(#[from] CallsError),
}
