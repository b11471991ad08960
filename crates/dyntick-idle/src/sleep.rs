// SPDX-License-Identifier: GPL-2.0-only
//! The words for an idle period and for what follows it.

use crate::State;
use dyntick_model::{Interrupt, Symbol};
use serde::Serialize;

/// KTIME_MAX stands for a timer that was not looked up, and it less the uptime for none
/// (`tick_nohz_get_sleep_length`). No timer is set half as far.
pub(crate) const NO_TIMER_NS: u64 = i64::MAX as u64 / 2;

/// The tick of a CPU when it went to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tick {
    /// It ran.
    Running,
    /// It was stopped.
    Stopped,
    /// No event showed it.
    Unknown,
}

/// The end of a sleep: the first activity of the CPU afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// Its own timer; with the function of the hrtimer that expired first, if one did.
    Timer(Option<Symbol>),
    /// Another interrupt of the CPU's own or of another CPU.
    #[serde(rename = "vector")]
    Interrupt(Interrupt),
    /// A device.
    Device(Symbol),
    /// No interrupt: another CPU only set the flag that the CPU must reschedule.
    Flag,
    /// Nothing was recorded after it.
    Unknown,
}

/// The inputs of the menu governor's choice (`power:menu_predict` of a patched kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// The idle time that it predicted, ns.
    pub predicted_ns: u64,
    /// The time by which it chose, ns, after its rule for a stopped tick.
    pub used_ns: u64,
    /// The time to the next timer, ns; none where there was none or it did not look it up.
    pub next_timer_ns: Option<u64>,
    /// True if the tick was stopped already when it chose.
    pub tick_stopped: bool,
}

impl Prediction {
    /// The time by which it chose, ns; none where that is the time to a timer that there is not.
    pub fn used_timer_ns(&self) -> Option<u64> {
        Some(self.used_ns).filter(|ns| *ns < NO_TIMER_NS)
    }
}

/// The inputs of the governor's choice that events show, in addition to those of [`Prediction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Inputs {
    /// The time from which the governor counts, ns: the switch to the idle task, or the end of the last interrupt
    /// (`tick_sched.idle_entrytime`).
    pub since_ns: u64,
    /// The tick before the choice. After it, it may be stopped: [`Sleep::tick`].
    pub tick: Tick,
    /// The expiry of the tick's hrtimer before the choice, ns. With a stopped tick that is the next timer of the
    /// timer wheel.
    pub tick_due_ns: Option<u64>,
    /// The expiry of the tick's hrtimer at entry, ns.
    pub tick_timer_ns: Option<u64>,
    /// The expiry of the first other hrtimer of the CPU, ns.
    pub other_timer_ns: Option<u64>,
    /// The time at which a timer of the timer wheel ran that had been set before the choice, ns. One that was
    /// cancelled is not seen.
    pub wheel_ns: Option<u64>,
    /// True if the tick's handler ran after the sleep, before the next one or another task.
    pub ticked: bool,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            since_ns: 0,
            tick: Tick::Unknown,
            tick_due_ns: None,
            tick_timer_ns: None,
            other_timer_ns: None,
            wheel_ns: None,
            ticked: false,
        }
    }
}

/// A sleep that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sleep {
    /// The CPU.
    pub cpu: u32,
    /// The state that the governor asked for.
    pub state: usize,
    /// When it was entered, ns (`power:cpu_idle`).
    pub entry_ns: u64,
    /// When it was left, ns.
    pub exit_ns: u64,
    /// When the kernel has surely counted it, ns: it takes the pending interrupts between leaving a state and
    /// counting the sleep. The latest possible time if no event shows it.
    pub counted_ns: u64,
    /// The tick, at entry.
    pub tick: Tick,
    /// When the CPU's next hrtimer would expire, at entry, ns; none where none was seen to be armed.
    pub next_timer_ns: Option<u64>,
    /// The governor's prediction, if its kernel reports it.
    pub prediction: Option<Prediction>,
    /// The other inputs of the choice.
    pub inputs: Inputs,
    /// The end of the sleep.
    pub wake: Wake,
    /// The other CPU that woke a task of this one while it slept, if one did (`sched:sched_waking`).
    pub waker: Option<u32>,
}

impl Sleep {
    /// From entry to exit as the trace has it, ns. The kernel reads its clock within, so that it counts
    /// less by what the two trace points cost.
    pub fn duration_ns(&self) -> u64 {
        self.exit_ns - self.entry_ns
    }

    /// The time from entry to the wake-up, ns: without the exit latency.
    pub fn idle_ns(&self, state: &State) -> u64 {
        self.duration_ns().saturating_sub(state.leaving_ns)
    }
}

/// A sleep that was still going on when recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// The CPU.
    pub cpu: u32,
    /// The state.
    pub state: usize,
    /// When it was entered, ns.
    pub entry_ns: u64,
}

/// The moment from which a wake-up is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Another CPU began to wake the task (`sched:sched_waking`).
    Waker,
    /// The timer was due whose handler woke it.
    Timer,
    /// An interrupt of the CPU's own, of unknown time, woke it: timed from `sched_waking` in its handler, so
    /// that the latency of leaving the idle state is not in it.
    Handler,
}

/// A task that was woken, until it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wakeup {
    /// The CPU that it ran on.
    pub cpu: u32,
    /// The task.
    pub pid: i32,
    /// When the wake-up began, ns.
    pub start_ns: u64,
    /// The time from there until the task was switched to (`sched:sched_switch`), ns.
    pub latency_ns: u64,
    /// The meaning of `start_ns`.
    pub start: Start,
    /// The idle state that the CPU had to leave for it; none where it was awake.
    pub state: Option<usize>,
}
