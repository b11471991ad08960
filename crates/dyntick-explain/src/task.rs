// SPDX-License-Identifier: GPL-2.0-only
//! A thread in chains and interruptions.

use dyntick_model::Symbol;
use std::sync::LazyLock;

/// The name of the idle task.
static IDLE: LazyLock<Symbol> = LazyLock::new(|| "idle".into());

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    /// Its TID; 0 for the idle task of any CPU.
    pub pid: i32,
    /// Its last known name; `?` if no event named it.
    pub comm: Symbol,
}

impl Task {
    /// Creates a thread with this TID and name.
    pub(crate) fn named(pid: i32, comm: &Symbol) -> Self {
        let comm = if pid == 0 { &IDLE } else { comm };
        Self { pid, comm: comm.clone() }
    }

    /// The idle task.
    pub(crate) fn idle() -> Self {
        Self { pid: 0, comm: IDLE.clone() }
    }
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pid {
            0 => f.write_str("the idle task"),
            pid if &*self.comm == "?" => write!(f, "thread {pid}"),
            pid => write!(f, "{} [{pid}]", self.comm),
        }
    }
}
