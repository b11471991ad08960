// SPDX-License-Identifier: GPL-2.0-only
//! Functions of the running kernel, timed call by call.

mod cost;
mod counts;
mod error;
mod function;
mod probed;
mod symbols;

pub use cost::{Cost, ProbeCost};
pub use counts::{CallCount, FunctionCalls};
pub use error::CallsError;
pub use function::{Function, Pair};

use dyntick_model::CpuList;
use probed::Probed;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The time in which the kernel frees replaced trampolines, once no task can be in them any more (`call_rcu_tasks`).
/// It waits a quarter of a second for more of them, and then for a grace period. Timers, softirqs and kernel threads
/// do that on any CPU, including those that are measured, so it is waited for.
const SETTLING: Duration = Duration::from_secs(1);

/// Programs at the begin and end of functions. They are gone from the kernel when this is dropped, or the
/// process ends.
pub struct Calls {
    probed: Vec<Probed>,
    costs: Vec<ProbeCost>,
}

impl Calls {
    /// Measures what the probes cost, on the CPU on which this thread runs, and attaches them to each function.
    /// Takes a second more, in which the kernel does what attaching leaves to be done.
    pub fn start(functions: &[Function], cpus: &CpuList) -> Result<Self, CallsError> {
        let cpus: Vec<u32> = cpus.iter().collect();
        symbols::ensure_known(functions)?;
        // Before anything is attached, since what is measured calls functions too.
        let likely: BTreeSet<Pair> =
            functions.iter().map(|function| function.pair.unwrap_or(Pair::Trampoline)).collect();
        let mut costs: BTreeMap<Pair, ProbeCost> =
            likely.into_iter().map(|pair| (pair, cost::measure(pair))).collect();
        let attach = |function: &Function| Probed::attach(function, &cpus);
        let probed = functions.iter().map(attach).collect::<Result<Vec<_>, _>>()?;
        let pairs: BTreeSet<Pair> = probed.iter().map(Probed::pair).collect();
        let cost = |pair| costs.remove(&pair).unwrap_or_else(|| cost::measure(pair));
        let costs = pairs.into_iter().map(cost).collect();
        std::thread::sleep(SETTLING);
        Ok(Self { probed, costs })
    }

    /// Measures the cost of each attached pair of programs.
    pub fn costs(&self) -> &[ProbeCost] {
        &self.costs
    }

    /// Begins anew: all counts are 0. Calls that are open stay so.
    pub fn forget(&mut self) {
        self.probed.iter_mut().for_each(Probed::forget);
    }

    /// The counts so far, in the order in which the functions were named. While the CPUs run on, counts
    /// may be one call apart from each other.
    pub fn read(&self) -> Vec<FunctionCalls> {
        self.probed.iter().map(Probed::read).collect()
    }
}
