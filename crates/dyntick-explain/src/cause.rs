// SPDX-License-Identifier: GPL-2.0-only
//! The name of a cause.

use crate::names;
use dyntick_model::Symbol;
use dyntick_model::text::beginning;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A cause: a class and, where the class has many members, its member, as in
/// `workqueue:vmstat_update`. `rules::get` finds the rule of the member or else of the class.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CauseId(Symbol);

/// The longest function of Debian's 6.12 has 85 characters; `KSYM_NAME_LEN` allows 512. Bytes.
const LONGEST_MEMBER: usize = 128;

impl CauseId {
    /// A cause without members, as `fair-server`.
    pub fn class(class: &str) -> Self {
        Self(class.into())
    }

    /// A member of a class, as `timer` and `clocksource_watchdog`.
    ///
    /// A name longer than any that the kernel has is cut: one is kept for each interruption.
    pub fn member(class: &str, member: &str) -> Self {
        Self(format!("{class}:{}", beginning(member, LONGEST_MEMBER)).into())
    }

    /// The cause of a kernel thread's turn: `kernel-thread` and the thread's name, without the number of the
    /// CPU, the memory node or the process that the thread belongs to.
    pub fn kernel_thread(comm: &str) -> Self {
        Self::member("kernel-thread", names::thread_family(comm))
    }

    /// The part before the colon.
    pub fn class_name(&self) -> &str {
        self.0.split_once(':').map_or(&self.0, |(class, _)| class)
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
