// SPDX-License-Identifier: GPL-2.0-only
//! The decisions of a trace in files that any number of children read: they are made once for all governors.

use crate::files::Elements;
use crate::layout::{INPUT_BYTES, RECORD_BYTES, REST_BYTES, Record, Settings, is_end, is_long};
use std::fs::File;
use std::io::Result;
use std::sync::Arc;

/// Decisions in order of time.
pub struct Input {
    pub(crate) file: File,
    /// The part of each decision that no child needs.
    pub(crate) rest: Arc<File>,
    pub(crate) settings: Settings,
    /// Decisions, times that did not fit into one, and ends of sleeps during which other CPUs did something.
    pub(crate) records: u64,
    /// The decisions.
    pub decisions: u64,
    /// The decisions whose recorded state is known.
    pub known: u64,
    pub(crate) states: usize,
    pub(crate) marks: Vec<u64>,
}

/// The decisions under all assumptions about timers that no event shows.
pub struct Inputs {
    /// With what was seen of them.
    pub seen: Input,
    /// With the earliest that are possible.
    pub earliest: Option<Input>,
    /// With the latest.
    pub latest: Option<Input>,
}

impl Input {
    /// The distance of decisions whose place in the file is known.
    pub(crate) const MARK: u64 = 1 << 16;

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        INPUT_BYTES as u64 + self.records * RECORD_BYTES as u64
    }

    /// The decisions from a multiple of [`Self::MARK`] on.
    pub(crate) fn after_mark(&self, mark: usize) -> Decisions<'_> {
        let record = self.marks.get(mark).copied().unwrap_or(self.records);
        let at = INPUT_BYTES as u64 + record * RECORD_BYTES as u64;
        let first = (mark as u64 * Self::MARK).min(self.decisions);
        Decisions {
            records: Elements::new(&self.file, at, self.records - record),
            rests: Elements::new(&self.rest, first * REST_BYTES as u64, self.decisions - first),
            settings: &self.settings,
        }
    }

    /// All decisions.
    pub(crate) fn all(&self) -> Decisions<'_> {
        self.after_mark(0)
    }
}

/// Decisions, one after another.
pub(crate) struct Decisions<'a> {
    records: Elements<'a, RECORD_BYTES>,
    rests: Elements<'a, REST_BYTES>,
    settings: &'a Settings,
}

impl Decisions<'_> {
    /// The next one; none at the end.
    pub fn next(&mut self) -> Result<Option<Record>> {
        while let Some(record) = self.records.next()?.copied() {
            if is_end(&record) {
                continue;
            }
            let times = if is_long(&record) { self.records.next()? } else { None };
            let rest = self.rests.next()?;
            return Ok(rest.map(|rest| Record::read(&record, times, rest, self.settings)));
        }
        Ok(None)
    }
}
