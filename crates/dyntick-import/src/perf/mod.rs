// SPDX-License-Identifier: GPL-2.0-only
//! perf.data, the file of `perf record`, with samples of tracepoints
//! (`tools/perf/Documentation/perf.data-file-format.txt` and `include/uapi/linux/perf_event.h`). The raw data of a
//! sample is the record that the ring buffer of tracefs would have, and the layouts of events are in the file as
//! trace-cmd writes them.
//!
//! The crate linux-perf-data is not used: it takes memory by lengths of the file before it knows that the file has so
//! many bytes, and brings protobuf.

mod attributes;
mod contents;
mod header;
mod records;
mod samples;

use crate::bytes::{Bytes, Damage};
use crate::output::{Layout, Output, PAGE, Sink};
use crate::{ImportError, Imported};
use contents::Contents;
use records::Data;
use samples::Samples;
use std::collections::BTreeMap;

/// The bytes that a file begins with.
pub(crate) const MAGIC: &[u8] = b"PERFILE2";

/// Reads a file.
///
/// # Errors
/// Damage, a file without tracepoints, and failures of the sink.
pub fn read(file: &dyn Bytes, sink: &mut dyn Sink) -> Result<Imported, ImportError> {
    let mut head = header::read(file)?;
    let mut contents = Contents::default();
    for feature in &head.features {
        contents.feature(file, feature)?;
    }
    let mut data = Data::new(file, head.data);
    if head.is_pipe {
        // What is in the header of a file comes first in a pipe.
        let mut next = Data::new(file, head.data);
        while let Some(record) = next.next()? {
            if record.kind != records::COMPRESSED && contents.of_pipe(&record, &mut head.attributes)? {
                break;
            }
        }
    }
    if contents.formats.is_empty() {
        return Err(ImportError::Unsupported(
            "it has no tracepoints: record with the command of `dyntick record --print perf`".to_owned(),
        ));
    }
    let layout = Layout { page_size: PAGE, formats: std::mem::take(&mut contents.formats) };
    let mut output = Output::new(sink, &layout)?;
    let mut samples = Samples::new(head.attributes, &layout.formats)?;
    while let Some(record) = data.next()? {
        samples.take(&record, &mut contents, &mut output)?;
    }
    samples.finish(&mut output)?;
    finish(contents, samples, output, data.is_cut)
}

fn finish(
    mut contents: Contents,
    samples: Samples,
    output: Output<'_>,
    is_cut: Option<u64>,
) -> Result<Imported, ImportError> {
    let seen = output.finish()?;
    if let Some(at) = is_cut {
        contents.notes.push(format!("it ends within a record at byte {at}: perf was interrupted"));
    }
    let mut stats = BTreeMap::new();
    for cpu in seen.times.keys().chain(samples.lost.keys()) {
        let own: &mut dyntick_trace::CpuStats = stats.entry(*cpu).or_default();
        own.lost = samples.lost.get(cpu).copied().unwrap_or(0);
    }
    let tool = contents.tool.map_or(String::new(), |tool| format!(" {tool}"));
    Ok(Imported {
        source: format!("a file of perf{tool} (perf.data)"),
        clock: Some(samples.clock.to_owned()),
        release: contents.release,
        architecture: contents.architecture,
        cpus: contents.cpus,
        names: contents.names,
        stats,
        kallsyms: contents.kallsyms,
        kernel_text: contents.kernel_text,
        seen,
        unreadable: samples.unreadable,
        notes: contents.notes,
        ..Imported::default()
    })
}

/// The error of a record that is too short for its kind.
fn short(at: u64) -> ImportError {
    Damage(at).is("a record is too short for its kind")
}

#[cfg(test)]
mod tests;
