// SPDX-License-Identifier: GPL-2.0-only
//! A flight recorder of the latest events, read after an incident.

use crate::task_names::Watch;
use crate::trace::fits_into_memory;
use crate::{About, Options, Record, RecordError, Trace, events};
use dyntick_model::CpuList;
use dyntick_observe::facts::{Counts, Machine};
use dyntick_observe::thread::now_ns;
use dyntick_observe::trace::{SessionError, TraceSession, names_of};
use dyntick_trace::{Metadata, Recording, Scanner};
use std::collections::BTreeMap;

/// The events that explain a wake-up in addition to those of interruptions.
const MORE: &[&str] = &["power:cpu_idle"];

/// A recording of some CPUs into a ring in which new events overwrite old ones. Nothing is read before
/// [`FlightRecorder::take`], so nothing of this program runs meanwhile.
pub struct FlightRecorder {
    session: TraceSession,
    options: Options,
    machine: Machine,
    watch: Watch,
    since_ns: u64,
    /// The last page of each CPU that was read.
    last: Raw,
}

type Raw = BTreeMap<u32, Vec<u8>>;

/// Appends pages to those of the same CPUs.
fn behind(mut raw: Raw, more: &Raw) -> Raw {
    more.iter().for_each(|(cpu, pages)| raw.entry(*cpu).or_default().extend(pages));
    raw
}

/// The contents of the ring at one moment.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    raw: Raw,
    /// The previous page of each CPU, however old: it shows what the CPU did when this flight began.
    before: Raw,
    window_ns: (u64, u64),
}

impl Flight {
    /// Its size in memory, bytes.
    pub fn bytes(&self) -> u64 {
        self.raw.values().chain(self.before.values()).map(|pages| pages.len() as u64).sum()
    }

    /// The end of its events, ns of CLOCK_MONOTONIC.
    pub fn end_ns(&self) -> u64 {
        self.window_ns.1
    }

    /// Creates a flight without events that ended then.
    #[cfg(test)]
    pub(crate) fn ended(end_ns: u64) -> Self {
        Self { window_ns: (0, end_ns), ..Self::default() }
    }
}

impl FlightRecorder {
    /// Starts recording. `buffer_kib` of the options is the size of each CPU's ring.
    ///
    /// # Errors
    /// A missing permission to trace, or a CPU that is not online.
    pub fn start(options: Options) -> Result<Self, RecordError> {
        let machine = options.machine()?;
        let online = machine.cpus.online.clone();
        let session = events::session(&options.cpus, &online, options.buffer_kib, MORE)?;
        session.overwrite()?;
        let mut watch = Watch::new();
        watch.look();
        session.start()?;
        Ok(Self { session, options, machine, watch, since_ns: now_ns(), last: Raw::new() })
    }

    /// Reads the ring. Recording goes on meanwhile.
    pub fn take(&mut self) -> Result<Flight, SessionError> {
        let mut raw = Raw::new();
        self.session.drain(&mut raw, fits_into_memory())?;
        let window_ns = (self.since_ns, now_ns());
        self.since_ns = window_ns.1;
        let before = self.last.clone();
        for (cpu, pages) in raw.iter().filter(|(_, pages)| !pages.is_empty()) {
            let page = pages.len().saturating_sub(rustix::param::page_size());
            self.last.insert(*cpu, pages[page..].to_vec());
        }
        Ok(Flight { raw, before, window_ns })
    }

    /// Ends recording. `flights` are those that will become records.
    ///
    /// # Errors
    /// A failure to read the kernel's files.
    pub fn finish<'f>(
        mut self,
        flights: impl Iterator<Item = &'f Flight>,
    ) -> Result<FlightRecords, RecordError> {
        self.session.stop()?;
        self.watch.look();
        let mut metadata = self.session.metadata()?;
        // Names are looked up once for all, because that takes long.
        let mut scanner = Scanner::new(&metadata.formats)?;
        for pages in flights.flat_map(|flight| flight.before.values().chain(flight.raw.values())) {
            scanner.scan(pages, metadata.page_size);
        }
        metadata.symbols = names_of(scanner.addresses())?;
        let about = About {
            cpus: self.options.cpus,
            window_ns: (0, 0),
            command: self.options.command,
            process: None,
            recorder: Some(std::process::id() as i32),
            machine: self.machine,
            idle: None,
            threads: self.watch.threads,
            owners: self.watch.owners,
            counts: (Counts::default(), Counts::default()),
            offline: CpuList::default(),
            notes: Vec::new(),
            ended: None,
            mappings: BTreeMap::new(),
            trigger: None,
            foreign: None,
        };
        Ok(FlightRecords { metadata, about })
    }
}

/// The common parts of flights, from which records are made. They have the machine's state at the begin.
pub struct FlightRecords {
    metadata: Metadata,
    about: About,
}

impl FlightRecords {
    /// Makes a record of consecutive flights; `None` if there are none.
    pub fn record<'f>(&self, flights: impl Iterator<Item = &'f Flight>) -> Option<Record> {
        let mut flights = flights.peekable();
        let first = flights.peek()?;
        let (mut window_ns, mut raw) = (first.window_ns, first.before.clone());
        for flight in flights {
            raw = behind(raw, &flight.raw);
            window_ns.1 = flight.window_ns.1;
        }
        let recording = Recording { metadata: self.metadata.clone(), raw };
        Some(Record { about: About { window_ns, ..self.about.clone() }, trace: Trace::of(recording) })
    }
}
