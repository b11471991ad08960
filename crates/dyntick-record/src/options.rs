// SPDX-License-Identifier: GPL-2.0-only
//! What is to be recorded, and why it could not be.

use crate::trace::fits_into_memory;
use crate::{Conditions, FileError, Record};
use dyntick_model::CpuList;
use dyntick_observe::facts::{FactsError, Machine};
use dyntick_observe::trace::{FormatError, SessionError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct Options {
    /// The CPUs.
    pub cpus: CpuList,
    /// Trace buffer of each of them, KiB. The others have at most 2 MiB.
    pub buffer_kib: u32,
    /// The record has at most so many bytes, and what is known at its end.
    pub most_bytes: u64,
    /// In which folder the record is until it is kept or given up; it has no name there.
    pub folder: PathBuf,
    /// The command that will run, to be printed with the findings.
    pub command: Vec<String>,
    /// Where those were who cause interruptions is recorded too.
    pub stacks: bool,
    /// Only what came last is kept. `most_bytes` is then what it takes at most, and older events give way.
    pub last: Option<LastSeconds>,
}

impl Options {
    /// These CPUs, into a file in the folder for temporary ones, which may be memory: so it is limited by that.
    pub fn new(cpus: CpuList) -> Self {
        let (folder, most_bytes) = (std::env::temp_dir(), fits_into_memory());
        Self {
            cpus,
            buffer_kib: Self::BUFFER_KIB,
            most_bytes,
            folder,
            command: Vec::new(),
            stacks: false,
            last: None,
        }
    }

    /// The machine's state, where all these CPUs run.
    pub(crate) fn machine(&self) -> Result<Machine, RecordError> {
        let machine = Machine::read()?;
        let online = &machine.cpus.online;
        let missing = self.cpus.difference(online);
        match missing.is_empty() {
            true => Ok(machine),
            false => Err(RecordError::NoSuchCpu { missing, online: online.clone() }),
        }
    }

    /// Some 200 000 events: what a busy CPU records in half a second.
    pub const BUFFER_KIB: u32 = 8192;
}

/// What is kept, and when a snapshot of it is taken.
#[derive(Clone, Debug)]
pub struct LastSeconds {
    /// How much.
    pub last: Duration,
    /// When.
    pub when: Conditions,
    /// How often at most; a signal is always heeded.
    pub most_snapshots: u32,
    /// The name of the record. Snapshots have a number in theirs ([`crate::snapshot_name`]).
    pub file: PathBuf,
    /// Is told of each snapshot, and whether it could be kept.
    pub taken: fn(&Path, &Result<Record, RecordError>),
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The trace.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The machine's state.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// No thread for emptying the buffers.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The record could not be written.
    #[error("cannot write the record: {0}")]
    Write(std::io::Error),
    /// An event whose layout is not understood.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A snapshot could not be kept.
    #[error(transparent)]
    Keep(#[from] FileError),
    /// What was written is no record.
    #[error("the record is damaged: {0}")]
    Damaged(String),
    /// A command could not be started.
    #[error("cannot start {0}: {1}")]
    Start(String, std::io::Error),
    /// No command at all.
    #[error("no command to run")]
    NoCommand,
    /// A process that is not there.
    #[error("there is no process {0}")]
    NoProcess(i32),
    /// A CPU that does not run.
    #[error("CPU {missing} is not online; online: {online}")]
    NoSuchCpu {
        /// Those that were asked for and do not run.
        missing: CpuList,
        /// Those that run.
        online: CpuList,
    },
}
