// SPDX-License-Identifier: GPL-2.0-only
//! One CPU: asleep or awake, its tick, and what it does first after a sleep.

use crate::sleep::{Inputs, Prediction, Sleep, Tick, Unfinished, Wake};
use dyntick_model::{Interrupt, Symbol};

/// The idle task.
const IDLE: i32 = 0;

pub(crate) struct Cpu {
    number: u32,
    tick_ns: u64,
    asleep: Option<Asleep>,
    pub sleeps: Vec<Sleep>,
    /// The last sleep ended, and no event has shown the reason yet.
    cause_wanted: bool,
    tick: Tick,
    /// The idle task armed the tick's timer within a tick: it goes on ticking if it is left now.
    tick_armed_soon: bool,
    /// Since the last sleep began.
    prediction: Option<Prediction>,
    /// When the timer was due whose handler runs.
    pub running_timer_due_ns: Option<u64>,
    /// The switch to the idle task, or the end of the last interrupt of it.
    since_ns: u64,
    /// No sleep began since the switch to the idle task.
    is_fresh: bool,
    /// The tick's handler ran, and belongs to the next sleep that ends.
    ticked: bool,
    /// The idle task stopped the tick since the last sleep; with the tick's expiry until then.
    stopping: Option<Option<u64>>,
}

struct Asleep {
    state: usize,
    entry_ns: u64,
    tick: Tick,
    next_timer_ns: Option<u64>,
    prediction: Option<Prediction>,
    inputs: Inputs,
    waker: Option<u32>,
}

impl Cpu {
    pub fn new(number: u32, tick_ns: u64) -> Self {
        Self {
            number,
            tick_ns,
            asleep: None,
            sleeps: Vec::new(),
            cause_wanted: false,
            tick: Tick::Unknown,
            tick_armed_soon: false,
            prediction: None,
            running_timer_due_ns: None,
            since_ns: 0,
            is_fresh: false,
            ticked: false,
            stopping: None,
        }
    }

    /// The idle task is out of `cpuidle_enter_state`, which counts a sleep at its end.
    pub fn counted(&mut self, now_ns: u64) {
        if let Some(sleep) = self.sleeps.last_mut() {
            sleep.counted_ns = sleep.counted_ns.min(now_ns);
        }
    }

    /// It goes to sleep, with the expiries of its tick's hrtimer and of its other hrtimers.
    pub fn enter(&mut self, state: usize, now_ns: u64, tick_timer: Option<u64>, other_timer: Option<u64>) {
        self.counted(now_ns);
        self.cause(|| Wake::Flag);
        let stopping = self.stopping.take();
        let inputs = Inputs {
            since_ns: if self.since_ns == 0 { now_ns } else { self.since_ns },
            tick: if stopping.is_some() { Tick::Running } else { self.tick },
            tick_due_ns: stopping.unwrap_or(tick_timer),
            tick_timer_ns: tick_timer,
            other_timer_ns: other_timer,
            ..Inputs::default()
        };
        let next_timer_ns = tick_timer.into_iter().chain(other_timer).min();
        self.is_fresh = false;
        let prediction = self.prediction.take();
        let stopped = prediction.is_some_and(|prediction| prediction.tick_stopped);
        let tick = if stopped { Tick::Stopped } else { self.tick };
        let (entry_ns, waker) = (now_ns, None);
        self.asleep = Some(Asleep { state, entry_ns, tick, next_timer_ns, prediction, inputs, waker });
    }

    /// Another CPU wakes a task of this one.
    pub fn woken_by(&mut self, other: u32) {
        if let Some(asleep) = &mut self.asleep {
            asleep.waker.get_or_insert(other);
        }
    }

    /// The governor is about to choose. What it chose last may not have been entered.
    pub fn predict(&mut self, prediction: Prediction) {
        self.prediction = Some(prediction);
    }

    pub fn leave(&mut self, now_ns: u64) {
        let Some(Asleep { state, entry_ns, tick, next_timer_ns, prediction, inputs, waker }) =
            self.asleep.take()
        else {
            return;
        };
        let inputs = Inputs { ticked: std::mem::take(&mut self.ticked), ..inputs };
        let (cpu, wake) = (self.number, Wake::Unknown);
        let (exit_ns, counted_ns) = (now_ns, u64::MAX);
        let sleep = Sleep {
            cpu,
            state,
            entry_ns,
            exit_ns,
            counted_ns,
            tick,
            next_timer_ns,
            prediction,
            inputs,
            wake,
            waker,
        };
        self.sleeps.push(sleep);
        self.cause_wanted = true;
    }

    /// The last sleep's cause, if it is not known yet. Interrupts within a polling sleep do not end it.
    fn cause(&mut self, wake: impl FnOnce() -> Wake) {
        if std::mem::take(&mut self.cause_wanted) {
            if let Some(sleep) = self.sleeps.last_mut() {
                sleep.wake = wake();
            }
        }
    }

    pub fn interrupt(&mut self, source: Interrupt) {
        self.cause(|| match source {
            Interrupt::Timer => Wake::Timer(None),
            source => Wake::Interrupt(source),
        });
    }

    pub fn device(&mut self, name: &Symbol) {
        // Interrupts of devices have no `InterruptEntry`.
        self.cause(|| Wake::Device(name.clone()));
    }

    pub fn expire(&mut self, function: &Symbol, due_ns: Option<u64>) {
        self.running_timer_due_ns = due_ns;
        if let Some(Sleep { wake: Wake::Timer(first @ None), .. }) = self.sleeps.last_mut() {
            *first = Some(function.clone());
        }
    }

    pub fn expired(&mut self) {
        self.running_timer_due_ns = None;
    }

    /// The tick is stopped or was to be, by a thread; its hrtimer expires at `due`.
    pub fn tick_stop(&mut self, success: bool, pid: i32, due_ns: Option<u64>) {
        if success && pid == IDLE && self.tick != Tick::Stopped {
            self.stopping = Some(due_ns);
        }
        self.tick = if success { Tick::Stopped } else { Tick::Running };
        self.tick_armed_soon = false;
    }

    /// The tick's timer is armed. A task's CPU ticks on if it is armed within a tick; the idle task also arms
    /// it for the next timer of the wheel before it sleeps, and starts to tick only when it is left.
    pub fn arm_tick(&mut self, pid: i32, expires_ns: i64, now_ns: u64) {
        let soon = expires_ns <= (now_ns + self.tick_ns) as i64;
        match pid {
            IDLE => self.tick_armed_soon = soon,
            _ if soon => self.tick = Tick::Running,
            _ => {}
        }
    }

    /// An interrupt or softirq ends. The idle task's timers are counted from then on.
    pub fn interrupted(&mut self, pid: i32, now_ns: u64) {
        if pid == IDLE {
            self.since_ns = now_ns;
        }
    }

    /// The tick's handler runs in the idle task.
    pub fn ticked(&mut self) {
        match self.sleeps.last_mut() {
            Some(sleep) if self.asleep.is_none() && !self.is_fresh => sleep.inputs.ticked = true,
            _ => self.ticked = true,
        }
    }

    pub fn switch(&mut self, prev: i32, next: i32, now_ns: u64) {
        self.counted(now_ns);
        self.cause(|| Wake::Flag);
        self.stopping = None;
        self.is_fresh = next == IDLE;
        if next == IDLE {
            self.since_ns = now_ns;
        }
        if prev == IDLE && std::mem::take(&mut self.tick_armed_soon) {
            self.tick = Tick::Running;
        }
    }

    /// The state of the sleep that was going on, or was being left, at this moment and is over now.
    pub fn state_at(&self, moment_ns: u64) -> Option<usize> {
        self.sleeps.last().filter(|sleep| sleep.exit_ns > moment_ns).map(|sleep| sleep.state)
    }

    /// The number of sleeps, the first ones, that no later event changes. The last one is not counted, nor, up to a
    /// limit, sleeps whose timer of the timer wheel may still run.
    pub fn done(&self) -> usize {
        const MOST: usize = 4096;
        let ended = self.sleeps.len().saturating_sub(1);
        let is_open = |sleep: &Sleep| sleep.inputs.wheel_ns.is_none() && sleep.tick != Tick::Stopped;
        let known = self.sleeps[..ended].iter().position(is_open).unwrap_or(ended);
        known.max(ended.saturating_sub(MOST))
    }

    /// The time from which the timers of the first sleep that is kept count, ns.
    pub fn begin_ns(&self) -> u64 {
        let open = self.asleep.as_ref().map(|asleep| asleep.inputs.since_ns);
        let first = self.sleeps.first().map(|sleep| sleep.inputs.since_ns).or(open);
        // Before the first switch to the idle task, a sleep counts from its own begin.
        first.unwrap_or(if self.since_ns == 0 { u64::MAX } else { self.since_ns })
    }

    pub fn finish(self) -> (Vec<Sleep>, Option<Unfinished>) {
        let open = self.asleep.map(|Asleep { state, entry_ns, .. }| Unfinished {
            cpu: self.number,
            state,
            entry_ns,
        });
        (self.sleeps, open)
    }
}
