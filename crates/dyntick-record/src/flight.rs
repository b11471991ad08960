// SPDX-License-Identifier: GPL-2.0-only
//! A flight recorder: always the latest events, read when something has happened.

use crate::file::fits_into_memory;
use crate::watch::Watch;
use crate::{About, Options, Record, RecordError, events};
use dyntick_observe::facts::{Counts, Machine};
use dyntick_observe::thread::now_ns;
use dyntick_observe::trace::{Recording, SessionError, TraceSession};
use std::collections::BTreeMap;

/// What tells about a wake-up beside interruptions.
const MORE: &[&str] = &["power:cpu_idle"];

/// Records some CPUs into a ring in which new events overwrite old ones. Nothing is read, so nothing
/// of this program runs, until [`FlightRecorder::take`].
pub struct FlightRecorder {
    session: TraceSession,
    options: Options,
    machine: Machine,
    watch: Watch,
    since_ns: u64,
}

type Raw = BTreeMap<u32, Vec<u8>>;

/// Pages behind those of the same CPUs.
fn behind(mut raw: Raw, more: &Raw) -> Raw {
    more.iter().for_each(|(cpu, pages)| raw.entry(*cpu).or_default().extend(pages));
    raw
}

/// What was in the ring at one moment.
#[derive(Clone, Debug)]
pub struct Flight {
    raw: Raw,
    window_ns: (u64, u64),
}

impl FlightRecorder {
    /// Starts recording. `buffer_kib` of the options is how much each CPU remembers.
    ///
    /// # Errors
    /// No right to trace, or a CPU that does not run.
    pub fn start(options: Options) -> Result<Self, RecordError> {
        let machine = Machine::read()?;
        let online = machine.cpus.online.clone();
        let missing = options.cpus.difference(&online);
        if !missing.is_empty() {
            return Err(RecordError::NoSuchCpu { missing, online });
        }
        let session = events::session(&options.cpus, &online, options.buffer_kib, MORE)?;
        session.overwrite()?;
        let mut watch = Watch::new();
        watch.look();
        session.start()?;
        Ok(Self { session, options, machine, watch, since_ns: now_ns() })
    }

    /// Takes out what is remembered. Recording goes on meanwhile.
    pub fn take(&mut self) -> Result<Flight, SessionError> {
        let mut raw = Raw::new();
        self.session.drain(&mut raw, fits_into_memory())?;
        let window_ns = (self.since_ns, now_ns());
        self.since_ns = window_ns.1;
        Ok(Flight { raw, window_ns })
    }

    /// Ends recording and makes a record of each flight, with the one before it, so that what goes on
    /// across the taking of one is whole. The state of the machine in them is that of the begin.
    pub fn finish(mut self, flights: Vec<Flight>) -> Result<Vec<Record>, RecordError> {
        self.session.stop()?;
        // What came since the last flight belongs to none of them.
        self.session.drain(&mut Raw::new(), u64::MAX)?;
        self.watch.look();
        // Names are looked up once, for all of them: that takes long.
        let all = flights.iter().fold(Raw::new(), |all, flight| behind(all, &flight.raw));
        let metadata = self.session.read_behind(all)?.metadata;
        let mut records = Vec::new();
        for (number, flight) in flights.iter().enumerate() {
            let before = number.checked_sub(1).map(|before| &flights[before]);
            let raw = before.map_or_else(Raw::new, |before| before.raw.clone());
            let recording = Recording { metadata: metadata.clone(), raw: behind(raw, &flight.raw) };
            let window_ns = (before.unwrap_or(flight).window_ns.0, flight.window_ns.1);
            let about = About {
                cpus: self.options.cpus.clone(),
                window_ns,
                command: self.options.command.clone(),
                machine: self.machine.clone(),
                threads: self.watch.threads.clone(),
                owners: self.watch.owners.clone(),
                counts: (Counts::default(), Counts::default()),
                notes: Vec::new(),
            };
            records.push(Record { about, recording });
        }
        Ok(records)
    }
}
