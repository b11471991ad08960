// SPDX-License-Identifier: GPL-2.0-only
//! The decisions of a recording: from the idle periods that its events show.

use crate::Decision;
use dyntick_idle::{Observed, Sleep, States, Tick};
use dyntick_model::CpuList;
use std::collections::BTreeMap;

/// `KTIME_MAX`: no timer.
const KTIME_MAX: i64 = i64::MAX;

/// The facts of a recording that its events do not show.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The idle states.
    pub states: States,
    /// Ticks per second.
    pub hz: u32,
    /// The states of each CPU that were disabled, one bit each.
    pub disabled: BTreeMap<u32, u16>,
    /// The latency limit of each CPU, ns.
    pub limits_ns: BTreeMap<u32, u64>,
    /// The recorded CPUs: of others the events are not complete.
    pub cpus: CpuList,
}

/// The time of timers that no event shows: those of a tick that goes on, where no other hrtimer was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// A timer that ran later and had been set before; else none.
    Seen,
    /// The next tick: the earliest that is possible.
    Earliest,
    /// None: the latest.
    Latest,
}

/// The decisions of a recording with their sleeps, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The decisions.
    pub decisions: Vec<Decision>,
    /// The sleep of each.
    pub sleeps: Vec<Sleep>,
    /// The numbers of inputs that no event shows.
    pub assumed: Assumed,
}

/// The numbers of decisions with an input that no event shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assumed {
    /// The time to the next timer is not known: [`Timers`].
    pub timer: u64,
    /// The tick is not known; assumed to run.
    pub tick: u64,
    /// No timer was seen to be set; the tick is assumed to come after half a tick.
    pub next_tick: u64,
}

/// Makes the decisions of a recording.
pub fn decisions(observed: &Observed, facts: &Facts, timers: Timers) -> Recorded {
    let mut recorded = Recorded::default();
    let mut since: BTreeMap<u32, u64> = BTreeMap::new();
    let known = |sleep: &&Sleep| facts.cpus.contains(sleep.cpu) && sleep.state < facts.states.0.len();
    let mut sleeps: Vec<&Sleep> = observed.sleeps.iter().filter(known).collect();
    sleeps.sort_by_key(|sleep| sleep.entry_ns);
    for sleep in sleeps {
        // After a sleep that no interrupt ended the kernel counts from before it.
        let last = since.insert(sleep.cpu, sleep.exit_ns).unwrap_or(0);
        let select_ns = sleep.inputs.since_ns.clamp(last.min(sleep.entry_ns), sleep.entry_ns);
        recorded.decisions.push(decision(sleep, select_ns, facts, timers, &mut recorded.assumed));
        recorded.sleeps.push(sleep.clone());
    }
    recorded
}

fn decision(sleep: &Sleep, select_ns: u64, facts: &Facts, timers: Timers, assumed: &mut Assumed) -> Decision {
    let leaving_ns = facts.states.get(sleep.state).map_or(0, |state| state.leaving_ns);
    let Lengths { sleep_length_ns, delta_tick_ns } = lengths(sleep, select_ns, facts, timers, assumed);
    assumed.tick += u64::from(sleep.inputs.tick == Tick::Unknown);
    let limit_ns = facts.limits_ns.get(&sleep.cpu).and_then(|ns| i64::try_from(*ns).ok());
    Decision {
        cpu: sleep.cpu,
        select_ns,
        wake_ns: sleep.exit_ns.saturating_sub(leaving_ns).max(sleep.entry_ns),
        exit_ns: sleep.exit_ns,
        residency_ns: sleep.duration_ns(),
        sleep_length_ns,
        delta_tick_ns,
        latency_ns: limit_ns.unwrap_or(Decision::NO_LIMIT),
        iowaiters: 0,
        disabled: facts.disabled.get(&sleep.cpu).copied().unwrap_or(0),
        chosen: u8::try_from(sleep.state).ok(),
        tick_stopped: sleep.inputs.tick == Tick::Stopped,
        tick_was_off: sleep.tick == Tick::Stopped,
        got_tick: sleep.inputs.ticked,
    }
}

struct Lengths {
    sleep_length_ns: i64,
    delta_tick_ns: i64,
}

/// The times to the next timer without and with the tick (`kernel/time/tick-sched.c: tick_nohz_get_sleep_length`, 6.1
/// to 7.2). Where the kernel stopped the tick, its hrtimer was set for the next timer of the timer wheel.
fn lengths(sleep: &Sleep, select_ns: u64, facts: &Facts, timers: Timers, assumed: &mut Assumed) -> Lengths {
    let inputs = &sleep.inputs;
    let until = |at: Option<u64>| at.map_or(KTIME_MAX - select_ns as i64, |at| at as i64 - select_ns as i64);
    let first = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    let without_tick = if sleep.tick == Tick::Stopped {
        first(inputs.tick_timer_ns, inputs.other_timer_ns)
    } else {
        assumed.timer += 1;
        match timers {
            Timers::Seen => first(inputs.wheel_ns, inputs.other_timer_ns),
            Timers::Earliest => first(inputs.tick_due_ns, inputs.other_timer_ns),
            Timers::Latest => inputs.other_timer_ns,
        }
    };
    let tick_ns = 1_000_000_000 / u64::from(facts.hz.max(1));
    let with_tick = if inputs.tick == Tick::Stopped {
        without_tick
    } else {
        assumed.next_tick += u64::from(inputs.tick_due_ns.is_none());
        let tick = inputs.tick_due_ns.unwrap_or(select_ns + tick_ns / 2);
        first(Some(tick), inputs.other_timer_ns)
    };
    let delta_tick_ns = until(with_tick);
    // A timer of the wheel runs at a tick: no sleep is shorter than until then.
    Lengths { sleep_length_ns: until(without_tick).max(delta_tick_ns), delta_tick_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_idle::{Inputs, State, Wake};

    const US: u64 = 1000;

    fn facts() -> Facts {
        let state = |name: &str, us: u64| State {
            name: name.to_owned(),
            exit_latency_ns: us * US,
            target_residency_ns: us * US,
            leaving_ns: us * US,
            polling: false,
            disabled: false,
        };
        Facts {
            states: States(vec![state("C1", 1), state("C6", 200)]),
            hz: 250,
            disabled: [(1, 2)].into(),
            limits_ns: [(1, 50 * US)].into(),
            cpus: "1".parse().unwrap(),
        }
    }

    fn sleep(state: usize, entry_us: u64, exit_us: u64, tick: Tick, inputs: Inputs) -> Sleep {
        Sleep {
            cpu: 1,
            state,
            entry_ns: entry_us * US,
            exit_ns: exit_us * US,
            counted_ns: u64::MAX,
            tick,
            next_timer_ns: None,
            prediction: None,
            inputs,
            wake: Wake::Unknown,
        }
    }

    #[test]
    fn timers_count_from_the_begin_of_the_idle_period() {
        let at = |us: u64| Some(us * US);
        let stopped = Inputs {
            since_ns: 990 * US,
            tick: Tick::Running,
            tick_due_ns: at(3000),
            tick_timer_ns: at(20_000),
            other_timer_ns: at(9000),
            ..Inputs::default()
        };
        let kept =
            Inputs { since_ns: 9990 * US, tick: Tick::Running, tick_due_ns: at(12_000), ..Inputs::default() };
        let kept = Inputs { wheel_ns: at(30_000), ..kept };
        let sleeps =
            vec![sleep(1, 1000, 9200, Tick::Stopped, stopped), sleep(0, 10_000, 10_500, Tick::Running, kept)];
        let observed = Observed { sleeps, ..Observed::default() };
        let of = |timers| decisions(&observed, &facts(), timers);
        let seen = of(Timers::Seen);
        let first = &seen.decisions[0];
        assert_eq!((first.select_ns, first.wake_ns, first.residency_ns), (990 * US, 9000 * US, 8200 * US));
        assert_eq!((first.sleep_length_ns, first.delta_tick_ns), (8_010_000, 2_010_000));
        assert_eq!((first.latency_ns, first.disabled, first.chosen), (50_000, 2, Some(1)));
        assert!(!first.tick_stopped && first.tick_was_off && !first.got_tick);
        let lengths = |timers| of(timers).decisions[1].sleep_length_ns;
        assert_eq!(lengths(Timers::Seen), 20_010_000);
        assert_eq!(lengths(Timers::Earliest), 2_010_000);
        assert!(lengths(Timers::Latest) > i64::MAX / 2);
        assert_eq!(seen.assumed, Assumed { timer: 1, tick: 0, next_tick: 0 });
    }
}
