// SPDX-License-Identifier: GPL-2.0-only
//! Reading the files of a run's folder, with limits on each and on all.

use super::StoreError;
use crate::emulator::records;
use crate::figures::{self, FileCount};
use crate::idle::{self, Limits, RunIdle};
use crate::names::{RAW, RUN, STOLEN, TIMING};
use crate::plan::Plan;
use crate::profiles::{self, RunProfile};
use crate::qemu::Stolen;
use dyntick_formats::qperf;
use dyntick_guest::{MAILBOX_BYTES, Moment, Outcome, piece_of_file, pieces, received};
use dyntick_model::text::shortened;
use dyntick_model::{Clock, Event};
use dyntick_observe::counters::Counters;
use dyntick_study::{Case, is_id};
use dyntick_system::read_beneath;
use dyntick_trace::{DecodeError, Decoded, Recording, room_for_events};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

/// Files that a case may read; a study names a few.
const MOST_FILES: u64 = 256;

/// The memory of all numbers in the files that a case reads, bytes.
pub(super) const MOST_OF_NUMBERS: usize = 256 << 20;

/// The memory of a number of a file, as a count and as a figure, without its two keys, bytes.
const OF_NUMBER: usize = 256;

/// The number of times that reading a run reads the bytes of a file, at most: each file fits into the guest's mailbox
/// with all others.
const READINGS: u64 = 3;

/// A run's folder. No more of it is read than what a guest can send.
pub(super) struct Files<'a> {
    /// The run's folder as users know it.
    pub(super) folder: &'a Path,
    /// The path by which its files are opened.
    pub(super) place: &'a Path,
    /// The number of bytes that may still be read of files that are held.
    left: Cell<u64>,
}

impl<'a> Files<'a> {
    /// The files of the run that users know by `folder`, opened in `place`.
    pub(super) fn of(folder: &'a Path, place: &'a Path) -> Self {
        Self { folder, place, left: Cell::new(READINGS * MAILBOX_BYTES) }
    }
}

impl Files<'_> {
    /// An error about a file, whose reason may quote it.
    pub(super) fn damaged(&self, name: &str, reason: impl std::fmt::Display) -> StoreError {
        const LONGEST_REASON: usize = 500;
        StoreError::Damaged {
            path: self.folder.join(name),
            reason: shortened(&reason.to_string(), LONGEST_REASON),
        }
    }

    /// The events, as far as there is memory for them.
    pub(super) fn decoded(&self, recording: &Recording) -> Result<Decoded, StoreError> {
        let path = self.folder.to_owned();
        recording.decode(room_for_events(dyntick_system::memory())).map_err(|error| match error {
            DecodeError::TooMany { events, most } => StoreError::TooManyEvents { path, events, most },
            source => StoreError::Decode { path, source },
        })
    }

    /// A file of which something is kept.
    pub(super) fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let bytes = self.whole(name, MAILBOX_BYTES.min(self.left.get()))?;
        self.left.set(self.left.get() - bytes.len() as u64);
        Ok(bytes)
    }

    pub(super) fn whole(&self, name: &str, limit: u64) -> Result<Vec<u8>, StoreError> {
        // Many links to one large file would be a small run that takes any memory.
        read_beneath(self.place, Path::new(name), limit).map_err(|error| self.damaged(name, error.reason()))
    }

    /// A handful of numbers, and outside of the seal.
    pub(super) fn timing(&self) -> Result<BTreeMap<String, f64>, StoreError> {
        const LARGEST: u64 = 64 << 10;
        serde_json::from_slice(&self.whole(TIMING, LARGEST)?).map_err(|error| self.damaged(TIMING, error))
    }

    pub(super) fn text(&self, name: &str) -> Result<String, StoreError> {
        self.bytes(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        serde_json::from_slice(&self.bytes(name)?).map_err(|error| self.damaged(name, error))
    }

    pub(super) fn toml<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        /// Each byte of it takes up to a hundred of memory.
        const LARGEST: u64 = 1 << 20;
        let bytes = self.whole(name, LARGEST)?;
        let text = String::from_utf8_lossy(&bytes);
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = 1 + before.matches('\n').count();
            self.damaged(name, format_args!("line {line}: {}", error.message()))
        })
    }

    /// The plan of the run. An untrusted run may come with a case that no study could have.
    pub(super) fn plan(&self) -> Result<Plan, StoreError> {
        let plan: Plan = self.toml(RUN)?;
        let within = |key: &str, number: u64, range: std::ops::RangeInclusive<u64>| {
            let problem = || format!("{key}: {number} is not from {} to {}", range.start(), range.end());
            if range.contains(&number) { Ok(()) } else { Err(self.damaged(RUN, problem())) }
        };
        within("case.cpus", plan.case.cpus.into(), 1..=Case::MOST_CPUS.into())?;
        // A kernel whose configuration is unknown has 0 here.
        within("hz", plan.hz.into(), 0..=10_000)?;
        within("packages of case", plan.case.packages.len() as u64, 0..=Case::MOST_PACKAGES as u64)?;
        within("tasks of case", plan.case.tasks.len() as u64, 0..=Case::MOST_TASKS as u64)?;
        within("calls of case", plan.case.calls.len() as u64, 0..=Case::MOST_CALLS as u64)?;
        within("figures of case", plan.case.figures.len() as u64, 0..=Case::MOST_FIGURES as u64)?;
        if !is_id(&plan.case.id) || !is_id(&plan.case.name) {
            return Err(self.damaged(RUN, "case: its id and name must be one line each"));
        }
        for (key, text, most) in plan.texts() {
            within(&format!("bytes of {key}"), text.len() as u64, 0..=most)?;
        }
        within("files of case.read", plan.case.read.len() as u64, 0..=MOST_FILES)?;
        Ok(plan)
    }

    /// A piece that the guest sent, as far as it can be true.
    pub(super) fn said<T: serde::de::DeserializeOwned>(
        &self,
        piece: &str,
        accept: impl FnOnce(T) -> Result<T, String>,
    ) -> Result<T, StoreError> {
        let name = format!("{RAW}/{piece}");
        accept(self.json(&name)?).map_err(|reason| self.damaged(&name, reason))
    }

    /// The increase over the window of the numbers in the files that the case reads.
    pub(super) fn read_by(&self, case: &Case) -> Result<Vec<FileCount>, StoreError> {
        let (mut counts, mut held) = (Vec::new(), 0);
        for path in case.read.iter().filter(|path| !records::is_file(path)) {
            let at = |moment| self.text(&format!("{RAW}/{}", piece_of_file(path, moment)));
            let (before, after) = (at(Moment::Before)?, at(Moment::After)?);
            let grown = Counters::parse(&after).since(&Counters::parse(&before));
            let of_number = |(name, _, _): &(String, Option<u32>, i64)| {
                OF_NUMBER + 2 * figures::file_key(path, name).len()
            };
            held += grown.iter().map(of_number).sum::<usize>();
            if held > MOST_OF_NUMBERS {
                let why =
                    format!("the numbers in the files of case.read take more than {MOST_OF_NUMBERS} bytes");
                return Err(self.damaged(RAW, why));
            }
            counts.extend(grown.into_iter().map(|(name, cpu, grown)| FileCount {
                key: figures::file_key(path, &name),
                cpu,
                grown,
            }));
        }
        Ok(counts)
    }

    /// The case's profile.
    pub(super) fn profile(&self, plan: &Plan) -> Result<Option<RunProfile>, StoreError> {
        let load = || profiles::load(self.place, &plan.case).map_err(|error| self.damaged(RAW, error));
        plan.case.profile.then(load).transpose()
    }

    /// The time that the host took from the guest's CPUs.
    pub(super) fn stolen(&self, case: &Case) -> Result<Stolen, StoreError> {
        if case.clock != Clock::Wall {
            return Ok(Stolen::new());
        }
        let stolen: Stolen = self.json(STOLEN)?;
        match stolen.keys().find(|cpu| **cpu >= case.cpus) {
            Some(cpu) => Err(self.damaged(STOLEN, format!("CPU {cpu}, and the guest has {}", case.cpus))),
            None => Ok(stolen),
        }
    }

    /// The tests of the qperf that is the case's script.
    pub(super) fn qperf_of(&self, case: &Case) -> Result<BTreeMap<String, qperf::Values>, StoreError> {
        let program = case.script.as_ref().and_then(|script| script.run.first()?.rsplit('/').next());
        if program != Some("qperf") {
            return Ok(BTreeMap::new());
        }
        let output = format!("{RAW}/{}", pieces::SCRIPT_OUT);
        qperf::parse(&self.text(&output)?).map_err(|error| self.damaged(&output, error))
    }

    /// The idle states by the trace and by the kernel's accounts, if the run has accounts.
    pub(super) fn idle(
        &self,
        plan: &Plan,
        outcome: &Outcome,
        events: &[Event],
    ) -> Result<Option<RunIdle>, StoreError> {
        let piece = |name: &str| format!("{RAW}/{name}");
        if !self.place.join(piece(pieces::IDLE_BEFORE)).exists() {
            return Ok(None);
        }
        let accounts = |name: &str| self.said(name, |said| received::idle(said, plan.case.guest()));
        let (before, after) = (accounts(pieces::IDLE_BEFORE)?, accounts(pieces::IDLE_AFTER)?);
        let (case, hz, window) = (&plan.case, plan.hz, outcome.window_ns);
        let limits = self.limits(case)?;
        Ok(idle::of_run(events, &idle::Setting { case, hz, window, before: &before, after: &after, limits }))
    }

    /// The latency limits; `None` if the guest could not read them.
    fn limits(&self, case: &Case) -> Result<Option<Limits>, StoreError> {
        let pieces = [pieces::LATENCY_LIMITS_BEFORE, pieces::LATENCY_LIMITS_AFTER];
        if !pieces.iter().all(|piece| self.place.join(format!("{RAW}/{piece}")).exists()) {
            return Ok(None);
        }
        let [before, after] =
            pieces.map(|piece| self.said(piece, |said| received::latency_limits(said, case.guest())));
        Ok(Some(Limits { before: before?, after: after? }))
    }

    pub(super) fn recording(&self, case: &Case) -> Result<Recording, StoreError> {
        let metadata = self.said(pieces::TRACE, |said| received::trace(said, case.guest()))?;
        let mut recording = Recording { metadata, ..Recording::default() };
        let mut left = MAILBOX_BYTES;
        for cpu in recording.metadata.stats.keys() {
            // What is kept of it are its events.
            let raw = self.whole(&format!("{RAW}/{}", pieces::trace_of_cpu(*cpu)), MAILBOX_BYTES)?;
            left = left
                .checked_sub(raw.len() as u64)
                .ok_or_else(|| self.damaged(RAW, "the traces are larger than what a guest can send"))?;
            recording.raw.insert(*cpu, raw);
        }
        Ok(recording)
    }
}
