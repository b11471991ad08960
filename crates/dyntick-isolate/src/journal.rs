// SPDX-License-Identifier: GPL-2.0-only
//! The journal: what was changed, written before it is changed, one line of JSON each.
//!
//! A line is written whole or not at all: what a full file system or a file limit cuts is taken back, and
//! what a kill cuts is taken away before the next line, so that no two lines become one.
//!
//! It lies in memory (`/run`), as the settings do: neither survives a boot. The lock on it says
//! whether its dyntick, or the guardian of that, still lives; process numbers are for people only.
//! Only root enters its folder: who could write to it could have root write for him on the way back.

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

/// Why there is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another dyntick has it.
    #[error(
        "another dyntick isolates CPUs on this machine ({0}), and only one can at a time: give all CPUs to \
         one (-C LIST), or wait until it ends"
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
        "{path}:1: this journal was written by another version of dyntick: restore with that version, or \
         delete it to keep the settings as they are ({text})"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first line.
        text: String,
    },
    /// It was written since the machine started, where another number of this start is seen.
    #[error(
        "{0}: this journal was written during this boot, but with another boot_id: restore from where the isolation was started, or \
         delete it to keep the settings as they are"
    )]
    Elsewhere(PathBuf),
    /// This process is in a container, in the way that is said.
    #[error("dyntick runs in a container ({0}), and if that is killed nothing restores the machine")]
    Container(String),
}

/// How long a process may take to end that is being killed right now.
const MOMENT: Duration = Duration::from_millis(50);

/// How long a guardian may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often its folder may be removed while it is opened.
const TRIES: u32 = 100;

/// The journal's folder; it is gone with the boot.
const FOLDER: &str = "/run/dyntick";
const FILE: &str = "isolate.journal";

/// So much room is kept for it from its beginning, bytes: the threads of a machine that others have
/// moved meanwhile, some 100 bytes each, are written where `/run` may have become full.
const ROOM: u64 = 64 << 10;

/// The journal, held by this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Whether the last line is known to have its end.
    whole: bool,
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
            let mut journal = Self::inherit(path, file);
            match rustix::fs::flock(&journal.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if journal.is_at_its_path() => return Ok(Attempt::Taken(journal)),
                // Its last owner has removed it between our two steps.
                Ok(()) => {}
                // Its own file tells by whom, even if that one removes it meanwhile.
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Ok(Attempt::Held(journal.read().ok().flatten().map(|contents| contents.header)));
                }
                Err(errno) => return Err(error(errno.into())),
            }
        }
    }

    /// As an inherited, open and locked file.
    pub fn inherit(path: &Path, file: File) -> Self {
        Self { path: path.to_owned(), file, whole: false }
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
            boot: number_of_boot()?,
            pid: std::process::id(),
            start: own_start(),
            cpus: cpus.clone(),
            online: online.clone(),
            command: command.to_vec(),
        };
        // Where there is no room, or no such call, the lines are written all the same as far as they can be.
        let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, ROOM);
        self.append_line(&header)
    }

    /// Adds a record. When this returns it outlives this process, which is all that is wanted: where `/run`
    /// is on a disk, waiting for that would take milliseconds for each thread, and nothing of it is wanted
    /// after a boot.
    pub fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.append_line(record)
    }

    fn append_line(&mut self, value: &impl Serialize) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(value).expect("a record has no map with other keys than texts");
        line.push(b'\n');
        self.write_whole(&line).map_err(|source| JournalError::File { path: self.path.clone(), source })
    }

    /// Whole, or not at all.
    fn write_whole(&mut self, line: &[u8]) -> io::Result<()> {
        self.cut_half_line()?;
        let before = self.file.metadata()?.len();
        self.file.write_all(line).inspect_err(|_| {
            // Where even this fails, it is tried again before the next line.
            self.whole = self.file.set_len(before).is_ok();
        })
    }

    /// Takes away what its last writer has not written whole, so that nothing is written behind it.
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

    /// What it holds: none where nothing was begun, or where it is of an earlier boot.
    ///
    /// # Errors
    /// Where it cannot be read, or its first line is not of this version of dyntick.
    pub fn read(&mut self) -> Result<Option<Contents>, JournalError> {
        let path = self.path.clone();
        let file = |source| JournalError::File { path: path.clone(), source };
        let written = self.file.metadata().and_then(|found| found.modified()).map_err(file)?;
        let text = self.bytes().map_err(file)?;
        let contents =
            Contents::parse(&text).map_err(|text| JournalError::Foreign { path: self.path.clone(), text })?;
        let Some(contents) = contents else { return Ok(None) };
        match contents.header.boot == number_of_boot()? {
            true => Ok(Some(contents)),
            false if written <= began() && !self.is_in_memory().map_err(file)? => Ok(None),
            false => Err(JournalError::Elsewhere(self.path.clone())),
        }
    }

    /// Whether it survives no boot, as all of `/run` where that is a tmpfs (`include/uapi/linux/magic.h`): a
    /// clock that was set meanwhile says nothing then.
    fn is_in_memory(&self) -> io::Result<bool> {
        const TMPFS_MAGIC: u64 = 0x0102_1994;
        Ok(rustix::fs::fstatfs(&self.file)?.f_type as u64 == TMPFS_MAGIC)
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

fn number_of_boot() -> Result<String, JournalError> {
    boot().map_err(|source| JournalError::File { path: BOOT.into(), source })
}

/// When this boot began, by the clock as it is set now.
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

    /// The file system is full after any number of bytes. (`/dev/full` writes none; a limit of a process
    /// belongs to all of its threads, so this is a child that is this test again.)
    #[test]
    fn a_line_that_does_not_fit_is_taken_back() {
        const MARK: &str = "DYNTICK_TEST_FILE_LIMIT";
        let Some(folder) = std::env::var_os(MARK) else {
            let folder = tempfile::tempdir().unwrap();
            let name = "journal::tests::a_line_that_does_not_fit_is_taken_back";
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

    /// A writer was killed within a line: the next one writes none behind it.
    #[test]
    fn nothing_is_written_behind_a_half_line() {
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
            let mut journal = Journal::take(&path).unwrap();
            journal.append(&record("4")).unwrap();
            let contents = journal.read().unwrap().unwrap();
            assert_eq!(contents.records, [record("2"), record("4")], "{length}");
            assert!(contents.cut.is_empty() && contents.unreadable.is_empty());
        }
    }

    /// A pipe is no medium, and refuses to be waited for (fsync(2): EINVAL).
    #[test]
    fn no_disk_is_waited_for() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut journal = Journal::inherit(Path::new("j"), File::from(writer));
        journal.append(&record("2")).unwrap();
        drop(journal);
        let mut text = String::new();
        File::from(reader).read_to_string(&mut text).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record("2"));
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
        std::fs::write(&path, text.replace(&boot().unwrap(), "another")).unwrap();
        let told = Journal::take(&path).unwrap().read().unwrap_err().to_string();
        assert!(told.contains("written during this boot"), "{told}");
        std::fs::write(&path, text.replace(&boot().unwrap(), "another")).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(began() - PATIENCE).unwrap();
        let mut old = Journal::take(&path).unwrap();
        match old.is_in_memory().unwrap() {
            true => assert!(old.read().is_err(), "it would not have survived the boot"),
            false => assert_eq!(old.read().unwrap(), None),
        }
        drop(old);
        std::fs::write(&path, text.replace("\"version\":1", "\"version\":9")).unwrap();
        assert!(Journal::take(&path).unwrap().read().unwrap_err().to_string().contains("another version"));
    }
}
