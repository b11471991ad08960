// SPDX-License-Identifier: GPL-2.0-only
//! The sources of counts: eBPF programs, or trace events if these cannot be used.

use super::{Counters, Details, LiveError, RunTime, Snapshot, Traced, Waits, Wanted};
use std::time::Duration;

/// The choice of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// By eBPF; by trace events where this kernel cannot do that. Where only permission is lacking it is
    /// for the user to choose.
    #[default]
    Auto,
    /// eBPF programs or nothing.
    Bpf,
    /// Trace events.
    Tracefs,
}

/// A source of counts.
pub enum Source {
    /// eBPF programs.
    Bpf(Box<Counters>),
    /// Trace events, and why not eBPF programs; none where trace events were asked for.
    Tracefs(Traced, Option<LiveError>),
}

/// The reason why nothing can be counted: each source that was tried, and its unmet needs.
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

    /// Begins anew: earlier counts are dropped, and no longest is known.
    pub fn forget(&mut self) -> Result<(), LiveError> {
        match self {
            Source::Bpf(counters) => {
                counters.forget();
                Ok(())
            }
            Source::Tracefs(traced, _) => traced.forget(),
        }
    }

    /// Returns the counts since the last call, or since the begin.
    pub fn read(&mut self) -> Result<Snapshot, LiveError> {
        match self {
            Source::Bpf(counters) => Ok(counters.read()),
            Source::Tracefs(traced, _) => traced.read(),
        }
    }

    /// The time after the last reading at which [`Source::keep_up`] is due if nothing is read; none for trace events,
    /// which a thread reads.
    pub fn interval(&self) -> Option<Duration> {
        match self {
            Source::Bpf(counters) => Some(counters.interval()),
            Source::Tracefs(..) => None,
        }
    }

    /// Takes in what was counted up to now, to be reported by [`Source::read`], so that the programs have room for more
    /// names.
    pub fn keep_up(&mut self) {
        if let Source::Bpf(counters) = self {
            counters.keep_up();
        }
    }

    /// Returns the interruptions above the requested duration since the last call; none by trace events.
    pub fn details(&mut self) -> Details {
        match self {
            Source::Bpf(counters) => counters.details(),
            Source::Tracefs(..) => Details::default(),
        }
    }

    /// The CPU time that counting took since it was started, if the kernel measures it: of eBPF programs
    /// ([`Counters::run_time`]).
    pub fn run_time(&self) -> Option<RunTime> {
        match self {
            Source::Bpf(counters) => counters.run_time(),
            Source::Tracefs(..) => None,
        }
    }

    /// The tracepoints that were wanted and that this kernel lacks; [`super::TICKS`] if ticks are not distinguished
    /// from other timers.
    pub fn missing(&self) -> &[String] {
        match self {
            Source::Bpf(counters) => counters.missing(),
            Source::Tracefs(traced, _) => traced.missing(),
        }
    }

    /// Follows a thread: from now on its turns, and those of threads that it starts, and they in turn, are counted as
    /// [`super::Whose::Command`].
    pub fn follow(&mut self, pid: u32) -> Result<(), LiveError> {
        match self {
            Source::Bpf(counters) => counters.follow(pid),
            Source::Tracefs(traced, _) => traced.follow(pid),
        }
    }

    /// The time of followed threads ([`Counters::take_waits`]); none by trace events.
    pub fn take_waits(&mut self) -> Option<Result<Waits, LiveError>> {
        match self {
            Source::Bpf(counters) => counters.take_waits(),
            Source::Tracefs(..) => None,
        }
    }

    /// Takes a thread out of those that are followed; those that it started stay.
    pub fn unfollow(&mut self, pid: u32) -> Result<(), LiveError> {
        match self {
            Source::Bpf(counters) => counters.unfollow(pid),
            Source::Tracefs(traced, _) => traced.unfollow(pid),
        }
    }

    /// Returns the number of threads that may be missing among the followed ones: by eBPF none.
    pub fn unfollowed(&mut self) -> Result<u64, LiveError> {
        match self {
            Source::Bpf(_) => Ok(0),
            Source::Tracefs(traced, _) => traced.unfollowed(),
        }
    }
}
