// SPDX-License-Identifier: GPL-2.0-only
//! A thread, as chains and interruptions name it.

use dyntick_model::Symbol;
use std::sync::LazyLock;

/// What the idle task is called.
static IDLE: LazyLock<Symbol> = LazyLock::new(|| "idle".into());

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    /// Its number; 0 is the idle task of any CPU.
    pub pid: i32,
    /// Its name as last seen, `?` where no event named it.
    pub comm: Symbol,
}

impl Task {
    /// The thread that an event names so.
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
