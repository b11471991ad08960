// SPDX-License-Identifier: GPL-2.0-only
//! Limits for pipelines, for every verb that measures: `--at-most`, `--require-counts`, `--junit`.

use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_contract::gate::{Figures, Gate, Limit, Measures};
use dyntick_model::CpuList;
use dyntick_observe::live::Missing;
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

/// The limits of a measurement, and the file for their judgement.
#[derive(Args, Clone, Debug, Default)]
pub struct Limits {
    /// Exit with status 3 if a CPU exceeds LIMIT, e.g. 'interruptions 2/s', 'ticks 0', 'softirq:RCU 10/s',
    /// 'interruptions 50us' (the longest one), 'lost 1%' (of the command's time); may be given several times. A command
    /// that fails has its own status
    #[arg(long = "at-most", value_name = "LIMIT")]
    at_most: Vec<Limit>,
    /// Exit with status 2 if interruptions could not be counted here
    #[arg(long)]
    require_counts: bool,
    /// Write the judgement on each limit to FILE as JUnit XML
    #[arg(long, value_name = "FILE", requires = "at_most")]
    junit: Option<PathBuf>,
}

/// The reason for which figures are missing.
pub enum Lack {
    /// Nothing was counted, or nothing that says something of the command.
    Counts(String),
    /// Something was not counted, or its names are not known.
    Part(String),
}

impl Lack {
    /// The needs of one thing that is not counted.
    pub fn part(missing: &Missing) -> Self {
        Self::Part(format!("cannot know {}: it needs {}", missing.what, missing.needs))
    }

    fn why(&self) -> &str {
        let (Self::Counts(why) | Self::Part(why)) = self;
        why
    }
}

impl Limits {
    /// Refuses limits that this measurement of these CPUs cannot judge, those of functions that this kernel does not
    /// have, and a file that cannot be written, before this machine is measured.
    pub fn ensure_usable(&self, suite: &str, measures: &Measures, cpus: &CpuList) -> Result<()> {
        self.ensure_judged(suite, measures, cpus)?;
        self.ensure_functions()
    }

    /// Refuses limits that such a measurement cannot judge, and a file that cannot be written. A judgement of an
    /// earlier run in it becomes one of a run that has not ended.
    pub fn ensure_judged(&self, suite: &str, measures: &Measures, cpus: &CpuList) -> Result<()> {
        if let (Some(path), Some(gate)) = (&self.junit, self.judge(&Figures::uncounted(cpus))) {
            output::ensure_writable(path)?;
            output::file(path, gate.junit(suite, None, Some("the measurement has not ended")).as_bytes())?;
        }
        if self.require_counts && matches!(measures, Measures::Latencies) {
            bail!(
                "--require-counts: this verb measures latency alone; stat, explain, isolate and top count interruptions"
            );
        }
        match self.at_most.iter().find_map(|limit| limit.unjudged(measures)) {
            Some(why) => bail!("--at-most: {why}"),
            None => Ok(()),
        }
    }

    /// Refuses a limit of a function that is not in `/proc/kallsyms`: it would be counted 0 times.
    fn ensure_functions(&self) -> Result<()> {
        let named: Vec<&str> = self.at_most.iter().filter_map(Limit::function).collect();
        if named.is_empty() {
            return Ok(());
        }
        let Ok(symbols) = std::fs::read_to_string("/proc/kallsyms") else { return Ok(()) };
        let known: HashSet<&str> = symbols
            .lines()
            .filter_map(|line| line.split_ascii_whitespace().nth(2)?.split('.').next())
            .collect();
        match named.into_iter().find(|function| !known.contains(function)) {
            Some(function) => {
                bail!("--at-most: this kernel has no function {function}; it would be counted 0 times")
            }
            None => Ok(()),
        }
    }

    /// Judges a measurement; `None` without limits.
    pub fn judge(&self, figures: &[Figures]) -> Option<Gate> {
        Gate::judge(&self.at_most, figures)
    }

    /// Reports the judgement, and returns the exit status: the command's if it failed, else that of the limits.
    pub fn end(
        &self,
        gate: Option<&Gate>,
        lack: Option<&Lack>,
        suite: &str,
        command: Option<u8>,
    ) -> Result<ExitCode> {
        if let (Some(path), Some(gate)) = (&self.junit, gate) {
            output::file(path, gate.junit(suite, command, lack.map(Lack::why)).as_bytes())?;
        }
        for line in gate.iter().flat_map(|gate| gate.complaints()) {
            output::note(line);
        }
        let is_open = gate.is_some_and(|gate| gate.held.is_none());
        let is_needed = |lack: &&Lack| is_open || (self.require_counts && matches!(lack, Lack::Counts(_)));
        let uncounted = lack.filter(is_needed);
        match uncounted {
            Some(Lack::Counts(why)) => output::note(format_args!("cannot count interruptions: {why}")),
            Some(Lack::Part(why)) => output::note(why),
            None => {}
        }
        let own = gate.map_or(0, Gate::status).max(if uncounted.is_some() { 2 } else { 0 });
        Ok(ExitCode::from(match command {
            Some(status) if status != 0 => status,
            _ => own,
        }))
    }
}
