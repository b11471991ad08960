// SPDX-License-Identifier: GPL-2.0-only
//! The pages that a reader hands over, and the look at each on its way.

use crate::ImportError;
use crate::bytes::Damage;
use crate::survey::{Seen, Survey};
use dyntick_trace::{PageWriter, RingError};
use std::collections::BTreeMap;

/// The layout of pages, which is known before the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The size of a page, bytes.
    pub page_size: usize,
    /// The text of each event's `format` file, by `system:name`: all of the fields of events that are read, and of
    /// others only the number.
    pub formats: BTreeMap<String, String>,
}

/// The receiver of pages.
pub trait Sink {
    /// Takes the layout, once, before any page.
    ///
    /// # Errors
    /// A layout that cannot be used, or a failed write.
    fn layout(&mut self, layout: &Layout) -> std::io::Result<()>;

    /// Takes complete pages of a CPU, after the earlier ones of this CPU.
    ///
    /// # Errors
    /// A failed write.
    fn pages(&mut self, cpu: u32, pages: &[u8]) -> std::io::Result<()>;
}

/// The size of pages that are written here, bytes: records of perf have up to 64 KiB, but those of the events that are
/// read have less than one.
pub(crate) const PAGE: usize = 8192;

/// A sink, and what was seen on the way to it.
pub(crate) struct Output<'a> {
    sink: &'a mut dyn Sink,
    page_size: usize,
    survey: Survey,
    writers: BTreeMap<u32, PageWriter>,
}

impl<'a> Output<'a> {
    /// Creates an output of pages with this layout.
    pub fn new(sink: &'a mut dyn Sink, layout: &Layout) -> Result<Self, ImportError> {
        sink.layout(layout)?;
        let survey = Survey::new(&layout.formats).map_err(ImportError::Unsupported)?;
        Ok(Self { sink, page_size: layout.page_size, survey, writers: BTreeMap::new() })
    }

    /// Hands over complete pages, which are at this place in the file.
    pub fn pages(&mut self, cpu: u32, pages: &[u8], place: Damage) -> Result<(), ImportError> {
        self.survey.pages(cpu, pages, self.page_size).map_err(|error| damaged(&error, place))?;
        Ok(self.sink.pages(cpu, pages)?)
    }

    /// Hands over one record, in a page that is written here. Returns false if it is too long.
    pub fn record(&mut self, cpu: u32, ns: u64, record: &[u8]) -> Result<bool, ImportError> {
        let writer = self.writers.entry(cpu).or_insert_with(|| PageWriter::new(self.page_size));
        let mut page = None;
        let fits = writer.push(ns, record, |full| page = Some(full.to_vec()));
        self.written(cpu, page)?;
        Ok(fits)
    }

    /// Notes events that were lost before the next record.
    pub fn lose(&mut self, cpu: u32, count: u64) -> Result<(), ImportError> {
        let writer = self.writers.entry(cpu).or_insert_with(|| PageWriter::new(self.page_size));
        let mut page = None;
        writer.lose(count, |full| page = Some(full.to_vec()));
        self.written(cpu, page)
    }

    fn written(&mut self, cpu: u32, page: Option<Vec<u8>>) -> Result<(), ImportError> {
        page.map_or(Ok(()), |page| self.pages(cpu, &page, Damage(0)))
    }

    /// Hands over the last pages, and returns what was seen.
    pub fn finish(mut self) -> Result<Seen, ImportError> {
        for (cpu, mut writer) in std::mem::take(&mut self.writers) {
            let mut page = None;
            writer.finish(|full| page = Some(full.to_vec()));
            self.written(cpu, page)?;
        }
        Ok(self.survey.finish())
    }
}

/// The error of a damaged page among those at a place in the file.
pub(crate) fn damaged(error: &RingError, place: Damage) -> ImportError {
    let offset = match error {
        RingError::NotWholePages { .. } => 0,
        RingError::Length { page_at, .. } | RingError::Record { page_at, .. } => *page_at as u64,
    };
    Damage(place.0.saturating_add(offset)).is(error.to_string())
}
