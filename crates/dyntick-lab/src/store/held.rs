// SPDX-License-Identifier: GPL-2.0-only
//! The memory for the runs that one verb holds at once: a study may have thousands.

use super::{Run, StoreError};

/// The share of the machine's memory that the texts of all analyses may have. In memory they take a few times as much.
const SHARE: u64 = 16;

/// The memory that is left for further runs.
#[derive(Debug)]
pub struct Held {
    left: u64,
}

impl Held {
    /// No run yet, and the limit of this machine.
    pub fn on_this_machine() -> Self {
        Self::within(dyntick_system::memory() / SHARE)
    }

    /// A limit for analyses of this number of bytes.
    pub(super) fn within(left: u64) -> Self {
        Self { left }
    }

    /// Holds a run next to those before it.
    ///
    /// # Errors
    /// [`StoreError::Full`] if no memory is left for it.
    pub fn hold(&mut self, run: Run) -> Result<Run, StoreError> {
        match self.left.checked_sub(run.bytes) {
            Some(left) => self.left = left,
            None => return Err(StoreError::Full { path: run.folder, bytes: run.bytes, left: self.left }),
        }
        Ok(run)
    }
}
