// SPDX-License-Identifier: GPL-2.0-only
//! The calls of the kernel's functions that were timed.

use dyntick_observe::live::{FunctionCalls, ProbeCost};

/// Calls that were timed in one measurement.
pub struct TimedCalls {
    /// Each function, in the order in which they were named.
    pub functions: Vec<FunctionCalls>,
    /// The cost of the probes.
    pub costs: Vec<ProbeCost>,
    /// True if the kinds of interruptions are counted at the same time, by programs that may run within a call.
    pub with_others: bool,
}

impl TimedCalls {
    /// Adds those of another run.
    pub fn add(&mut self, other: &TimedCalls) {
        self.functions.iter_mut().zip(&other.functions).for_each(|(sum, more)| sum.add(more));
    }
}
