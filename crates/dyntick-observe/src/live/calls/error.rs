// SPDX-License-Identifier: GPL-2.0-only
//! The errors of timing calls.

use crate::live::LiveError;
use dyntick_model::KernelVersion;

/// The reason why the calls of a function cannot be timed.
#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// There is none of this name.
    #[error("the running kernel has no function '{name}', or the compiler inlined it{}", like(near))]
    Unknown {
        /// The name.
        name: String,
        /// Names like it, the nearest first.
        near: Vec<String>,
    },
    /// There are several.
    #[error("the running kernel has {count} functions '{name}'; which of them would be probed is not known")]
    Ambiguous {
        /// The name.
        name: String,
        /// Their number.
        count: usize,
    },
    /// It is not in `available_filter_functions`.
    #[error("the kernel function '{name}' cannot be traced (notrace, noinstr or __kprobes){}", like(near))]
    NotTraceable {
        /// The name.
        name: String,
        /// Names like it, the nearest first.
        near: Vec<String>,
    },
    /// The programs share a table of all CPUs, and exchange in it atomically.
    #[error("timing calls needs Linux 5.12 or newer (atomic exchange in eBPF programs); this is {0}")]
    TooOld(KernelVersion),
    /// The kernel does not say why.
    #[error("the calls of '{name}' cannot be timed by {pair}: {error}")]
    Refused {
        /// The function.
        name: String,
        /// The programs that were tried last.
        pair: &'static str,
        /// The error of the kernel.
        error: LiveError,
    },
    /// The process may not, or the kernel takes no such programs.
    #[error(transparent)]
    Live(#[from] LiveError),
}

fn like(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; similar names: {}", near.join(", ")) }
}
