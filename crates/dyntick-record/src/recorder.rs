// SPDX-License-Identifier: GPL-2.0-only
//! Recording.

use crate::file::fits_into_memory;
use crate::quiet::OutOfTheWay;
use crate::watch::Watch;
use crate::{About, Record, events};
use dyntick_model::CpuList;
use dyntick_observe::facts::{Counts, FactsError, Machine};
use dyntick_observe::thread::now_ns;
use dyntick_observe::trace::{SessionError, TraceSession, records_in, room_for_events};
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
    let mut notes: Vec<String> = Vec::new();
    notes.extend((!away.worked()).then(|| "dyntick itself ran on the recorded CPUs".to_owned()));
    let session = events::session(&options.cpus, &online, options.buffer_kib, &[])?;
    let mut watch = Watch::new();
    watch.look();
    let before = Counts::read(&options.cpus);
    let room = Room::for_record(options);
    let (recorded, window_ns, result) = traced(&session, &mut watch, room, during)?;
    notes.extend(room.is_full(&recorded).then(|| {
        let seconds = (window_ns.1 - window_ns.0) as f64 / 1e9;
        format!(
            "recording ended after {seconds:.1} s, with {} MiB of trace pages and {} events: this machine's \
             memory is not enough to explain more; the counts of /proc/interrupts are of the complete time",
            bytes_of(&recorded.raw) >> 20,
            recorded.events
        )
    }));
    let counts = (before, Counts::read(&options.cpus));
    watch.look();
    let recording = session.read_behind(recorded.raw)?;
    let about = About {
        cpus: options.cpus.clone(),
        window_ns,
        command: options.command.clone(),
        machine,
        threads: watch.threads,
        owners: watch.owners,
        counts,
        notes,
    };
    Ok((Record { about, recording }, result))
}

type Raw = BTreeMap<u32, Vec<u8>>;

/// How much may be recorded so that `explain` can read the record here: what is in the buffers when that is reached
/// comes to it, and texts.
#[derive(Clone, Copy)]
struct Room {
    bytes: u64,
    events: u64,
}

impl Room {
    fn for_record(options: &Options) -> Self {
        const TEXTS: u64 = 16 << 20;
        /// Where pages are full of the shortest events that a kernel writes, bytes of each.
        const SHORTEST_EVENT: u64 = 12;
        let buffers = (u64::from(options.buffer_kib) << 10) * options.cpus.len() as u64;
        let without = |all: u64, left: u64| all.saturating_sub(left).max(all / 4);
        Self {
            bytes: without(fits_into_memory(), buffers + TEXTS),
            events: without(room_for_events(), buffers / SHORTEST_EVENT),
        }
    }

    fn is_full(&self, recorded: &Recorded) -> bool {
        bytes_of(&recorded.raw) >= self.bytes || recorded.events >= self.events
    }
}

/// What was recorded up to now.
#[derive(Default)]
struct Recorded {
    raw: Raw,
    events: u64,
    /// How many bytes of each CPU's pages are counted in `events`.
    counted: BTreeMap<u32, usize>,
}

impl Recorded {
    /// Counts the events of the pages that came since this was done before.
    fn count(&mut self) {
        for (cpu, pages) in &self.raw {
            let counted = self.counted.entry(*cpu).or_default();
            self.events += records_in(&pages[*counted..], rustix::param::page_size());
            *counted = pages.len();
        }
    }
}

fn bytes_of(raw: &Raw) -> u64 {
    raw.values().map(|pages| pages.len() as u64).sum()
}

/// Traces while `during` runs; another thread empties the buffers meanwhile. It ends tracing, and with it the
/// window, where there is no more room.
fn traced<T>(
    session: &TraceSession,
    watch: &mut Watch,
    room: Room,
    during: impl FnOnce() -> T,
) -> Result<(Recorded, (u64, u64), T), SessionError> {
    let (end, ended) = channel();
    std::thread::scope(|scope| {
        let drain = scope.spawn(move || drain(session, watch, room, &ended));
        session.start()?;
        let begin = now_ns();
        let result = during();
        let whole = now_ns();
        session.stop()?;
        drop(end);
        let (recorded, full) = drain.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((recorded, (begin, full.unwrap_or(whole)), result))
    })
}

/// Empties the buffers until all has ended. Returns what was in them, and when there was no more room.
fn drain(
    session: &TraceSession,
    watch: &mut Watch,
    room: Room,
    ended: &Receiver<()>,
) -> Result<(Recorded, Option<u64>), SessionError> {
    let (mut recorded, mut full) = (Recorded::default(), None);
    while ended.recv_timeout(DRAIN) == Err(RecvTimeoutError::Timeout) {
        if full.is_none() {
            session.drain(&mut recorded.raw, room.bytes)?;
            recorded.count();
            if room.is_full(&recorded) {
                session.stop()?;
                full = Some(now_ns());
            }
        }
        watch.look_if_due();
    }
    Ok((recorded, full))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with one event of one word.
    fn page() -> Vec<u8> {
        let mut page = vec![0; rustix::param::page_size()];
        (page[8], page[16]) = (8, 1);
        page
    }

    #[test]
    fn a_record_ends_at_as_many_events_as_can_be_explained() {
        let room = Room { bytes: u64::MAX, events: 3 };
        let mut recorded = Recorded::default();
        for events in 1..=3 {
            assert!(!room.is_full(&recorded), "{events}");
            recorded.raw.entry(events % 2).or_default().extend(page());
            recorded.count();
            assert_eq!(recorded.events, u64::from(events), "each page is counted once");
        }
        assert!(room.is_full(&recorded));
    }

    #[test]
    fn room_is_left_for_what_is_in_the_buffers() {
        let mut options = Options::new(CpuList::first(1));
        options.buffer_kib = 1 << 10;
        let small = Room::for_record(&options);
        options.buffer_kib = 8 << 10;
        let large = Room::for_record(&options);
        assert!(large.events < small.events && small.events < room_for_events());
    }
}
