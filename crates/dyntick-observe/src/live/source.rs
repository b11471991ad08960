// SPDX-License-Identifier: GPL-2.0-only
//! By what is counted: eBPF programs, or trace events where there are none.

use super::{Counters, Details, LiveError, Snapshot, Traced, Wanted};
use std::collections::BTreeSet;

/// By what shall be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// By eBPF; by trace events where this kernel cannot do that. Where only permission is lacking it is
    /// for the user to choose.
    #[default]
    Auto,
    /// By eBPF or not at all.
    Bpf,
    /// By trace events.
    Tracefs,
}

/// What counts.
pub enum Source {
    /// eBPF programs.
    Bpf(Box<Counters>),
    /// Trace events, and why not eBPF programs; none where trace events were asked for.
    Tracefs(Traced, Option<LiveError>),
}

/// Why nothing can be counted: what was tried, and what it lacks.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.text())]
pub struct Unavailable {
    /// eBPF.
    pub bpf: Option<LiveError>,
    /// tracefs.
    pub tracefs: Option<LiveError>,
}

impl Unavailable {
    fn text(&self) -> String {
        let tried = [&self.bpf, &self.tracefs];
        let told: Vec<String> = tried.into_iter().flatten().map(ToString::to_string).collect();
        told.join("; ")
    }
}

impl Source {
    /// Starts to count.
    pub fn start(wanted: &Wanted, choice: Choice) -> Result<Self, Unavailable> {
        let bpf = match choice {
            Choice::Tracefs => None,
            Choice::Auto | Choice::Bpf => match Counters::start(wanted) {
                Ok(counters) => return Ok(Source::Bpf(Box::new(counters))),
                Err(error) => Some(error),
            },
        };
        if choice == Choice::Bpf || matches!(bpf, Some(LiveError::NotPermitted | LiveError::NoCpu)) {
            return Err(Unavailable { bpf, tracefs: None });
        }
        match Traced::start(wanted) {
            Ok(traced) => Ok(Source::Tracefs(traced, bpf)),
            Err(error) => Err(Unavailable { bpf, tracefs: Some(error) }),
        }
    }

    /// Begins anew: all counts are 0, and no longest is known.
    pub fn forget(&mut self) -> Result<(), LiveError> {
        match self {
            Source::Bpf(counters) => {
                counters.forget();
                Ok(())
            }
            Source::Tracefs(traced, _) => traced.forget(),
        }
    }

    /// What was counted up to now.
    pub fn read(&mut self) -> Result<Snapshot, LiveError> {
        match self {
            Source::Bpf(counters) => Ok(counters.read()),
            Source::Tracefs(traced, _) => traced.read(),
        }
    }

    /// Those that took longer than was asked for, since this was last called; none by trace events.
    pub fn details(&mut self) -> Details {
        match self {
            Source::Bpf(counters) => counters.details(),
            Source::Tracefs(..) => Details::default(),
        }
    }

    /// The tracepoints that were wanted and that this kernel lacks.
    pub fn missing(&self) -> &[String] {
        match self {
            Source::Bpf(counters) => counters.missing(),
            Source::Tracefs(traced, _) => traced.missing(),
        }
    }

    /// Follows a thread: from now on it is known which threads it started, and they in turn.
    pub fn follow(&mut self, pid: u32) -> Result<(), LiveError> {
        match self {
            Source::Bpf(counters) => counters.follow(pid),
            Source::Tracefs(traced, _) => traced.follow(pid),
        }
    }

    /// Takes a thread out of those that are followed; those that it started stay.
    pub fn unfollow(&mut self, pid: u32) -> Result<(), LiveError> {
        match self {
            Source::Bpf(counters) => counters.unfollow(pid),
            Source::Tracefs(traced, _) => traced.unfollow(pid),
        }
    }

    /// The threads that were followed, also those that ended, and how many are missing among them.
    pub fn followed(&mut self) -> Result<(BTreeSet<u32>, u64), LiveError> {
        match self {
            Source::Bpf(counters) => counters.followed(),
            Source::Tracefs(traced, _) => traced.followed(),
        }
    }
}
