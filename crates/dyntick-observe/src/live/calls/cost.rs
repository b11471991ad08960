// SPDX-License-Identifier: GPL-2.0-only
//! The cost of the programs at a function, measured at a system call, which is cheap.

use super::{Pair, probed::Probed};
use crate::thread::now_ns;
use dyntick_model::CpuList;
use dyntick_system::{affinity, run_on};
use rustix::thread::sched_getcpu;

/// The cost of a pair of programs per call, measured on calls of a function that does next to nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeCost {
    /// The pair of programs.
    pub pair: Pair,
    /// The cost, or why it was not measured.
    pub measured: Result<Cost, String>,
}

/// The cost of a pair of programs, where caches and predictors know them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// By how much a call takes longer, ns: the difference between the fastest rounds with and without programs.
    pub added_ns: f64,
    /// The shortest call that the programs timed, ns: at most so much of any call's figure is theirs.
    pub inside_ns: u64,
    /// The number of calls that were timed.
    pub calls: u64,
    /// On which CPU.
    pub cpu: u32,
}

/// The system call that is timed: it reads one number (kernel/sys.c). Type information knows it by this name, of
/// which `__x64_sys_getppid` is another (arch/x86/include/asm/syscall_wrapper.h).
const FUNCTION: &str = "__do_sys_getppid";
/// Rounds, of which the fastest counts: what comes between makes the others slower.
const ROUNDS: u64 = 20;
/// Calls in a round.
const EACH: u64 = 500;

/// Measures a pair on the CPU on which this thread runs, where it stays meanwhile.
pub fn measure(pair: Pair) -> ProbeCost {
    ProbeCost { pair, measured: on_one_cpu(|cpu| with_and_without(pair, cpu)) }
}

fn on_one_cpu(measure: impl FnOnce(u32) -> Result<Cost, String>) -> Result<Cost, String> {
    let cpu = sched_getcpu() as u32;
    let before = affinity(None).map_err(|error| error.to_string())?;
    run_on(None, &CpuList::from_iter([cpu])).map_err(|error| format!("cannot stay on CPU {cpu}: {error}"))?;
    let measured = measure(cpu);
    run_on(None, &before).map_err(|error| error.to_string())?;
    measured
}

fn with_and_without(pair: Pair, cpu: u32) -> Result<Cost, String> {
    let before = fastest();
    let probed = Probed::attach_by(FUNCTION, pair, &[cpu]).map_err(|error| error.to_string())?;
    let with = fastest();
    let timed = probed.read().together();
    drop(probed);
    let without = before.min(fastest());
    let inside_ns = timed.shortest_ns.ok_or("the eBPF programs saw no call of getppid()")?;
    let added = with.saturating_sub(without) as f64 / EACH as f64;
    Ok(Cost { added_ns: added, inside_ns, calls: timed.ended(), cpu })
}

/// Returns the duration of the fastest round, ns.
fn fastest() -> u64 {
    let round = |_| {
        let begin = now_ns();
        for _ in 0..EACH {
            std::hint::black_box(rustix::process::getppid());
        }
        now_ns() - begin
    };
    (0..ROUNDS).map(round).min().unwrap_or(0)
}
