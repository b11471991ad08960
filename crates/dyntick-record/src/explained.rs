// SPDX-License-Identifier: GPL-2.0-only
//! From a record to what interrupted its CPUs, and why.

use crate::Record;
use dyntick_explain::{Context, Explanation, explain};
use dyntick_observe::trace::DecodeError;
use std::collections::BTreeMap;

/// A record that was explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Every interruption of the recorded CPUs with its cause, and their sums.
    pub explanation: Explanation,
    /// Events that were lost, by CPU; only where some were. What is counted may then be too low, and
    /// what is missing may be the cause of something else.
    pub lost: BTreeMap<u32, u64>,
    /// Records that could not be read.
    pub undecoded: u64,
}

impl Record {
    /// What it is explained with.
    pub fn context(&self) -> Context {
        let before = &self.about.before;
        let threads = before.threads.iter().chain(&self.about.after.threads);
        Context {
            hz: before.hz,
            nohz_full: before.cpus.nohz_full.clone(),
            isolated: before.cpus.isolated.clone(),
            rcu_nocbs: before.cpus.rcu_nocbs.clone(),
            cpus: self.about.cpus.clone(),
            kernel: before.kernel.clone(),
            window: self.about.window_ns,
            timekeeper: None,
            comms: threads.map(|(number, thread)| (*number, thread.comm.as_str().into())).collect(),
        }
    }

    /// Finds the cause of each interruption of the recorded CPUs.
    ///
    /// # Errors
    /// A damaged trace.
    pub fn explain(&self) -> Result<Explained, DecodeError> {
        let decoded = self.recording.decode()?;
        let mut explanation = explain(&decoded.events, &self.context());
        explanation.interruptions.retain(|interruption| self.about.cpus.contains(interruption.cpu));
        let lost = decoded.lost.into_iter().filter(|(_, count)| *count > 0).collect();
        Ok(Explained { explanation, lost, undecoded: decoded.undecoded })
    }
}
