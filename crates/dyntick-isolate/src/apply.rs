// SPDX-License-Identifier: GPL-2.0-only
//! The execution of a plan: each change is made after it was written to the journal.

use crate::change::{FAIR_SERVERS, PARTITION_FILE};
use crate::journal::{Journal, JournalError};
use crate::record::Record;
use crate::system::{System, TaskId};
use crate::{Change, PartitionKind, Plan, Step};
use dyntick_model::CpuList;
use std::io;
use std::path::{Path, PathBuf};

/// The result of applying a plan.
#[derive(Debug, Default)]
pub struct Applied {
    /// The changes that were made.
    pub made: Vec<Step>,
    /// The refused changes, with the reasons.
    pub refused: Vec<(Step, String)>,
    /// The partition that the command joins, if there is one.
    pub partition: Option<PathBuf>,
    /// The reason why there is none.
    pub no_partition: Option<String>,
}

/// The reason why applying ended early. The changes so far are in the journal.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A change could not be journaled, so it was not made.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The user has asked to end.
    #[error("stopped while isolating")]
    Stopped,
}

/// Makes the changes. `stopped` is called before each.
pub fn apply<S: System>(
    system: &mut S,
    journal: &mut Journal,
    plan: &Plan,
    stopped: &dyn Fn() -> bool,
) -> Result<Applied, ApplyError> {
    let mut applier = Applier { system, journal, stopped, applied: Applied::default() };
    plan.first.iter().try_for_each(|step| applier.make(step))?;
    applier.applied.no_partition = plan.no_partition.clone();
    if !plan.partition.is_empty() {
        plan.guarded.iter().try_for_each(|step| applier.note(step))?;
        plan.partition.iter().try_for_each(|step| applier.make(step))?;
        plan.guarded.iter().for_each(|step| applier.settle(step));
    }
    if applier.applied.partition.is_none() {
        plan.moved.iter().try_for_each(|step| applier.make(step))?;
    }
    plan.last.iter().try_for_each(|step| applier.make(step))?;
    Ok(applier.applied)
}

struct Applier<'a, S> {
    system: &'a mut S,
    journal: &'a mut Journal,
    stopped: &'a dyn Fn() -> bool,
    applied: Applied,
}

impl<S: System> Applier<'_, S> {
    fn note(&mut self, step: &Step) -> Result<(), ApplyError> {
        if (self.stopped)() {
            return Err(ApplyError::Stopped);
        }
        Ok(self.journal.append(&Record::Change { subject: step.subject, change: step.change.clone() })?)
    }

    fn make(&mut self, step: &Step) -> Result<(), ApplyError> {
        self.note(step)?;
        match make(self.system, &step.change) {
            Ok(()) => {
                if let Change::Partition { folder, .. } = &step.change {
                    self.applied.partition = Some(folder.clone());
                }
                self.applied.made.push(step.clone());
            }
            Err(reason) => match step.change {
                Change::Partition { .. } => self.applied.no_partition = Some(reason),
                // A thread that has ended needs no affinity.
                Change::Affinity { .. } if reason == GONE => {}
                // A managed interrupt that goes to another CPU (`via` is for those that go to an isolated one).
                Change::Setting { via: None, .. } if reason == UNMOVABLE => {}
                _ => self.applied.refused.push((step.clone(), reason)),
            },
        }
        Ok(())
    }

    /// Sets a journaled affinity, unless the partition has already set it.
    fn settle(&mut self, step: &Step) {
        let follows = matches!(step.change, Change::Affinity { follows: true, .. });
        if self.applied.partition.is_none() || follows {
            return;
        }
        match make(self.system, &step.change) {
            Ok(()) => self.applied.made.push(step.clone()),
            Err(reason) if reason == GONE => {}
            Err(reason) => self.applied.refused.push((step.clone(), reason)),
        }
    }
}

/// Writes to a file, to a fair server's runtime only while the server runs. 6.12 stops a CPU's fair server when its
/// runtime is written, even one that does not run, with a kernel warning and a wrong account as result
/// (`kernel/sched/deadline.c: dl_server_stop, task_non_contending`). An ordinary task keeps it running. A server whose
/// runtime is 0 may be written at any time.
fn write(system: &mut impl System, path: &Path, text: &str) -> io::Result<()> {
    match fair_server_of(path) {
        Some(cpu) => system.write_while_busy(cpu, path, text),
        None => system.write(path, text),
    }
}

fn fair_server_of(path: &Path) -> Option<u32> {
    let cpu = path.strip_prefix(FAIR_SERVERS).ok()?.components().next()?;
    cpu.as_os_str().to_str()?.strip_prefix("cpu")?.parse().ok()
}

const GONE: &str = "it has ended";
const UNMOVABLE: &str = "it cannot be moved: the kernel manages it (isolcpus=managed_irq at boot keeps those away), or its affinity is fixed";

fn make(system: &mut impl System, change: &Change) -> Result<(), String> {
    match change {
        Change::Setting { path, old, new, format, .. } => {
            if format.same(old, new) {
                Ok(())
            } else {
                write(system, path, new).map_err(|error| refusal(path, &error))
            }
        }
        Change::Affinity { tid, start, new, .. } => {
            let id = TaskId { tid: *tid, start: *start };
            system.set_affinity(id, new).map_err(|error| match error.raw_os_error() {
                Some(libc::ESRCH) => GONE.to_owned(),
                _ => error.to_string(),
            })
        }
        Change::Controller { path } => system.write(path, "+cpuset").map_err(|error| refusal(path, &error)),
        Change::Partition { folder, cpus, kind, .. } => partition(system, folder, cpus, *kind),
        // The caller makes them, once they are in the journal.
        Change::Folders { .. } => Ok(()),
    }
}

fn partition(
    system: &mut impl System,
    folder: &Path,
    cpus: &CpuList,
    kind: PartitionKind,
) -> Result<(), String> {
    let made = system.make_folder(folder).map_err(|error| refusal(folder, &error));
    let became = made.and_then(|()| {
        let mut write = |file: &str, text: &str| {
            let path = folder.join(file);
            system.write(&path, text).map_err(|error| format!("{file}: {error}"))
        };
        write("cpuset.cpus", &cpus.to_string())?;
        write(PARTITION_FILE, kind.kernel_name())?;
        // The kernel accepts the word, and only this read shows if it is in effect.
        system.read(&folder.join(PARTITION_FILE)).map_err(|error| refusal(folder, &error))
    });
    let result = match became {
        Ok(became) if became.trim() == kind.kernel_name() => return Ok(()),
        Ok(became) => Err(format!("the kernel does not make these CPUs a partition: {}", became.trim())),
        Err(reason) => Err(reason),
    };
    let _ = system.write(&folder.join(PARTITION_FILE), "member");
    let _ = system.remove_folder(folder);
    result
}

fn refusal(path: &Path, error: &io::Error) -> String {
    let of_interrupt = path.starts_with("/proc/irq");
    match error.raw_os_error() {
        // Kernels before 6.12 return EIO (`kernel/irq/proc.c: write_irq_affinity`).
        Some(libc::EIO | libc::EPERM) if of_interrupt => UNMOVABLE.to_owned(),
        _ => error.to_string(),
    }
}
