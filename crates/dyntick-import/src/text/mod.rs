// SPDX-License-Identifier: GPL-2.0-only
//! Traces as text: the `trace` file of tracefs, and what `trace-cmd report` and `perf script` print. Lines become
//! records with fields of our own layout, under the names that the fields of the kernel's records have.

mod details;
mod line;
mod record;

use crate::output::{Layout, Output, PAGE, Sink};
use crate::{ImportError, Imported};
use dyntick_model::text::{clean_line, shortened};
use line::{Line, Remark, Style};
use record::Records;
use std::collections::BTreeMap;
use std::io::BufRead;

/// The maximum length of a line that is read, bytes; of a longer one only the begin is.
const LONGEST_LINE: usize = 64 << 10;
/// The maximum number of names of tasks, and of events that are only counted.
const MOST_NAMES: usize = 1 << 16;
const LONGEST_NAME: usize = 120;

/// Returns true if a file that begins with these bytes may be such a text.
pub(crate) fn is_text(head: &[u8]) -> bool {
    if head.contains(&0) {
        return false;
    }
    let text = String::from_utf8_lossy(head);
    let begins = ["# tracer: ", "# ========", "cpus=", "version = "];
    begins.iter().any(|begin| text.starts_with(begin)) || text.lines().any(|line| Line::parse(line).is_some())
}

/// Reads a text.
///
/// # Errors
/// Failures of reading and of the sink.
pub fn read(text: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<Imported, ImportError> {
    let mut records = Records::new();
    let layout = Layout { page_size: PAGE, formats: records.formats() };
    let mut output = Output::new(sink, &layout)?;
    let mut found = Found::default();
    let mut line = Vec::new();
    while next_line(text, &mut line)? {
        let line = String::from_utf8_lossy(&line);
        match Line::parse(&line) {
            Some(line) => found.event(&line, &mut records, &mut output)?,
            None => found.remark(&line, &mut output)?,
        }
    }
    let mut seen = output.finish()?;
    for (event, count) in found.others {
        seen.events.entry(event).or_insert(count);
    }
    let mut imported = Imported {
        source: found.style.map_or("a text", Style::name).to_owned(),
        cpus: found.cpus,
        names: found.names,
        symbols: records.into_symbols(),
        unreadable: found.unreadable,
        notes: found.notes,
        ..Imported::default()
    };
    for cpu in seen.times.keys().chain(found.lost.keys()) {
        imported.stats.entry(*cpu).or_default().lost = found.lost.get(cpu).copied().unwrap_or(0);
    }
    if !found.has_ns {
        imported.notes.push("its times have microseconds, and so have all durations".to_owned());
    }
    if let Some((kept, written)) = found.entries.filter(|(kept, written)| written > kept) {
        imported.overwritten = true;
        imported.notes.push(format!(
            "its buffers were overwritten: {} of {written} events are missing at its begin",
            written - kept
        ));
    }
    imported.seen = seen;
    Ok(imported)
}

/// The facts that were found so far.
#[derive(Default)]
struct Found {
    style: Option<Style>,
    cpus: Option<u32>,
    names: BTreeMap<i32, String>,
    /// The number of events that are not read, by name.
    others: BTreeMap<String, u64>,
    lost: BTreeMap<u32, u64>,
    unreadable: u64,
    has_ns: bool,
    /// The number of events in the buffers, and of those that were written into them.
    entries: Option<(u64, u64)>,
    notes: Vec<String>,
}

impl Found {
    fn event(
        &mut self,
        line: &Line<'_>,
        records: &mut Records,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        self.style.get_or_insert(line.style);
        self.has_ns |= line.has_ns;
        let name = line.comm;
        if line.pid > 0 && name != "<...>" && self.names.len() < MOST_NAMES {
            let named = || clean_line(&shortened(name, LONGEST_NAME));
            self.names.entry(line.pid).or_insert_with(named);
        }
        if !records.knows(line.event) {
            if self.others.len() < MOST_NAMES {
                *self.others.entry(clean_line(&shortened(line.event, LONGEST_NAME))).or_default() += 1;
            }
            return Ok(());
        }
        match records.of(line) {
            Some(record) => {
                if !output.record(line.cpu, line.ns, record)? {
                    self.unreadable += 1;
                }
            }
            None => self.unreadable += 1,
        }
        Ok(())
    }

    fn remark(&mut self, line: &str, output: &mut Output<'_>) -> Result<(), ImportError> {
        match Remark::parse(line) {
            Some(Remark::Lost { cpu, count }) => {
                let lost = self.lost.entry(cpu).or_default();
                *lost = lost.saturating_add(count);
                output.lose(cpu, count)?;
            }
            Some(Remark::Entries { kept, written, cpus }) => {
                self.entries = Some((kept, written));
                self.cpus = cpus.or(self.cpus);
            }
            Some(Remark::Cpus(cpus)) => self.cpus = Some(cpus),
            None => {}
        }
        Ok(())
    }
}

/// Reads the next line without its end; what is beyond the maximum is dropped. Returns false at the end.
fn next_line(text: &mut dyn BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let bytes = text.fill_buf()?;
        if bytes.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = memchr::memchr(b'\n', bytes);
        let own = &bytes[..end.unwrap_or(bytes.len())];
        line.extend_from_slice(&own[..own.len().min(LONGEST_LINE - line.len())]);
        let used = own.len() + usize::from(end.is_some());
        text.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests;
