// SPDX-License-Identifier: GPL-2.0-only
//! The journal: what was changed, written before it is changed, one line of JSON each.
//!
//! It lies in memory (`/run`), as the settings do: neither survives a boot. The lock on it says
//! whether its dyntick, or the guardian of that, still lives; process numbers are for people only.
//! Only root enters its folder: who could write to it could have root write for him on the way back.

use crate::guarded::open_guarded;
use crate::system::{Task, TaskId, lives, own_start};
use crate::{Change, Subject};
use dyntick_model::CpuList;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Of this format.
    pub version: u32,
    /// The boot of which it tells (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// The process that wrote it.
    pub pid: u32,
    /// When that started, clock ticks since boot.
    pub start: u64,
    /// The CPUs that are isolated.
    pub cpus: CpuList,
    /// The CPUs that were online.
    pub online: CpuList,
    /// What runs on them.
    pub command: Vec<String>,
}

impl Header {
    fn writer(&self) -> TaskId {
        TaskId { tid: self.pid as i32, start: self.start }
    }
}

/// Any other line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A change that may have been made.
    Change {
        /// To what end.
        subject: Subject,
        /// Which.
        #[serde(flatten)]
        change: Change,
    },
    /// What another program had set, or the kernel had given, and a step of the way back wipes out.
    Adopt {
        /// The thread's number.
        tid: i32,
        /// When it started.
        start: u64,
        /// Its name.
        comm: String,
        /// Its CPUs.
        cpus: CpuList,
    },
}

impl Record {
    /// The affinity of this thread is to be kept.
    pub fn adopt(task: &Task) -> Self {
        let Task { id, comm, cpus, .. } = task.clone();
        Record::Adopt { tid: id.tid, start: id.start, comm, cpus }
    }
}

/// Why there is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another dyntick has it.
    #[error(
        "another dyntick isolates CPUs on this machine ({0}); one does so at a time: give it all CPUs at once (-C LIST), or wait for its end"
    )]
    Taken(String),
    /// The file cannot be made, read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It was written by another dyntick.
    #[error(
        "{path}:1: this journal is of another version of dyntick: restore with that one, or delete it to keep the settings as they are ({text})"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first line.
        text: String,
    },
}

const VERSION: u32 = 1;

/// How long a process may take to end that is being killed right now.
const MOMENT: Duration = Duration::from_millis(50);

/// How long a guardian may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often its folder may be removed while it is opened.
const TRIES: u32 = 100;

/// The journal's folder; it is gone with the boot.
const FOLDER: &str = "/run/dyntick";
const FILE: &str = "isolate.journal";

/// The journal, held by this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Where it is; in a folder that only root may enter.
    pub fn default_path() -> PathBuf {
        Path::new(FOLDER).join(FILE)
    }

    /// Takes the journal and makes it if there is none. It may hold what a killed dyntick has left.
    pub fn take(path: &Path) -> Result<Self, JournalError> {
        match Self::attempt(path)? {
            Attempt::Taken(journal) => Ok(journal),
            Attempt::Held(header) => Err(taken(header.as_ref())),
        }
    }

    /// Takes the journal as [`Journal::take`] does, and waits for the guardian of a dyntick that is
    /// dead, which is about to put everything back.
    pub fn take_of_dead(path: &Path) -> Result<Self, JournalError> {
        let begin = Instant::now();
        loop {
            let header = match Self::attempt(path)? {
                Attempt::Taken(journal) => return Ok(journal),
                Attempt::Held(header) => header,
            };
            // Without a header it has just begun.
            let patience = match header.as_ref().is_none_or(|header| lives(header.writer())) {
                true => MOMENT,
                false => PATIENCE,
            };
            if begin.elapsed() >= patience {
                return Err(taken(header.as_ref()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn attempt(path: &Path) -> Result<Attempt, JournalError> {
        let error = |source| JournalError::File { path: path.to_owned(), source };
        let mut tries = 0..TRIES;
        loop {
            let file = match open_guarded(path) {
                // Its last owner has removed the folder between our two steps.
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries.next().is_some() => continue,
                opened => opened.map_err(error)?,
            };
            let mut journal = Self { path: path.to_owned(), file };
            match rustix::fs::flock(&journal.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if journal.is_at_its_path() => return Ok(Attempt::Taken(journal)),
                // Its last owner has removed it between our two steps.
                Ok(()) => {}
                // Its own file tells by whom, even if that one removes it meanwhile.
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Ok(Attempt::Held(journal.read().ok().flatten().map(|(header, _)| header)));
                }
                Err(errno) => return Err(error(errno.into())),
            }
        }
    }

    /// As an inherited, open and locked file.
    pub fn inherit(path: &Path, file: File) -> Self {
        Self { path: path.to_owned(), file }
    }

    /// The file, for a child to inherit; the lock goes with it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still the journal, and was not removed.
    pub(crate) fn is_at_its_path(&self) -> bool {
        let here = self.file.metadata().map(|m| (m.dev(), m.ino()));
        let there = std::fs::symlink_metadata(&self.path).map(|m| (m.dev(), m.ino()));
        matches!((here, there), (Ok(here), Ok(there)) if here == there)
    }

    /// Begins it.
    pub fn begin(
        &mut self,
        cpus: &CpuList,
        online: &CpuList,
        command: &[String],
    ) -> Result<(), JournalError> {
        let header = Header {
            version: VERSION,
            boot: boot(),
            pid: std::process::id(),
            start: own_start(),
            cpus: cpus.clone(),
            online: online.clone(),
            command: command.to_vec(),
        };
        self.append_line(&header)
    }

    /// Adds a record. When this returns it is on its medium.
    pub fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.append_line(record)
    }

    fn append_line(&mut self, value: &impl Serialize) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(value).expect("a record has no map with other keys than texts");
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(|source| JournalError::File { path: self.path.clone(), source })
    }

    /// What it holds: none where nothing was begun, or where it is of an earlier boot.
    ///
    /// A last line without its end was not whole when its writer died: its change was not made.
    pub fn read(&mut self) -> Result<Option<(Header, Vec<Record>)>, JournalError> {
        let mut text = String::new();
        let read = self.file.rewind().and_then(|()| self.file.read_to_string(&mut text));
        read.map_err(|source| JournalError::File { path: self.path.clone(), source })?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines();
        let Some(first) = lines.next() else { return Ok(None) };
        let foreign = || JournalError::Foreign { path: self.path.clone(), text: first.to_owned() };
        let header: Header = serde_json::from_str(first).map_err(|_| foreign())?;
        if header.version != VERSION {
            return Err(foreign());
        }
        if header.boot != boot() {
            return Ok(None);
        }
        let records = lines.map(serde_json::from_str).collect::<Result<_, _>>().map_err(|_| foreign())?;
        Ok(Some((header, records)))
    }

    /// Ends it: all is as before.
    pub fn remove(self) -> Result<(), JournalError> {
        let removed = std::fs::remove_file(&self.path);
        // Empty, if another still needs the folder.
        let _ = self.path.parent().map(std::fs::remove_dir);
        removed.map_err(|source| JournalError::File { path: self.path.clone(), source })
    }
}

/// What came of trying to take a journal.
enum Attempt {
    Taken(Journal),
    /// Another has it: who has begun it, if that is written yet.
    Held(Option<Header>),
}

fn taken(header: Option<&Header>) -> JournalError {
    JournalError::Taken(match header {
        Some(Header { pid, cpus, command, .. }) => {
            format!("process {pid}: CPUs {cpus} for {}", command.join(" "))
        }
        None => "it has just begun".to_owned(),
    })
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    fn record(new: &str) -> Record {
        let change = Change::Setting {
            path: "/proc/sys/vm/stat_interval".into(),
            format: Format::Text,
            old: "1".into(),
            new: new.into(),
            via: None,
        };
        Record::Change { subject: Subject::VmStat, change }
    }

    fn begun(folder: &Path) -> Journal {
        let mut journal = Journal::take(&folder.join("j")).unwrap();
        journal.begin(&CpuList::from_iter([3]), &CpuList::first(4), &["./app".into()]).unwrap();
        journal
    }

    #[test]
    fn keeps_what_was_written_and_no_half_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = begun(folder.path());
        journal.append(&record("2")).unwrap();
        journal.append(&record("3")).unwrap();
        let text = std::fs::read_to_string(folder.path().join("j")).unwrap();
        // Whatever moment its writer died: never more than was written, never a damaged record.
        for length in 0..=text.len() {
            std::fs::write(folder.path().join("j"), &text[..length]).unwrap();
            let records = journal.read().unwrap().map_or(0, |(_, records)| records.len());
            let whole = text[..length].matches('\n').count();
            assert_eq!(records, whole.saturating_sub(1), "{}", &text[..length]);
        }
        let (header, records) = journal.read().unwrap().unwrap();
        assert_eq!((header.cpus.to_string().as_str(), header.pid), ("3", std::process::id()));
        assert_eq!(records, [record("2"), record("3")]);
        journal.remove().unwrap();
        assert!(!folder.path().join("j").exists());
    }

    #[test]
    fn one_has_it_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = begun(folder.path());
        let second = Journal::take(&folder.path().join("j")).unwrap_err().to_string();
        assert!(second.contains("CPUs 3 for ./app"), "{second}");
        // What a killed one leaves is taken over.
        drop(first);
        assert!(Journal::take(&folder.path().join("j")).unwrap().read().unwrap().is_some());
    }

    #[test]
    fn of_an_earlier_boot_or_another_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        drop(begun(folder.path()));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(&boot(), "another")).unwrap();
        assert_eq!(Journal::take(&path).unwrap().read().unwrap(), None);
        std::fs::write(&path, text.replace("\"version\":1", "\"version\":9")).unwrap();
        assert!(Journal::take(&path).unwrap().read().unwrap_err().to_string().contains("another version"));
    }
}
