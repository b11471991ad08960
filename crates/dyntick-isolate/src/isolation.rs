// SPDX-License-Identifier: GPL-2.0-only
//! The complete isolation: lock, guardian, journal and changes, and the restoration of everything.

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
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why CPUs cannot be isolated.
#[derive(Debug, thiserror::Error)]
pub enum IsolateError {
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine cannot be read.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// Applying was stopped by a signal, or by the journal.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The guardian could not be started.
    #[error("cannot start the guardian, which restores everything if this process is killed: {0}")]
    Guardian(io::Error),
    /// The changes of an earlier run cannot be restored, so nothing may be added to them.
    #[error("an earlier isolation is not completely restored: {0}; `dyntick isolate --restore` tries again, \
             and deleting {journal} keeps the settings as they are", journal = Journal::default_path().display())]
    Leftover(String),
}

/// An isolation of CPUs; dropping it restores them.
#[derive(Debug)]
pub struct Isolation {
    journal: Option<Journal>,
    guardian: Option<Guardian>,
    request: Request,
    /// The result of applying the plan.
    pub applied: Applied,
    /// The plan.
    pub plan: Plan,
    /// Reports the result of restoring if no caller is left to receive it.
    say: fn(&Result<Restored, JournalError>),
}

impl Isolation {
    /// Isolates CPUs for a command. `program` is this program, which is also started as guardian; `say` reports the
    /// result of restoring if this is dropped before its end. Call [`signals::keep_signals`] before.
    pub fn begin(
        request: &Request,
        command: &[OsString],
        program: &Path,
        say: fn(&Result<Restored, JournalError>),
    ) -> Result<Self, IsolateError> {
        ensure_on_machine()?;
        let mut journal = take_clean()?;
        let online = Facts::online(&Live)?;
        let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if let Err(error) = journal.begin(&request.cpus, &online, &words) {
            // It is empty, and nothing was changed.
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
        // The guardian is one of the threads that must be moved.
        isolation.plan = plan(&Facts::read(&Live, &request.cpus)?, request);
        let stopped = || signals::received().is_some();
        let journal = isolation.journal.as_mut().expect("is there until the end");
        isolation.applied = apply(&mut Live, journal, &isolation.plan, &stopped)?;
        Ok(isolation)
    }

    /// Journals folders that others will make, by their common prefix; they are removed if their makers cannot.
    pub fn announce(&mut self, prefix: PathBuf) -> Result<(), IsolateError> {
        let record = Record::Change { subject: Subject::Trace, change: Change::Folders { prefix } };
        let journal = self.journal.as_mut().expect("is there until the end");
        Ok(journal.append(&record)?)
    }

    /// Starts the command on the CPUs.
    pub fn start(&self, command: &[OsString], fifo: Option<u32>) -> io::Result<Running> {
        self.start_into(command, fifo, None)
    }

    /// The same with its standard output in a file.
    pub fn start_into(
        &self,
        command: &[OsString],
        fifo: Option<u32>,
        output: Option<File>,
    ) -> io::Result<Running> {
        let placement =
            Placement { cpus: self.request.cpus.clone(), partition: self.applied.partition.clone(), fifo };
        Running::start_into(command, &placement, output)
    }

    /// Returns true if the partition is still valid; `None` if there was none.
    pub fn partition_holds(&self) -> Option<bool> {
        let folder = self.applied.partition.as_ref()?;
        let now = std::fs::read_to_string(folder.join(PARTITION_FILE)).unwrap_or_default();
        Some(now.trim() == self.request.kind.kernel_name())
    }

    /// Restores everything.
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

/// Takes the journal and restores the changes that an earlier owner may have left in it.
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
