// SPDX-License-Identifier: GPL-2.0-only
//! A run that has idle states, as the tables of them read it.

use super::titles::Titled;
use dyntick_idle::Account;
use dyntick_lab::idle::RunIdle;
use dyntick_model::{CpuList, Machine};
use dyntick_report::Cell;
use dyntick_stats::Histogram;

/// A run that has idle states.
#[derive(Clone, Copy)]
pub struct Idling<'a>(&'a Titled<'a>);

impl Idling<'_> {
    /// The idle states of its CPUs.
    pub fn idle(&self) -> &RunIdle {
        self.0.analysis.idle.as_ref().expect("is chosen for it")
    }

    /// The emulated machine.
    pub fn machine(&self) -> Option<&Machine> {
        self.0.plan.case.machine.as_ref()
    }

    /// The name of the run.
    pub fn title(&self) -> String {
        self.0.title().to_owned()
    }

    /// The measured CPUs.
    pub fn measured(&self) -> &CpuList {
        &self.0.plan.case.measured_cpus
    }

    /// The accounts of the measured CPUs together.
    pub fn accounts(&self) -> Vec<Account> {
        self.idle().of_cpus(self.measured())
    }

    /// The time of all measured CPUs, ns.
    pub fn cpu_ns(&self) -> u64 {
        let (begin, end) = self.idle().window;
        (end - begin) * self.measured().len() as u64
    }
}

/// The runs that have idle states.
pub fn with_states<'a>(runs: &'a [Titled<'_>]) -> Vec<Idling<'a>> {
    runs.iter().filter(|run| run.analysis.idle.is_some()).map(Idling).collect()
}

/// A quantile of durations.
pub fn quantile(histogram: &Histogram, share: f64) -> Cell {
    Cell::known(histogram.quantile(share).map(|ns| Cell::Duration(ns as f64)))
}
