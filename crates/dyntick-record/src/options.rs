// SPDX-License-Identifier: GPL-2.0-only
//! The options of a recording, and its errors.

use crate::this_machine;
use crate::trace::fits_into_memory;
use crate::{Conditions, FileError, Record};
use dyntick_model::CpuList;
use dyntick_observe::facts::{FactsError, Machine};
use dyntick_observe::trace::SessionError;
use dyntick_trace::FormatError;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options of a recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// The CPUs.
    pub cpus: CpuList,
    /// The trace buffer of each of them, KiB. The other CPUs have at most 2 MiB.
    pub buffer_kib: u32,
    /// The maximum size of the record, bytes, without the parts that are written at its end.
    pub most_bytes: u64,
    /// The folder of the record until it is kept or dropped; it has no name there.
    pub folder: PathBuf,
    /// The command that will run, to be printed with the findings.
    pub command: Vec<String>,
    /// True if the call stacks of those that cause interruptions are recorded, too.
    pub stacks: bool,
    /// True if the ends of page faults are recorded, by a probe: if the recording is about a command or a process.
    pub faults: bool,
    /// True if system calls are recorded: two events for each.
    pub system_calls: bool,
    /// True if idle states are recorded: two events for each sleep.
    pub idle: bool,
    /// The options of `--last`, with which only the last seconds are kept. `most_bytes` is then the maximum size of the
    /// ring, in which new events replace older ones.
    pub last: Option<LastSeconds>,
}

impl Options {
    /// Creates options for these CPUs. The file is in the folder for temporary files, which may be in memory, so its
    /// size is limited by that.
    pub fn new(cpus: CpuList) -> Self {
        let (folder, most_bytes) = (std::env::temp_dir(), fits_into_memory());
        Self {
            cpus,
            buffer_kib: Self::BUFFER_KIB,
            most_bytes,
            folder,
            command: Vec::new(),
            stacks: false,
            faults: false,
            system_calls: false,
            idle: false,
            last: None,
        }
    }

    /// The machine's state, if all these CPUs are online.
    pub(crate) fn machine(&self) -> Result<Machine, RecordError> {
        let machine = this_machine()?;
        let online = &machine.cpus.online;
        let missing = self.cpus.difference(online);
        if missing.is_empty() {
            Ok(machine)
        } else {
            Err(RecordError::NoSuchCpu { missing, online: online.clone() })
        }
    }

    /// The default trace buffer, KiB: some 200 000 events, or half a second of a busy CPU.
    pub const BUFFER_KIB: u32 = 8192;
}

/// The options of `--last`.
#[derive(Clone, Debug)]
pub struct LastSeconds {
    /// The time that is kept.
    pub last: Duration,
    /// The conditions for a snapshot.
    pub when: Conditions,
    /// The maximum number of snapshots; those that a signal requests do not count.
    pub most_snapshots: u32,
    /// The name of the record. Names of snapshots have a number ([`crate::snapshot_name`]).
    pub file: PathBuf,
    /// Called after each snapshot with its result.
    pub taken: fn(&Path, &Result<Record, RecordError>),
}

/// An error of a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// An error of tracing.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// An error of reading the machine's state.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The record could not be written.
    #[error("cannot write the record: {0}")]
    Write(std::io::Error),
    /// An event with an unknown layout.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A snapshot could not be kept.
    #[error(transparent)]
    Keep(#[from] FileError),
    /// The written file is not a record.
    #[error("the record is damaged: {0}")]
    Damaged(String),
    /// A command could not be started.
    #[error("cannot start {0}: {1}")]
    Start(String, std::io::Error),
    /// An empty command.
    #[error("no command to run")]
    NoCommand,
    /// A process that does not exist.
    #[error("there is no process {0}")]
    NoProcess(i32),
    /// A CPU that is not online.
    #[error("CPU {missing} is not online; online: {online}")]
    NoSuchCpu {
        /// The requested CPUs that are not online.
        missing: CpuList,
        /// The online CPUs.
        online: CpuList,
    },
}
