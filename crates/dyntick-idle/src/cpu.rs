// SPDX-License-Identifier: GPL-2.0-only
//! One CPU: asleep or awake, its tick, and what it does first after a sleep.

use crate::sleep::{Prediction, Sleep, Tick, Unfinished, Wake};
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
}

struct Asleep {
    state: usize,
    entry_ns: u64,
    tick: Tick,
    next_timer_ns: Option<u64>,
    prediction: Option<Prediction>,
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
        }
    }

    /// The idle task is out of `cpuidle_enter_state`, which counts a sleep at its end.
    pub fn counted(&mut self, now_ns: u64) {
        if let Some(sleep) = self.sleeps.last_mut() {
            sleep.counted_ns = sleep.counted_ns.min(now_ns);
        }
    }

    pub fn enter(&mut self, state: usize, now_ns: u64, next_timer_ns: Option<u64>) {
        self.counted(now_ns);
        self.cause(|| Wake::Flag);
        let prediction = self.prediction.take();
        let stopped = prediction.is_some_and(|prediction| prediction.tick_stopped);
        let tick = if stopped { Tick::Stopped } else { self.tick };
        self.asleep = Some(Asleep { state, entry_ns: now_ns, tick, next_timer_ns, prediction });
    }

    /// The governor is about to choose. What it chose last may not have been entered.
    pub fn predict(&mut self, prediction: Prediction) {
        self.prediction = Some(prediction);
    }

    pub fn leave(&mut self, now_ns: u64) {
        let Some(Asleep { state, entry_ns, tick, next_timer_ns, prediction }) = self.asleep.take() else {
            return;
        };
        let (cpu, wake) = (self.number, Wake::Unknown);
        let (exit_ns, counted_ns) = (now_ns, u64::MAX);
        let sleep =
            Sleep { cpu, state, entry_ns, exit_ns, counted_ns, tick, next_timer_ns, prediction, wake };
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

    pub fn tick_stop(&mut self, success: bool) {
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

    pub fn switch(&mut self, prev: i32, now_ns: u64) {
        self.counted(now_ns);
        self.cause(|| Wake::Flag);
        if prev == IDLE && std::mem::take(&mut self.tick_armed_soon) {
            self.tick = Tick::Running;
        }
    }

    /// The state of the sleep that was going on, or was being left, at this moment and is over now.
    pub fn state_at(&self, moment_ns: u64) -> Option<usize> {
        self.sleeps.last().filter(|sleep| sleep.exit_ns > moment_ns).map(|sleep| sleep.state)
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
