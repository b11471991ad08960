// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own counters of idle states, counted from the trace.

use crate::observe::Observed;
use crate::sleep::Sleep;
use crate::state::{Miss, States};
use dyntick_stats::Histogram;
use serde::{Deserialize, Serialize};

/// The counters of one state, as in `/sys/devices/system/cpu/cpuN/cpuidle/stateM`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Sleeps in it that ended.
    pub usage: u64,
    /// Their total duration, ns, including the part before the window.
    pub time_ns: u64,
    /// The time that the CPU was in it within the window, ns, including a sleep that had not ended. The
    /// kernel does not count this.
    pub resident_ns: u64,
    /// Sleeps that were too short for it.
    pub above: u64,
    /// Sleeps that were long enough for a deeper one.
    pub below: u64,
    /// The duration of each, ns.
    pub residency: Histogram,
}

/// The accounts of all states over these sleeps.
///
/// The kernel reads its clock between the two trace points of a sleep; `cost_ns` is what it therefore
/// counts less for each.
pub fn tally<'a>(states: &States, sleeps: impl Iterator<Item = &'a Sleep>, cost_ns: u64) -> Vec<Account> {
    let mut accounts = vec![Account::default(); states.0.len()];
    for sleep in sleeps {
        let Some(account) = accounts.get_mut(sleep.state) else { continue };
        let duration_ns = sleep.duration_ns().saturating_sub(cost_ns);
        account.usage += 1;
        account.time_ns += duration_ns;
        account.residency.add(duration_ns, 1);
        match states.judge(sleep.state, duration_ns) {
            Some(Miss::Above) => account.above += 1,
            Some(Miss::Below) => account.below += 1,
            None => {}
        }
    }
    accounts
}

/// The accounts of all states of a CPU, in their order, over the sleeps that ended from `begin` on and before `end`.
/// `cost_ns` as in [`tally`].
pub fn account(
    states: &States,
    observed: &Observed,
    cpu: u32,
    (begin, end): (u64, u64),
    cost_ns: u64,
) -> Vec<Account> {
    let own = || observed.sleeps.iter().filter(|sleep| sleep.cpu == cpu);
    let ended = own().filter(|sleep| (begin..end).contains(&sleep.exit_ns));
    let mut accounts = tally(states, ended, cost_ns);
    let mut reside = |state: usize, from: u64, to: u64| {
        if let Some(account) = accounts.get_mut(state) {
            account.resident_ns += to.min(end).saturating_sub(from.max(begin));
        }
    };
    own().for_each(|sleep| reside(sleep.state, sleep.entry_ns, sleep.exit_ns));
    let open = observed.unfinished.iter().filter(|open| open.cpu == cpu);
    open.for_each(|open| reside(open.state, open.entry_ns, end));
    accounts
}
