// SPDX-License-Identifier: GPL-2.0-only
//! A mark in the machine's own trace (`Documentation/trace/ftrace.rst`: trace_marker, tracing_on).

use crate::LatencyError;
use std::fs::{File, OpenOptions};
use std::io::Write;

const TRACEFS: &str = "/sys/kernel/tracing";

/// The files for a mark, opened beforehand.
#[derive(Debug)]
pub(crate) struct Mark {
    marker: File,
    switch: File,
}

impl Mark {
    pub fn open() -> Result<Self, LatencyError> {
        let open = |name: &str| OpenOptions::new().write(true).open(format!("{TRACEFS}/{name}"));
        let failed = |error| LatencyError::System("open the trace_marker of tracefs for --tracemark", error);
        Ok(Self {
            marker: open("trace_marker").map_err(failed)?,
            switch: open("tracing_on").map_err(failed)?,
        })
    }

    /// Writes the mark in cyclictest's words, and stops the trace.
    pub fn set(&self, latency: u64, limit: u64) {
        let _ = (&self.marker).write_all(format!("hit latency threshold ({latency} > {limit})").as_bytes());
        let _ = (&self.switch).write_all(b"0\n");
    }
}
