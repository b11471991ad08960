// SPDX-License-Identifier: GPL-2.0-only
//! The counts since the exporter started, and their texts.

use crate::{VERSION, output};
use anyhow::Result;
use dyntick_count::{End, Running};
use dyntick_export::{Format, Totals, text};
use dyntick_model::CpuList;
use dyntick_observe::cpuidle;
use dyntick_observe::live::Missing;
use dyntick_system::hotplug;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The age up to which a text is served again: reading the counters costs time, and any client may request them.
const FRESH: Duration = Duration::from_millis(500);

/// The counts since it started.
pub struct Exporter<'a> {
    running: Running<'a>,
    totals: Totals,
    /// The text that was served last, and the time of its reading.
    served: Option<(Instant, Arc<str>)>,
}

impl<'a> Exporter<'a> {
    /// Reads once, so that every counter exists from the start, and reports the counters that are not available.
    pub fn new(running: Running<'a>, cpus: &CpuList) -> Result<Self> {
        let mut totals = Totals::new(VERSION);
        totals.learn(&cpuidle::read(cpus));
        let mut exporter = Self { running, totals, served: None };
        for missing in exporter.read()? {
            output::note(format_args!("not available: {}; needs {}", missing.what, missing.needs));
        }
        Ok(exporter)
    }

    /// Waits for a request or a signal, or until `until`.
    pub fn wait(&mut self, until: Option<Instant>) -> Option<End> {
        self.running.wait(until)
    }

    /// Adds the counts since the last reading; returns the counters that are not available.
    fn read(&mut self) -> Result<Vec<Missing>> {
        let begin = Instant::now();
        let measured = self.running.so_far()?;
        self.totals.add(&measured);
        hotplug::note(&measured.offline).into_iter().for_each(output::note);
        let own = &mut self.totals.own;
        own.readings.took(begin.elapsed().as_nanos() as u64);
        own.programs = self.running.run_time();
        let used = clock_gettime(ClockId::ProcessCPUTime);
        own.cpu_ns = Duration::new(used.tv_sec as u64, used.tv_nsec as u32).as_nanos() as u64;
        Ok(measured.missing)
    }

    /// The text to serve.
    pub fn openmetrics(&mut self) -> Result<Arc<str>> {
        if let Some((_, text)) = self.served.as_ref().filter(|(read, _)| read.elapsed() < FRESH) {
            return Ok(text.clone());
        }
        self.read()?;
        let text: Arc<str> = text(&self.totals, Format::OpenMetrics)?.into();
        self.served = Some((Instant::now(), text.clone()));
        Ok(text)
    }

    /// Writes the file for node_exporter.
    pub fn write(&mut self, path: &Path) -> Result<()> {
        self.read()?;
        output::file_again(path, text(&self.totals, Format::Prometheus)?.as_bytes())
    }
}
