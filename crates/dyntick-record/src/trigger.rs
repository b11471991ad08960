// SPDX-License-Identifier: GPL-2.0-only
//! The reason for a snapshot.

use dyntick_explain::{Interruption, Woken};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason for a snapshot. Times are ns of CLOCK_MONOTONIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Trigger {
    /// The signal SIGUSR1.
    Signal,
    /// A thread that ran late after its wake-up was due ([`dyntick_explain::Wakeups`]).
    Late { at_ns: u64, cpu: u32, thread: i32, comm: String, late_ns: u64, by_timer: bool },
    /// A long interruption.
    Interrupted { at_ns: u64, cpu: u32, ns: u64, kind: String },
}

/// The longest name: threads' names have 15 bytes, those of kinds a few more.
const LONGEST_NAME: usize = 64;

impl Trigger {
    pub(crate) fn late(woken: Woken) -> Self {
        Trigger::Late {
            at_ns: woken.runs_ns,
            cpu: woken.cpu,
            thread: woken.pid,
            late_ns: woken.latency_ns(),
            by_timer: woken.by_timer,
            comm: woken.comm.to_string(),
        }
    }

    pub(crate) fn interrupted(one: &Interruption) -> Self {
        let (at_ns, cpu, ns) = (one.start_ns, one.cpu, one.duration_ns);
        Trigger::Interrupted { at_ns, cpu, ns, kind: one.kind.name().to_owned() }
    }

    /// The time of the incident, unless it is the present.
    pub(crate) fn at_ns(&self) -> Option<u64> {
        match self {
            Trigger::Signal => None,
            Trigger::Late { at_ns, .. } | Trigger::Interrupted { at_ns, .. } => Some(*at_ns),
        }
    }

    /// Checks a reason from a file, and returns the fault of an impossible one.
    pub(crate) fn accept(&self) -> Result<(), String> {
        let name = match self {
            Trigger::Signal => "",
            Trigger::Late { comm, .. } => comm,
            Trigger::Interrupted { kind, .. } => kind,
        };
        if name.len() > LONGEST_NAME {
            Err(format!("trigger: a name has {} bytes; the limit is {LONGEST_NAME}", name.len()))
        } else {
            Ok(())
        }
    }

    /// The reason in words, with the time since `begin_ns`.
    pub(crate) fn text(&self, begin_ns: u64) -> String {
        match self.at_ns() {
            None => format!("taken on {self}"),
            Some(ns) => {
                let seconds = ns.saturating_sub(begin_ns) as f64 / 1e9;
                format!("taken because {self}, at {seconds:.6} s")
            }
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: u64| ns as f64 / 1e3;
        match self {
            Trigger::Signal => f.write_str("SIGUSR1"),
            Trigger::Late { cpu, thread, comm, late_ns, by_timer, .. } => {
                let since = if *by_timer { "its timer was to expire" } else { "it was woken" };
                write!(f, "{comm} [{thread}] ran on CPU {cpu} {:.1} µs after {since}", us(*late_ns))
            }
            Trigger::Interrupted { cpu, ns, kind, .. } => {
                write!(f, "an interruption of CPU {cpu} ({kind}) took {:.1} µs", us(*ns))
            }
        }
    }
}
