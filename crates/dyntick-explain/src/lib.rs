// SPDX-License-Identifier: GPL-2.0-only
//! From what a kernel reported to what interrupted each CPU, and why.
//!
//! Pure: events and a [`Context`] in, an [`Explanation`] out. No file, no clock, no state between
//! calls, so that the same code serves a recorded study and a live machine.

mod attribute;
mod case;
mod cause;
mod context;
mod cpu;
mod evidence;
mod facts;
mod interruption;
mod log;
mod names;
mod observer;
pub mod rules;
mod summary;
mod tally;

pub use cause::CauseId;
pub use context::{Class, Context, Known};
pub use interruption::{Interruption, Kind, Task};
pub use summary::{CauseCount, Summary, TickStopCount};

/// What interrupted the CPUs of one window, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// Every interruption of every CPU, in order of time.
    pub interruptions: Vec<Interruption>,
    /// One summary per CPU, in order of CPU.
    pub per_cpu: Vec<Summary>,
}

/// Explains a window: `events` of all its CPUs, sorted by time. Events from before the window help:
/// they tell the state in which it began.
pub fn explain(events: &[dyntick_model::Event], context: &Context) -> Explanation {
    let observed = observer::observe(events, context);
    let interruptions = attribute::attribute(events, context, observed);
    let per_cpu = tally::summarise(events, context, &interruptions);
    Explanation { interruptions, per_cpu }
}
