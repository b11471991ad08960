// SPDX-License-Identifier: GPL-2.0-only
//! The decisions of a recording: from the idle periods that its events show.

use crate::Decision;
use crate::decision::Lengths;
use dyntick_idle::{Inputs, Sleep, States, Tick, Wake};
use dyntick_model::{CpuList, Symbol, TICK_FUNCTIONS, function_of};
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
    /// The recorded CPUs: of others the events are not complete.
    pub cpus: CpuList,
    /// True if events show when timers are set.
    pub timers_known: bool,
}

/// The numbers of decisions with an input that no event shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assumed {
    /// The time to the next timer is not known.
    pub timer: u64,
    /// The tick is not known; assumed to run.
    pub tick: u64,
    /// No timer was seen to be set; the tick is assumed to come after half a tick.
    pub next_tick: u64,
}

/// Makes decisions of sleeps, which come in order of time for each CPU.
pub struct Decider {
    facts: Facts,
    /// The end of the last sleep of each CPU, ns.
    since: BTreeMap<u32, u64>,
    /// The numbers of inputs that no event shows.
    pub assumed: Assumed,
}

impl Decider {
    /// Creates one for a recording.
    pub fn new(facts: Facts) -> Self {
        Self { facts, since: BTreeMap::new(), assumed: Assumed::default() }
    }

    /// The decision that led to a sleep; none of a CPU that was not recorded, or of a state that is not known.
    pub fn decision(&mut self, sleep: &Sleep) -> Option<Decision> {
        let facts = &self.facts;
        if !facts.cpus.contains(sleep.cpu) {
            return None;
        }
        let state = facts.states.get(sleep.state)?;
        // After a sleep that no interrupt ended the kernel counts from before it.
        let last = self.since.insert(sleep.cpu, sleep.exit_ns).unwrap_or(0);
        let select_ns = sleep.inputs.since_ns.clamp(last.min(sleep.entry_ns), sleep.entry_ns);
        let inputs = &sleep.inputs;
        let wake_ns = sleep.exit_ns.saturating_sub(state.leaving_ns).max(sleep.entry_ns);
        let timer_is_assumed = sleep.tick != Tick::Stopped || !facts.timers_known;
        let tick_is_assumed = inputs.tick != Tick::Stopped && inputs.tick_due_ns.is_none();
        self.assumed.timer += u64::from(timer_is_assumed);
        self.assumed.tick += u64::from(inputs.tick == Tick::Unknown);
        self.assumed.next_tick += u64::from(tick_is_assumed);
        let lengths = |timers| {
            let next = if facts.timers_known {
                next_timer(sleep, timers)
            } else {
                unknown_timer(sleep, wake_ns, timers)
            };
            lengths(inputs, select_ns, facts.hz, next)
        };
        Some(Decision {
            cpu: sleep.cpu,
            select_ns,
            wake_ns,
            exit_ns: sleep.exit_ns,
            residency_ns: sleep.duration_ns(),
            seen: lengths(Timers::Seen),
            earliest: lengths(Timers::Earliest),
            latest: lengths(Timers::Latest),
            chosen: u8::try_from(sleep.state).ok(),
            tick_stopped: inputs.tick == Tick::Stopped,
            tick_was_off: sleep.tick == Tick::Stopped,
            got_tick: inputs.ticked,
            tick_is_assumed: tick_is_assumed || inputs.tick == Tick::Unknown,
            wake: 0,
            waker: sleep.waker,
        })
    }
}

/// The time of timers that no event shows: those of a tick that goes on, where no other hrtimer was set; or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timers {
    /// A timer that ran later and had been set before, or that woke the CPU; else none.
    Seen,
    /// The next tick, or the wake-up: the earliest that is possible.
    Earliest,
    /// None: the latest.
    Latest,
}

fn first(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// The next timers of a CPU without its tick, ns.
#[derive(Clone, Copy)]
struct Next {
    /// The first of all.
    any: Option<u64>,
    /// The first that does not wait for a tick.
    precise: Option<u64>,
}

/// The next timers by their events. Where the kernel stopped the tick, its hrtimer was set for the next timer of the
/// timer wheel.
fn next_timer(sleep: &Sleep, timers: Timers) -> Next {
    let inputs = &sleep.inputs;
    let precise = inputs.other_timer_ns;
    let any = match timers {
        _ if sleep.tick == Tick::Stopped => first(inputs.tick_timer_ns, precise),
        Timers::Seen => first(inputs.wheel_ns, precise),
        Timers::Earliest => first(inputs.tick_due_ns, precise),
        Timers::Latest => precise,
    };
    Next { any, precise }
}

/// The next timers of a trace that does not show when they are set. None was due before the wake-up.
fn unknown_timer(sleep: &Sleep, wake_ns: u64, timers: Timers) -> Next {
    let is_tick = |function: &Symbol| TICK_FUNCTIONS.contains(&function_of(function));
    let is_due = match timers {
        Timers::Seen => match &sleep.wake {
            Wake::Timer(Some(function)) => sleep.tick == Tick::Stopped || !is_tick(function),
            wake => matches!(wake, Wake::Timer(None)),
        },
        Timers::Earliest => true,
        Timers::Latest => false,
    };
    let at = is_due.then_some(wake_ns);
    Next { any: at, precise: at }
}

/// The times to the next timer without and with the tick (`kernel/time/tick-sched.c: tick_nohz_get_sleep_length`, 6.1
/// to 7.2).
fn lengths(inputs: &Inputs, select_ns: u64, hz: u32, next: Next) -> Lengths {
    let until = |at: Option<u64>| at.map_or(KTIME_MAX - select_ns as i64, |at| at as i64 - select_ns as i64);
    let tick_ns = 1_000_000_000 / u64::from(hz.max(1));
    let with_tick = if inputs.tick == Tick::Stopped {
        next.any
    } else {
        let tick = inputs.tick_due_ns.unwrap_or(select_ns + tick_ns / 2);
        first(Some(tick), next.precise)
    };
    let delta_tick_ns = until(with_tick);
    // A timer of the wheel runs at a tick: no sleep is shorter than until then.
    Lengths { sleep_length_ns: until(next.any).max(delta_tick_ns), delta_tick_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_idle::State;

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
            cpus: "1".parse().unwrap(),
            timers_known: true,
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
            waker: None,
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
            [sleep(1, 1000, 9200, Tick::Stopped, stopped), sleep(0, 10_000, 10_500, Tick::Running, kept)];
        let mut decider = Decider::new(facts());
        let [first, second] = sleeps.map(|sleep| decider.decision(&sleep).unwrap());
        assert_eq!((first.select_ns, first.wake_ns, first.residency_ns), (990 * US, 9000 * US, 8200 * US));
        assert_eq!((first.seen.sleep_length_ns, first.seen.delta_tick_ns), (8_010_000, 2_010_000));
        assert_eq!((first.earliest, first.latest), (first.seen, first.seen));
        assert_eq!(first.chosen, Some(1));
        assert!(!first.tick_stopped && first.tick_was_off && !first.got_tick);
        assert_eq!(second.seen.sleep_length_ns, 20_010_000);
        assert_eq!(second.earliest.sleep_length_ns, 2_010_000);
        assert!(second.latest.sleep_length_ns > i64::MAX / 2);
        assert_eq!(decider.assumed, Assumed { timer: 1, tick: 0, next_tick: 0 });
        let other = Sleep { cpu: 2, ..sleep(0, 11_000, 12_000, Tick::Running, kept) };
        let unknown = sleep(7, 11_000, 12_000, Tick::Running, kept);
        assert_eq!([other, unknown].map(|sleep| decider.decision(&sleep)), [None, None]);
    }

    /// The bounds of a trace without timers are the sleep itself and none; a timer that woke the CPU was the next one,
    /// unless it was the tick.
    #[test]
    fn unknown_timers_have_bounds() {
        let mut decider = Decider::new(Facts { timers_known: false, ..facts() });
        let mut lengths = |wake| {
            let inputs = Inputs { since_ns: 1000 * US, ..Inputs::default() };
            let sleep = Sleep { wake, ..sleep(0, 1000, 9001, Tick::Unknown, inputs) };
            let Decision { seen, earliest, latest, .. } = decider.decision(&sleep).unwrap();
            assert_eq!((earliest.sleep_length_ns, earliest.delta_tick_ns), (8_000_000, 2_000_000));
            assert!(latest.sleep_length_ns > i64::MAX / 2 && latest.delta_tick_ns == 2_000_000);
            (seen == earliest, seen == latest)
        };
        assert_eq!(lengths(Wake::Timer(Some("hrtimer_wakeup".into()))), (true, false));
        assert_eq!(lengths(Wake::Timer(Some("tick_nohz_handler".into()))), (false, true));
        assert_eq!(lengths(Wake::Flag), (false, true));
        assert_eq!(decider.assumed, Assumed { timer: 3, tick: 3, next_tick: 3 });
    }
}
