// SPDX-License-Identifier: GPL-2.0-only
//! Traces of other tools: read by their readers, and the pages that these make decoded.

use super::assert_clean;
use dyntick_import::{ImportError, Imported, Layout, Sink, read_perf, read_text, read_trace_dat};
use dyntick_trace::{Metadata, Recording};
use std::io::Result;

/// A file of trace-cmd.
pub fn trace_dat(bytes: &[u8]) {
    imported(|pages| read_trace_dat(&bytes, pages));
}

/// A file of perf.
pub fn perf_data(bytes: &[u8]) {
    imported(|pages| read_perf(&bytes, pages));
}

/// The text of a trace.
pub fn trace_text(bytes: &[u8]) {
    imported(|pages| read_text(&mut &bytes[..], pages));
}

/// The pages in memory.
#[derive(Default)]
struct Pages(Recording);

impl Sink for Pages {
    fn layout(&mut self, layout: &Layout) -> Result<()> {
        let Layout { page_size, formats } = layout.clone();
        self.0.metadata = Metadata { page_size, formats, ..Metadata::default() };
        Ok(())
    }

    fn pages(&mut self, cpu: u32, pages: &[u8]) -> Result<()> {
        self.0.raw.entry(cpu).or_default().extend_from_slice(pages);
        Ok(())
    }
}

fn imported(read: impl FnOnce(&mut Pages) -> std::result::Result<Imported, ImportError>) {
    let mut pages = Pages::default();
    match read(&mut pages) {
        Ok(imported) => {
            let texts = imported.names.values().chain(&imported.notes).chain(imported.clock.iter());
            texts.chain([&imported.source]).for_each(|text| assert_clean(text));
            pages.0.metadata.symbols = imported.symbols;
            pages.0.metadata.stats = imported.stats;
            if pages.0.metadata.problem().is_none() {
                let events = pages.0.decode(u64::MAX).expect("the reader has looked at all pages").events;
                assert!(events.len() as u64 <= imported.seen.events.values().sum::<u64>());
            }
        }
        Err(error) => assert_clean(&error.to_string()),
    }
}
