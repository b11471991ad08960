// SPDX-License-Identifier: GPL-2.0-only
//! Limits for pipelines, for every verb that measures: `--at-most`, `--require-counts`, `--junit`.

use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_contract::gate::{Figures, Gate, Limit};
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

impl Limits {
    /// Refuses limits of functions that this kernel does not have, and a file that cannot be written, before this
    /// machine is measured.
    pub fn ensure_usable(&self, suite: &str) -> Result<()> {
        self.ensure_writable(suite)?;
        self.ensure_functions()
    }

    /// Refuses a file that cannot be written. A judgement of an earlier run in it becomes one of a run that has not
    /// ended.
    pub fn ensure_writable(&self, suite: &str) -> Result<()> {
        if let (Some(path), Some(gate)) = (&self.junit, self.judge(None)) {
            output::ensure_writable(path)?;
            output::file(path, gate.junit(suite, None).as_bytes())?;
        }
        Ok(())
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

    /// Judges a measurement, of which nothing could be counted if there are no figures; `None` without limits.
    pub fn judge(&self, figures: Option<&[Figures]>) -> Option<Gate> {
        Gate::judge(&self.at_most, figures)
    }

    /// Reports the judgement, and returns the exit status: the command's if it failed, else that of the limits.
    /// `why` says why nothing was counted.
    pub fn end(
        &self,
        gate: Option<&Gate>,
        why: Option<&str>,
        suite: &str,
        command: Option<u8>,
    ) -> Result<ExitCode> {
        if let (Some(path), Some(gate)) = (&self.junit, gate) {
            output::file(path, gate.junit(suite, command).as_bytes())?;
        }
        for line in gate.iter().flat_map(|gate| gate.complaints()) {
            output::note(line);
        }
        let is_open = gate.is_some_and(|gate| gate.held.is_none());
        let uncounted = why.filter(|_| self.require_counts || is_open);
        if let Some(why) = uncounted {
            output::note(format_args!("cannot count interruptions: {why}"));
        }
        let own = gate.map_or(0, Gate::status).max(if uncounted.is_some() { 2 } else { 0 });
        Ok(ExitCode::from(match command {
            Some(status) if status != 0 => status,
            _ => own,
        }))
    }
}
