// SPDX-License-Identifier: GPL-2.0-only
//! Why nothing can be recorded.

use rustix::io::Errno;
use std::path::PathBuf;

pub(super) const TRACEFS: &str = "/sys/kernel/tracing";

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// tracefs is not there and cannot be mounted.
    #[error(
        "tracefs is not mounted at {TRACEFS} and cannot be mounted there ({0}): this needs root and a \
         kernel with CONFIG_TRACING"
    )]
    NoTracefs(Errno),
    /// tracefs may not be entered, so that nobody can tell from here whether it is mounted.
    #[error(
        "no permission for {TRACEFS} ({0}): recording needs root, or CAP_SYS_ADMIN and access to that directory"
    )]
    Denied(std::io::Error),
    /// A file of tracefs refused.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}
