// SPDX-License-Identifier: GPL-2.0-only
//! The journal: each change is written to it before it is made, as one line of JSON.
//!
//! A line is written completely or not at all. If a full file system or a file limit cuts a line, it is removed; if a
//! kill cuts it, it is removed before the next line, so that no two lines become one.
//!
//! Like the settings, it is in memory (`/run`): neither survives a boot. The lock on it shows if its dyntick, or the
//! guardian, still lives; process IDs are only informative. Only root can enter its folder: a user who could write to
//! it could make root write any file when restoring.

use crate::guarded::open_guarded;
use crate::record::{BOOT, Contents, Header, Record, VERSION, boot};
use crate::system::{lives, own_start};
use dyntick_model::CpuList;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The reason why there is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another dyntick holds it.
    #[error(
        "another dyntick isolates CPUs on this machine ({0}), and only one can at a time: give all CPUs to \
         one (-C LIST), or wait until it ends"
    )]
    Taken(String),
    /// The file cannot be created, read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It was written by another version of dyntick.
    #[error(
        "{path}:1: this journal was written by another version of dyntick: restore with that version, or \
         delete it to keep the settings as they are ({text})"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first line.
        text: String,
    },
    /// It was written during this boot, but in a place with another boot ID.
    #[error(
        "{0}: this journal was written during this boot, but with another boot_id: restore from where the isolation was started, or \
         delete it to keep the settings as they are"
    )]
    Elsewhere(PathBuf),
    /// This process is in a container of the given kind.
    #[error("dyntick runs in a container ({0}), and if that is killed nothing restores the machine")]
    Container(String),
}

/// The time that a killed process may take to end.
const MOMENT: Duration = Duration::from_millis(50);

/// The time that a guardian may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The number of times that its folder may be removed while it is opened.
const TRIES: u32 = 100;

/// The journal's folder, which does not survive a boot.
const FOLDER: &str = "/run/dyntick";
const FILE: &str = "isolate.journal";

/// The bytes that are reserved for it from the start: for threads that others have moved meanwhile, some 100 bytes
/// each, even if `/run` has become full.
const ROOM: u64 = 64 << 10;

/// The journal, held by this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// True if the last line is known to be complete.
    whole: bool,
}

impl Journal {
    /// The path of the journal, in a folder that only root may enter.
    pub fn default_path() -> PathBuf {
        Path::new(FOLDER).join(FILE)
    }

    /// Takes the journal, or creates it. It may hold the changes of a killed dyntick.
    pub fn take(path: &Path) -> Result<Self, JournalError> {
        match Self::attempt(path)? {
            Attempt::Taken(journal) => Ok(journal),
            Attempt::Held(header) => Err(taken(header.as_ref())),
        }
    }

    /// Takes the journal as [`Journal::take`] does, and waits for the guardian of a dead dyntick, which is about to
    /// restore everything.
    pub fn take_of_dead(path: &Path) -> Result<Self, JournalError> {
        let begin = Instant::now();
        loop {
            let header = match Self::attempt(path)? {
                Attempt::Taken(journal) => return Ok(journal),
                Attempt::Held(header) => header,
            };
            // Without a header it has just been created.
            let patience =
                if header.as_ref().is_none_or(|header| lives(header.writer())) { MOMENT } else { PATIENCE };
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
                // Its last owner has removed the folder between these two steps.
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries.next().is_some() => continue,
                opened => opened.map_err(error)?,
            };
            let mut journal = Self::inherit(path, file);
            match rustix::fs::flock(&journal.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if journal.is_at_its_path() => return Ok(Attempt::Taken(journal)),
                // Its last owner has removed it between these two steps.
                Ok(()) => {}
                // The file itself names its owner, even if that one removes it meanwhile.
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Ok(Attempt::Held(journal.read().ok().flatten().map(|contents| contents.header)));
                }
                Err(errno) => return Err(error(errno.into())),
            }
        }
    }

    /// Makes a journal from an inherited file, open and locked.
    pub fn inherit(path: &Path, file: File) -> Self {
        Self { path: path.to_owned(), file, whole: false }
    }

    /// The file, for a child to inherit with its lock.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the file at the path is still this journal.
    pub(crate) fn is_at_its_path(&self) -> bool {
        let here = self.file.metadata().map(|m| (m.dev(), m.ino()));
        let there = std::fs::symlink_metadata(&self.path).map(|m| (m.dev(), m.ino()));
        matches!((here, there), (Ok(here), Ok(there)) if here == there)
    }

    /// Writes the header.
    pub fn begin(
        &mut self,
        cpus: &CpuList,
        online: &CpuList,
        command: &[String],
    ) -> Result<(), JournalError> {
        let header = Header {
            version: VERSION,
            boot: number_of_boot()?,
            pid: std::process::id(),
            start: own_start(),
            cpus: cpus.clone(),
            online: online.clone(),
            command: command.to_vec(),
        };
        // If there is no room, or no such call, the lines are still written as far as possible.
        let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, ROOM);
        self.append_line(&header)
    }

    /// Adds a record, which then outlives this process. That is enough: if `/run` is on a disk, syncing it would take
    /// milliseconds for each thread, and nothing of it is needed after a boot.
    pub fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.append_line(record)
    }

    fn append_line(&mut self, value: &impl Serialize) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(value).expect("a record has no map with other keys than texts");
        line.push(b'\n');
        self.write_whole(&line).map_err(|source| JournalError::File { path: self.path.clone(), source })
    }

    /// Writes a line completely, or not at all.
    fn write_whole(&mut self, line: &[u8]) -> io::Result<()> {
        self.cut_half_line()?;
        let before = self.file.metadata()?.len();
        self.file.write_all(line).inspect_err(|_| {
            // If even this fails, it is tried again before the next line.
            self.whole = self.file.set_len(before).is_ok();
        })
    }

    /// Removes an incomplete last line, so that nothing is appended to it.
    fn cut_half_line(&mut self) -> io::Result<()> {
        if !self.whole && self.file.metadata()?.is_file() {
            let text = self.bytes()?;
            let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
            if end < text.len() {
                self.file.set_len(end as u64)?;
            }
        }
        self.whole = true;
        Ok(())
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut text)?;
        Ok(text)
    }

    /// Reads its content: `None` if it has no header, or is of an earlier boot.
    ///
    /// # Errors
    /// If it cannot be read, or its first line is not of this version of dyntick.
    pub fn read(&mut self) -> Result<Option<Contents>, JournalError> {
        let path = self.path.clone();
        let file = |source| JournalError::File { path: path.clone(), source };
        let written = self.file.metadata().and_then(|found| found.modified()).map_err(file)?;
        let text = self.bytes().map_err(file)?;
        let contents =
            Contents::parse(&text).map_err(|text| JournalError::Foreign { path: self.path.clone(), text })?;
        let Some(contents) = contents else { return Ok(None) };
        if contents.header.boot == number_of_boot()? {
            Ok(Some(contents))
        } else if written <= began() && !self.is_in_memory().map_err(file)? {
            Ok(None)
        } else {
            Err(JournalError::Elsewhere(self.path.clone()))
        }
    }

    /// Returns true if it cannot survive a boot, as in a `/run` on tmpfs (`include/uapi/linux/magic.h`): a clock that
    /// was set meanwhile then does not matter.
    fn is_in_memory(&self) -> io::Result<bool> {
        const TMPFS_MAGIC: u64 = 0x0102_1994;
        Ok(rustix::fs::fstatfs(&self.file)?.f_type as u64 == TMPFS_MAGIC)
    }

    /// Removes it: everything is restored.
    pub fn remove(self) -> Result<(), JournalError> {
        let removed = std::fs::remove_file(&self.path);
        // Fails harmlessly if another process still needs the folder.
        let _ = self.path.parent().map(std::fs::remove_dir);
        removed.map_err(|source| JournalError::File { path: self.path.clone(), source })
    }
}

/// The result of an attempt to take a journal.
enum Attempt {
    Taken(Journal),
    /// Another process holds it, the one in the header if it has been written.
    Held(Option<Header>),
}

fn number_of_boot() -> Result<String, JournalError> {
    boot().map_err(|source| JournalError::File { path: BOOT.into(), source })
}

/// The start of this boot, by the present clock.
fn began() -> SystemTime {
    let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    SystemTime::now() - Duration::from_secs(up.tv_sec.try_into().unwrap_or_default())
}

fn taken(header: Option<&Header>) -> JournalError {
    JournalError::Taken(match header {
        Some(Header { pid, cpus, command, .. }) => {
            format!("process {pid}: CPUs {cpus} for {}", command.join(" "))
        }
        None => "it has just started".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Format, Subject};

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

    /// Takes a journal whose lock a child of another test may hold for the moment between its `fork` and its `exec`.
    fn retaken(path: &Path) -> Journal {
        let begin = Instant::now();
        loop {
            match Journal::take(path) {
                Err(JournalError::Taken(_)) if begin.elapsed() < PATIENCE => std::thread::yield_now(),
                taken => return taken.unwrap(),
            }
        }
    }

    fn begun(folder: &Path) -> Journal {
        let mut journal = retaken(&folder.join("j"));
        journal.begin(&CpuList::from_iter([3]), &CpuList::first(4), &["./app".into()]).unwrap();
        journal
    }

    #[test]
    fn journal_keeps_complete_lines_only() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = begun(folder.path());
        journal.append(&record("2")).unwrap();
        journal.append(&record("3")).unwrap();
        let text = std::fs::read_to_string(folder.path().join("j")).unwrap();
        // Whenever its writer died: never more than was written, and never a damaged record.
        for length in 0..=text.len() {
            std::fs::write(folder.path().join("j"), &text[..length]).unwrap();
            let records = journal.read().unwrap().map_or(0, |contents| contents.records.len());
            let whole = text[..length].matches('\n').count();
            assert_eq!(records, whole.saturating_sub(1), "{}", &text[..length]);
        }
        let Contents { header, records, .. } = journal.read().unwrap().unwrap();
        assert_eq!((header.cpus.to_string().as_str(), header.pid), ("3", std::process::id()));
        assert_eq!(records, [record("2"), record("3")]);
        journal.remove().unwrap();
        assert!(!folder.path().join("j").exists());
    }

    /// The file system is full after any number of bytes. (`/dev/full` accepts none. A limit belongs to all threads of
    /// a process, so this is a child that runs this test again.)
    #[test]
    fn line_that_does_not_fit_is_removed() {
        const MARK: &str = "DYNTICK_TEST_FILE_LIMIT";
        let Some(folder) = std::env::var_os(MARK) else {
            let folder = tempfile::tempdir().unwrap();
            let name = "journal::tests::line_that_does_not_fit_is_removed";
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let status = child.args(["--exact", name]).env(MARK, folder.path()).status().unwrap();
            assert!(status.success());
            return assert!(folder.path().join("done").exists());
        };
        let folder = PathBuf::from(folder);
        let mut journal = begun(&folder);
        journal.append(&record("2")).unwrap();
        let text = std::fs::read(journal.path()).unwrap();
        let length = serde_json::to_vec(&record("3")).unwrap().len() as u64 + 1;
        // SAFETY: a system call without pointers.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        for room in 0..=length {
            limit(Some(text.len() as u64 + room));
            let written = journal.append(&record("3"));
            limit(None);
            assert_eq!(written.is_ok(), room == length, "{room}");
            if room < length {
                assert_eq!(std::fs::read(journal.path()).unwrap(), text, "{room}");
            }
        }
        assert_eq!(journal.read().unwrap().unwrap().records, [record("2"), record("3")]);
        std::fs::write(folder.join("done"), "").unwrap();
    }

    fn limit(bytes: Option<u64>) {
        let limit = rustix::process::Rlimit { current: bytes, maximum: None };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
    }

    /// A writer was killed within a line: the next one never appends to it.
    #[test]
    fn incomplete_line_is_never_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let mut journal = begun(folder.path());
        journal.append(&record("2")).unwrap();
        let first = std::fs::read(&path).unwrap().len();
        journal.append(&record("3")).unwrap();
        drop(journal);
        let text = std::fs::read(&path).unwrap();
        for length in first..text.len() {
            std::fs::write(&path, &text[..length]).unwrap();
            let mut journal = retaken(&path);
            journal.append(&record("4")).unwrap();
            let contents = journal.read().unwrap().unwrap();
            assert_eq!(contents.records, [record("2"), record("4")], "{length}");
            assert!(contents.cut.is_empty() && contents.unreadable.is_empty());
        }
    }

    /// A pipe has no storage, and refuses to be synced (fsync(2): EINVAL).
    #[test]
    fn append_never_syncs() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut journal = Journal::inherit(Path::new("j"), File::from(writer));
        journal.append(&record("2")).unwrap();
        drop(journal);
        let mut text = String::new();
        File::from(reader).read_to_string(&mut text).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record("2"));
    }

    #[test]
    fn only_one_process_holds_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let first = begun(folder.path());
        let second = Journal::take(&folder.path().join("j")).unwrap_err().to_string();
        assert!(second.contains("CPUs 3 for ./app"), "{second}");
        // The journal of a killed process is taken over.
        drop(first);
        assert!(retaken(&folder.path().join("j")).read().unwrap().is_some());
    }

    #[test]
    fn journal_of_an_earlier_boot_or_another_version_is_not_restored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        drop(begun(folder.path()));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(&boot().unwrap(), "another")).unwrap();
        let error = retaken(&path).read().unwrap_err().to_string();
        assert!(error.contains("written during this boot"), "{error}");
        std::fs::write(&path, text.replace(&boot().unwrap(), "another")).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(began() - PATIENCE).unwrap();
        let mut old = retaken(&path);
        if old.is_in_memory().unwrap() {
            assert!(old.read().is_err(), "it would not have survived the boot")
        } else {
            assert_eq!(old.read().unwrap(), None)
        }
        drop(old);
        std::fs::write(&path, text.replace("\"version\":1", "\"version\":9")).unwrap();
        assert!(retaken(&path).read().unwrap_err().to_string().contains("another version"));
    }
}
