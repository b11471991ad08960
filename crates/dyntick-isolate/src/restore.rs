// SPDX-License-Identifier: GPL-2.0-only
//! Restores a machine from its journal. It may be repeated, even after it was stopped half-way.

use crate::affinity::{After, Remembered, after, to_adopt};
use crate::change::PARTITION_FILE;
use crate::journal::{Journal, JournalError};
use crate::machine::ensure_on_machine;
use crate::places::may_be_changed;
use crate::record::{Contents, Header, Record};
use crate::system::{Live, System, TaskId};
use crate::{Change, Format, Verdict, judge};
use dyntick_model::CpuList;
use dyntick_model::text::clean_line;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The result of restoring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Restored {
    /// The number of restored settings.
    pub restored: u64,
    /// The number of settings that were unchanged.
    pub already: u64,
    /// The settings that another program has changed meanwhile, and that were left: each with its value.
    pub theirs: Vec<(String, String)>,
    /// The number of objects that are gone: a thread that has ended, an interrupt that was freed.
    pub gone: u64,
    /// The settings that could not be restored, each with the reason. The journal stays.
    pub failed: Vec<(String, String)>,
    /// The number of processes of the command that had not ended, and are no longer isolated.
    pub released: u64,
    /// Problems of the journal that did not stop the restoration.
    pub notes: Vec<String>,
}

/// Restores the changes of the journal, and removes it; `None` if it has none. If one fails, all others are restored,
/// and the journal stays unchanged, since later steps may undo earlier ones.
///
/// # Errors
/// If the journal cannot be read, or is empty and cannot be removed: nothing is restored.
pub fn restore<S: System>(system: &mut S, mut journal: Journal) -> Result<Option<Restored>, JournalError> {
    let Some(Contents { header, records, cut, unreadable }) = journal.read()? else {
        journal.remove()?;
        return Ok(None);
    };
    let mut restorer = Restorer::new(system, &header, &records);
    restorer.tell_damage(journal.path(), &cut, &unreadable);
    restorer.adopt(&mut journal);
    for record in records.iter().rev() {
        if let Record::Change { change, .. } = record {
            restorer.undo(change);
        }
    }
    restorer.settle_adopted();
    restorer.widen_newcomers();
    let mut restored = restorer.restored;
    if restored.failed.is_empty() {
        if let Err(error) = journal.remove() {
            restored.failed.push(("removal of the journal".to_owned(), error.to_string()));
        }
    }
    Ok(Some(restored))
}

/// Restores the changes of a killed dyntick, if there are any and no other dyntick is at work on them. Needs no
/// privilege if there is nothing to do, and does nothing if it may not look.
pub fn restore_leftover() -> Result<Option<Restored>, JournalError> {
    let path = Journal::default_path();
    if !path.try_exists().unwrap_or(false) {
        return Ok(None);
    }
    ensure_on_machine()?;
    match Journal::take_of_dead(&path) {
        Ok(journal) => restore(&mut Live, journal),
        Err(JournalError::Taken(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

struct Restorer<'a, S> {
    system: &'a mut S,
    header: &'a Header,
    remembered: Remembered,
    /// The threads of interrupts.
    followers: BTreeSet<TaskId>,
    /// The affinities that others have set, by thread.
    adopted: BTreeMap<TaskId, (String, CpuList)>,
    /// The partition, if it still existed.
    partition: Option<PathBuf>,
    /// True if threads were moved one by one.
    moved: bool,
    restored: Restored,
}

impl<'a, S: System> Restorer<'a, S> {
    fn new(system: &'a mut S, header: &'a Header, records: &[Record]) -> Self {
        let mut restorer = Self {
            system,
            header,
            remembered: Remembered::new(),
            followers: BTreeSet::new(),
            adopted: Default::default(),
            partition: None,
            moved: false,
            restored: Restored::default(),
        };
        for record in records {
            match record {
                Record::Change { change: Change::Affinity { tid, start, old, new, follows, .. }, .. } => {
                    let id = TaskId { tid: *tid, start: *start };
                    restorer.remembered.insert(id, (old.clone(), new.clone()));
                    if *follows {
                        restorer.followers.insert(id);
                    }
                    restorer.moved = true;
                }
                Record::Change { change, .. } if !may_be_changed(change) => {}
                Record::Change { change: Change::Partition { folder, .. }, .. } => {
                    // The affinities before it are only recorded; those after it replace it.
                    restorer.moved = false;
                    let exists = restorer.system.read(&folder.join("cgroup.procs")).is_ok();
                    restorer.partition = exists.then(|| folder.clone());
                }
                Record::Adopt { tid, start, comm, cpus } => {
                    let id = TaskId { tid: *tid, start: *start };
                    restorer.adopted.insert(id, (comm.clone(), cpus.clone()));
                }
                Record::Change { .. } => {}
            }
        }
        restorer
    }

    fn tell_damage(&mut self, path: &Path, cut: &[usize], unreadable: &[usize]) {
        let place = |line: &usize| format!("{}:{line}", path.display());
        let half = |line| format!("{}: incomplete record, whose change was not made: skipped", place(line));
        self.restored.notes.extend(cut.iter().map(half));
        let why = "this line is damaged, and what it had changed is not known; inspect it, then delete the \
                   journal to keep the settings as they are";
        self.restored.failed.extend(unreadable.iter().map(|line| (place(line), why.to_owned())));
    }

    /// Records the affinities of others, before the partition is removed and the kernel resets them.
    ///
    /// The record is for the next process, if this one is killed. If it cannot be written, e.g. in a full `/run`,
    /// this process continues without it: waiting would leave everything isolated.
    fn adopt(&mut self, journal: &mut Journal) {
        if self.partition.is_none() {
            return;
        }
        let mut tasks = self.system.tasks();
        tasks.retain(|task| !self.followers.contains(&task.id));
        let mut unwritten: Vec<JournalError> = Vec::new();
        for task in to_adopt(&tasks, &self.remembered, &self.header.online, &self.header.cpus) {
            unwritten.extend(journal.append(&Record::adopt(&task)).err());
            self.adopted.insert(task.id, (task.comm, task.cpus));
        }
        if let Some(error) = unwritten.first() {
            self.restored.notes.push(format!(
                "the affinities of {} threads, which other processes have set meanwhile, were kept in memory \
                 only: {error}",
                unwritten.len()
            ));
        }
    }

    fn undo(&mut self, change: &Change) {
        if !may_be_changed(change) {
            let why = "dyntick isolate never changes this: another program has written to the journal; not restored";
            return self.restored.failed.push((clean_line(&change.target()), why.to_owned()));
        }
        match change {
            Change::Setting { path, format, old, new, via } => {
                self.undo_setting(path, *format, old, new, via.as_deref())
            }
            Change::Affinity { tid, start, comm, .. } => {
                self.undo_affinity(TaskId { tid: *tid, start: *start }, comm)
            }
            Change::Controller { path } => self.undo_controller(path),
            Change::Partition { folder, origin, .. } => self.undo_partition(folder, origin),
            Change::Folders { prefix } => self.remove_all(prefix),
        }
    }

    fn undo_setting(&mut self, path: &Path, format: Format, old: &str, new: &str, via: Option<&str>) {
        let now = match self.system.read(path) {
            Ok(now) => now,
            Err(error) => return self.done(&path.display().to_string(), Err(error)),
        };
        match judge(format, old, new, via, &now) {
            Verdict::Already => self.restored.already += 1,
            Verdict::Theirs(value) => self.restored.theirs.push((path.display().to_string(), value)),
            Verdict::Write(way) => {
                // The old value is written even if the one before it is refused.
                let mut written = Ok(());
                for value in way {
                    let result = self.system.write(path, &value);
                    written = written.and(result);
                }
                self.done(&path.display().to_string(), written);
            }
        }
    }

    fn undo_affinity(&mut self, id: TaskId, comm: &str) {
        if self.adopted.contains_key(&id) {
            return;
        }
        let (Some(now), Some(known)) = (self.system.cpus_of(id), self.remembered.get(&id)) else {
            self.restored.gone += 1;
            return;
        };
        let name = format!("{comm} [{}]", id.tid);
        match after(&now, known, &self.header.online, &self.header.cpus) {
            After::Right => self.restored.already += 1,
            // The kernel has sent it to the CPU of its interrupt.
            After::Theirs if self.followers.contains(&id) => self.restored.already += 1,
            After::Theirs => self.restored.theirs.push((name, now.to_string())),
            After::Set(cpus) => match self.system.set_affinity(id, &cpus) {
                // The kernel binds a new worker only after it has started: it has its CPU from there.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) && self.is_bound(id) => {
                    self.restored.already += 1;
                }
                set => self.done(&name, set),
            },
        }
    }

    /// Returns true if the affinity of a thread cannot be set any more.
    fn is_bound(&self, id: TaskId) -> bool {
        self.system.tasks().iter().any(|task| task.id == id && !task.movable)
    }

    fn undo_controller(&mut self, path: &Path) {
        let Ok(now) = self.system.read(path) else { return self.restored.gone += 1 };
        if !now.split_ascii_whitespace().any(|word| word == "cpuset") {
            return self.restored.already += 1;
        }
        let root = path.parent().unwrap_or(path);
        let used = |group: &Path| {
            let text = self.system.read(&group.join("cpuset.cpus")).unwrap_or_default();
            !text.trim().is_empty()
        };
        match self.system.folders(root).into_iter().find(|group| used(group)) {
            // The partition could not be removed, so this cannot be either.
            Some(user) if self.partition.as_ref() == Some(&user) => {
                self.restored
                    .failed
                    .push((path.display().to_string(), "the partition is still there".to_owned()));
            }
            // Without the controller it would lose the settings that it got meanwhile.
            Some(user) => {
                self.restored
                    .theirs
                    .push((path.display().to_string(), format!("cpuset, for {}", user.display())));
            }
            None => {
                let written = self.system.write(path, "-cpuset");
                self.done(&path.display().to_string(), written);
            }
        }
    }

    fn undo_partition(&mut self, folder: &Path, origin: &Path) {
        if self.system.read(&folder.join("cgroup.procs")).is_err() {
            return self.restored.already += 1;
        }
        let emptied = self.empty(folder, origin);
        // This comes first: a folder's removal returns before the kernel has returned its CPUs.
        let given_back = self.system.write(&folder.join(PARTITION_FILE), "member");
        let result = emptied.and(given_back).and_then(|()| self.system.remove_folder(folder));
        self.done(&folder.display().to_string(), result);
    }

    /// Moves all processes of a group, and of groups in it, back to the group of the command.
    fn empty(&mut self, group: &Path, origin: &Path) -> io::Result<()> {
        for inner in self.system.folders(group) {
            self.empty(&inner, origin)?;
            self.system.remove_folder(&inner)?;
        }
        let home = origin.join("cgroup.procs");
        let home = if self.system.read(&home).is_ok() {
            home
        } else {
            // If that group is gone: to the root, which always accepts them.
            let groups = group.ancestors().map(|group| group.join("cgroup.procs"));
            groups.filter(|procs| self.system.read(procs).is_ok()).last().unwrap_or(home)
        };
        // Processes that fork while they are moved need another round.
        for _ in 0..ROUNDS {
            let members = self.system.read(&group.join("cgroup.procs"))?;
            if members.trim().is_empty() {
                return Ok(());
            }
            let mut moved = Ok(());
            for member in members.lines() {
                match self.system.write(&home, member) {
                    Ok(()) => self.restored.released += 1,
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => moved = Err(error),
                }
            }
            moved?;
        }
        Ok(())
    }

    /// Sets the affinities of others, which the removed partition has reset.
    fn settle_adopted(&mut self) {
        for (id, (comm, cpus)) in std::mem::take(&mut self.adopted) {
            let Some(now) = self.system.cpus_of(id) else { continue };
            let name = format!("{comm} [{}]", id.tid);
            if self.remembered.contains_key(&id) {
                self.restored.theirs.push((name.clone(), cpus.to_string()));
            }
            if now == self.header.online && now != cpus {
                let set = self.system.set_affinity(id, &cpus);
                self.done(&name, set);
            }
        }
    }

    /// Widens threads that were started by threads moved one by one, and have inherited the affinity.
    fn widen_newcomers(&mut self) {
        if !self.moved {
            return;
        }
        let left = self.header.online.difference(&self.header.cpus);
        for task in self.system.tasks() {
            let is_new = task.id.start >= self.header.start && !self.remembered.contains_key(&task.id);
            if is_new && !task.kernel && task.movable && task.cpus == left {
                let set = self.system.set_affinity(task.id, &self.header.online);
                self.done(&format!("{} [{}]", task.comm, task.id.tid), set);
            }
        }
    }

    fn remove_all(&mut self, prefix: &Path) {
        let (Some(parent), Some(name)) = (prefix.parent(), prefix.file_name()) else { return };
        let name = name.as_encoded_bytes();
        let ours = |path: &Path| path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(name));
        for folder in self.system.folders(parent).into_iter().filter(|path| ours(path)) {
            let removed = self.system.remove_folder(&folder);
            self.done(&folder.display().to_string(), removed);
        }
    }

    fn done(&mut self, name: &str, result: io::Result<()>) {
        match result {
            Ok(()) => self.restored.restored += 1,
            Err(error) if is_gone(&error) => self.restored.gone += 1,
            Err(error) => self.restored.failed.push((name.to_owned(), error.to_string())),
        }
    }
}

/// The number of rounds after which emptying a group is given up.
const ROUNDS: u32 = 1000;

/// Returns true if an interrupt was freed, a device or a CPU removed, or a thread has ended.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV | libc::ESRCH))
}
