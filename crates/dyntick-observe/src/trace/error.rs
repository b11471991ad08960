// SPDX-License-Identifier: GPL-2.0-only
//! The errors of recording.

use rustix::io::Errno;
use std::path::PathBuf;

pub(super) const TRACEFS: &str = "/sys/kernel/tracing";

/// The reason why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// tracefs is not there and cannot be mounted.
    #[error(
        "tracefs is not mounted at {TRACEFS} and cannot be mounted there ({0}): this needs root and a \
         kernel with CONFIG_TRACING"
    )]
    NoTracefs(Errno),
    /// tracefs may not be entered, so that it is not known if it is mounted.
    #[error(
        "no permission for {TRACEFS} ({0}): recording needs root, or CAP_SYS_ADMIN and access to that directory"
    )]
    Denied(std::io::Error),
    /// A file of tracefs refused.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// The attempt, as a verb.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}
