// SPDX-License-Identifier: GPL-2.0-only
//! Idle states: which the governor chose, what the idle periods turned out to be, what woke the CPUs and how
//! long that took, and the energy that a machine would have spent.
//!
//! Pure: events in, figures out. No file, no clock.

mod account;
mod cpu;
mod energy;
mod lengths;
mod observe;
mod sleep;
mod state;
mod timers;
pub mod usage;
mod wheel;

pub use account::{Account, account, tally};
pub use energy::{Energy, Meter, Modelled, energy};
pub use lengths::{LengthClass, lengths};
pub use observe::{Observed, Observer, observe};
pub use sleep::{Inputs, Prediction, Sleep, Start, Tick, Unfinished, Wake, Wakeup};
pub use state::{Miss, State, States};

#[cfg(test)]
mod tests;
