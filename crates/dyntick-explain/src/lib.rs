// SPDX-License-Identifier: GPL-2.0-only
//! From a kernel's events to the interruptions of each CPU and their causes.
//!
//! Pure: events and a [`Context`] in, an [`Explanation`] out. No file, no clock, no state between
//! calls, so that the same code serves a recorded study and a live machine.

mod attribute;
mod case;
mod cause;
mod chain;
mod context;
mod cpu;
mod evidence;
mod facts;
pub mod fixes;
mod intern;
mod interruption;
pub mod late;
pub mod ledger;
mod log;
mod names;
mod observer;
mod recorded;
mod rule;
pub mod rules;
mod stack;
mod stream;
mod summary;
mod tally;
mod task;
mod threads;
mod throttles;
mod waking;

pub use cause::CauseId;
pub use chain::{Actor, Arrived, Chain, CpuTimer, Source, Step, Unseen};
pub use context::{Class, Context, Known, KnownCommand, PerfOpener, throttles_threads};
pub use evidence::Evidence;
pub use interruption::{Interruption, Kind, Sent};
pub use recorded::Recorded;
pub use stack::Stack;
pub use stream::{Foreknown, Stream, Survey};
pub use summary::{CauseCount, Summary, TickStopCount};
pub use task::Task;
pub use threads::CommandThreads;
pub use waking::{LONGEST_IDLE_EXIT_NS, Wakeups, Woken};

use attribute::Attributed;
use std::collections::BTreeMap;

/// The interruptions of the CPUs in one window, and their causes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// Every interruption of every CPU, in order of time.
    pub interruptions: Vec<Interruption>,
    /// One summary per CPU, in order of CPU.
    pub per_cpu: Vec<Summary>,
    /// The longest interruptions whose origin could not be named, by CPU, the longest first.
    pub evidence: BTreeMap<u32, Vec<Evidence>>,
}

/// Explains a window: `events` of all its CPUs, sorted by time. Events before the window help, because they show the
/// state at its begin.
pub fn explain(events: &[dyntick_model::Event], context: &Context) -> Explanation {
    let observed = observer::observe(events, context);
    let Attributed { interruptions, evidence } = attribute::attribute(context, observed);
    let per_cpu = tally::summarise(events, context, &interruptions);
    Explanation { interruptions, per_cpu, evidence }
}
