// SPDX-License-Identifier: GPL-2.0-only
//! From beginning to end: lock, guardian, journal, changes; and all of it back.

use crate::apply::{Applied, ApplyError, apply};
use crate::change::PARTITION_FILE;
use crate::command::{Placement, Running};
use crate::facts::{Facts, FactsError};
use crate::guardian::Guardian;
use crate::journal::{Journal, JournalError};
use crate::machine::ensure_on_machine;
use crate::plan::{Plan, Request, plan};
use crate::record::Record;
use crate::restore::{Restored, restore};
use crate::system::Live;
use crate::{Change, Subject, signals};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Why CPUs cannot be isolated.
#[derive(Debug, thiserror::Error)]
pub enum IsolateError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine cannot be read.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// Stopped by a signal, or by the journal.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The guardian.
    #[error("cannot start the guardian, which restores everything if this process is killed: {0}")]
    Guardian(io::Error),
    /// What an earlier run has left cannot be put back, so nothing may be added to it.
    #[error("an earlier isolation is not completely restored: {0}; `dyntick isolate --restore` tries again, \
             and deleting {journal} keeps the settings as they are", journal = Journal::default_path().display())]
    Leftover(String),
}

/// CPUs that are isolated; dropping this ends it.
#[derive(Debug)]
pub struct Isolation {
    journal: Option<Journal>,
    guardian: Option<Guardian>,
    request: Request,
    /// What was done.
    pub applied: Applied,
    /// What was to be done.
    pub plan: Plan,
    /// Tells what came of putting back where nobody is left to return it to.
    say: fn(&Result<Restored, JournalError>),
}

impl Isolation {
    /// Isolates CPUs for a command. `program` is this program, which is started as guardian; `say` tells
    /// what came of putting back where this is dropped before its end.
    pub fn begin(
        request: &Request,
        command: &[OsString],
        program: &Path,
        say: fn(&Result<Restored, JournalError>),
    ) -> Result<Self, IsolateError> {
        ensure_on_machine()?;
        signals::keep();
        let mut journal = take_clean()?;
        let online = Facts::online(&Live)?;
        let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if let Err(error) = journal.begin(&request.cpus, &online, &words) {
            // Nothing is in it, and nothing was changed.
            let _ = journal.remove();
            return Err(error.into());
        }
        let guardian = Guardian::start(program, &journal);
        let mut isolation = Self {
            journal: Some(journal),
            guardian: None,
            request: request.clone(),
            applied: Applied::default(),
            plan: Plan::default(),
            say,
        };
        isolation.guardian = Some(guardian.map_err(IsolateError::Guardian)?);
        // The guardian is one of the threads that must make room.
        isolation.plan = plan(&Facts::read(&Live, &request.cpus)?, request);
        let stopped = || signals::received().is_some();
        let journal = isolation.journal.as_mut().expect("is there until the end");
        isolation.applied = apply(&mut Live, journal, &isolation.plan, &stopped)?;
        Ok(isolation)
    }

    /// Folders that others will make, and are to be removed if they cannot: all that begin so.
    pub fn announce(&mut self, prefix: PathBuf) -> Result<(), IsolateError> {
        let record = Record::Change { subject: Subject::Trace, change: Change::Folders { prefix } };
        let journal = self.journal.as_mut().expect("is there until the end");
        Ok(journal.append(&record)?)
    }

    /// Starts the command on the CPUs.
    pub fn start(&self, command: &[OsString], fifo: Option<u32>) -> io::Result<Running> {
        let placement =
            Placement { cpus: self.request.cpus.clone(), partition: self.applied.partition.clone(), fifo };
        Running::start(command, &placement)
    }

    /// Whether the partition is still what it was made; none where there was none.
    pub fn partition_holds(&self) -> Option<bool> {
        let folder = self.applied.partition.as_ref()?;
        let now = std::fs::read_to_string(folder.join(PARTITION_FILE)).unwrap_or_default();
        Some(now.trim() == self.request.kind.kernel_name())
    }

    /// Puts everything back.
    pub fn end(mut self) -> Result<Restored, JournalError> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<Restored, JournalError> {
        let restored = self.journal.take().map(|journal| restore(&mut Live, journal));
        if let Some(guardian) = self.guardian.take() {
            guardian.dismiss();
        }
        Ok(restored.transpose()?.flatten().unwrap_or_default())
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        if self.journal.is_some() {
            (self.say)(&self.put_back());
        }
    }
}

/// Takes the journal and puts back what an earlier owner may have left in it.
fn take_clean() -> Result<Journal, IsolateError> {
    let path = Journal::default_path();
    let journal = Journal::take_of_dead(&path)?;
    if let Some(Restored { failed, .. }) = restore(&mut Live, journal)? {
        if !failed.is_empty() {
            let failed: Vec<String> = failed.iter().map(|(what, why)| format!("{what}: {why}")).collect();
            return Err(IsolateError::Leftover(failed.join("; ")));
        }
    }
    Ok(Journal::take(&path)?)
}
