// SPDX-License-Identifier: GPL-2.0-only
//! Calls of a chosen kernel function, from its first instruction until its caller goes on.

use crate::count::Counts;

/// A call that is under way within a kernel entry.
#[derive(Clone, Debug)]
struct Call {
    function: u32,
    /// The caller: the function to which control returns.
    caller: Option<u32>,
    /// The execution of it and all that it calls; interrupts that come meanwhile are separate entries.
    counts: Counts,
}

/// The calls of one kernel entry that are under way, the innermost last. Each function is there once: where
/// it calls itself, the outer call goes on.
#[derive(Clone, Debug, Default)]
pub struct Calls(Vec<Call>);

impl Calls {
    /// A chosen function begins.
    pub fn begin(&mut self, function: u32, caller: Option<u32>) {
        if self.0.iter().all(|call| call.function != function) {
            self.0.push(Call { function, caller, counts: Counts::default() });
        }
    }

    /// Control is in this function. Returns the calls that it had made and that have ended so, with what they executed.
    pub fn arrive(&mut self, function: Option<u32>) -> Vec<(u32, Counts)> {
        match self.0.iter().position(|call| call.caller == function && Some(call.function) != function) {
            Some(outermost) => self.0.drain(outermost..).map(|call| (call.function, call.counts)).collect(),
            None => Vec::new(),
        }
    }

    /// Instructions that were executed.
    pub fn count(&mut self, function: Option<u32>, instructions: u64) {
        self.0.iter_mut().for_each(|call| call.counts.add(function, instructions));
    }

    /// One of them was not.
    pub fn take_back(&mut self, function: Option<u32>) {
        self.0.iter_mut().for_each(|call| call.counts.take_back(function));
    }

    /// Roughly its rows in memory.
    pub fn rows(&self) -> usize {
        self.0.iter().map(|call| 1 + call.counts.iter().len()).sum()
    }
}
