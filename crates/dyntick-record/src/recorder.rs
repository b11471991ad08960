// SPDX-License-Identifier: GPL-2.0-only
//! Recording.

use crate::quiet::OutOfTheWay;
use crate::watch::Watch;
use crate::{About, Record, events};
use dyntick_model::CpuList;
use dyntick_observe::facts::{Counts, FactsError, Machine};
use dyntick_observe::thread::now_ns;
use dyntick_observe::trace::{SessionError, TraceSession};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often the buffers are emptied.
const DRAIN: Duration = Duration::from_millis(100);

/// What is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The CPUs.
    pub cpus: CpuList,
    /// Trace buffer of each CPU, KiB. It is emptied ten times a second.
    pub buffer_kib: u32,
    /// The command that will run, to be told with the findings.
    pub command: Vec<String>,
}

impl Options {
    /// These CPUs, with a buffer that holds some 200 000 events a second and CPU.
    pub fn new(cpus: CpuList) -> Self {
        Self { cpus, buffer_kib: 2048, command: Vec::new() }
    }
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
    /// A command could not be started.
    #[error("cannot start {0}: {1}")]
    Start(String, std::io::Error),
    /// No command at all.
    #[error("there is no command to run")]
    NoCommand,
    /// A process that is not there.
    #[error("there is no process {0}")]
    NoProcess(i32),
    /// A CPU that does not run.
    #[error("CPU {missing} is not online; online are {online}")]
    NoSuchCpu {
        /// Those that were asked for and do not run.
        missing: CpuList,
        /// Those that run.
        online: CpuList,
    },
}

/// Records these CPUs for as long as `during` takes, and returns its result too. This thread keeps
/// off them, unless they are all; a process that `during` starts inherits that, so it must be given
/// the CPUs on which it shall run.
pub fn record<T>(options: &Options, during: impl FnOnce() -> T) -> Result<(Record, T), RecordError> {
    let machine = Machine::read()?;
    let online = machine.cpus.online.clone();
    let missing = options.cpus.difference(&online);
    if !missing.is_empty() {
        return Err(RecordError::NoSuchCpu { missing, online });
    }
    let away = OutOfTheWay::to(&online.difference(&options.cpus));
    let notes = (!away.worked()).then(|| "dyntick itself ran on the recorded CPUs".to_owned());
    let session = events::session(&options.cpus, &online, options.buffer_kib, &[])?;
    let mut watch = Watch::new();
    watch.look();
    let before = Counts::read(&options.cpus);
    let (raw, window_ns, result) = traced(&session, &mut watch, during)?;
    let counts = (before, Counts::read(&options.cpus));
    watch.look();
    let recording = session.read_behind(raw)?;
    let about = About {
        cpus: options.cpus.clone(),
        window_ns,
        command: options.command.clone(),
        machine,
        threads: watch.threads,
        owners: watch.owners,
        counts,
        notes: notes.into_iter().collect(),
    };
    Ok((Record { about, recording }, result))
}

type Raw = BTreeMap<u32, Vec<u8>>;

/// Traces while `during` runs; another thread empties the buffers meanwhile.
fn traced<T>(
    session: &TraceSession,
    watch: &mut Watch,
    during: impl FnOnce() -> T,
) -> Result<(Raw, (u64, u64), T), SessionError> {
    let (end, ended) = channel();
    std::thread::scope(|scope| {
        let drain = scope.spawn(move || drain(session, watch, &ended));
        session.start()?;
        let begin = now_ns();
        let result = during();
        let window = (begin, now_ns());
        session.stop()?;
        drop(end);
        let raw = drain.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((raw, window, result))
    })
}

fn drain(session: &TraceSession, watch: &mut Watch, ended: &Receiver<()>) -> Result<Raw, SessionError> {
    let mut raw = Raw::new();
    while ended.recv_timeout(DRAIN) == Err(RecvTimeoutError::Timeout) {
        session.drain(&mut raw)?;
        watch.look_if_due();
    }
    Ok(raw)
}
