// SPDX-License-Identifier: GPL-2.0-only
//! What was counted since the exporter began, and its texts.

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

/// A text that is younger is sent again: reading the counters costs time, and anybody may ask for them.
const FRESH: Duration = Duration::from_millis(500);

/// What was counted since it began.
pub struct Exporter<'a> {
    running: Running<'a>,
    totals: Totals,
    /// What was served last, and when it was read.
    served: Option<(Instant, Arc<str>)>,
}

impl<'a> Exporter<'a> {
    /// Reads once, so that every counter is there from the begin on, and says what is not counted here.
    pub fn new(running: Running<'a>, cpus: &CpuList) -> Result<Self> {
        let mut totals = Totals::new(VERSION);
        totals.learn(&cpuidle::read(cpus));
        let mut exporter = Self { running, totals, served: None };
        for missing in exporter.read()? {
            output::note(format_args!("not available: {}; needs {}", missing.what, missing.needs));
        }
        Ok(exporter)
    }

    /// Waits until somebody asks or a signal ends it, or for `until`.
    pub fn wait(&mut self, until: Option<Instant>) -> Option<End> {
        self.running.wait(until)
    }

    /// Adds what was counted since the last time; returns what is not counted.
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

    /// What is served.
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
