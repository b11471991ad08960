// SPDX-License-Identifier: GPL-2.0-only
//! Cuts the events of all CPUs into sleeps and wake-ups, in one pass.

use crate::cpu::Cpu;
use crate::sleep::{NO_TIMER_NS, Prediction, Sleep, Start, Unfinished, Wakeup};
use crate::state::Miss;
use crate::timers::Timers;
use crate::wheel::Wheel;
use dyntick_model::{Event, EventKind, TICK_FUNCTIONS, function_of};
use std::collections::{BTreeMap, HashMap};

/// The idleness that the events show, each list in order of time for each CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The sleeps that ended.
    pub sleeps: Vec<Sleep>,
    /// The sleeps that did not end.
    pub unfinished: Vec<Unfinished>,
    /// The tasks that were woken.
    pub wakeups: Vec<Wakeup>,
    /// The missed choices that the kernel reported (`power:cpu_idle_miss`): time, CPU, state.
    pub told: Vec<(u64, u32, usize, Miss)>,
}

/// Reads all events, which must be sorted by time. `hz` are the kernel's ticks per second.
pub fn observe(events: &[Event], hz: u32) -> Observed {
    let mut observer = Observer::new(hz);
    events.iter().for_each(|event| observer.step(event));
    observer.finish()
}

/// Reads events as they come.
#[derive(Default)]
pub struct Observer {
    tick_ns: u64,
    cpus: BTreeMap<u32, Cpu>,
    timers: Timers,
    wheel: Wheel,
    woken: HashMap<i32, (u64, Start)>,
    wakeups: Vec<Wakeup>,
    told: Vec<(u64, u32, usize, Miss)>,
}

impl Observer {
    /// Creates one for a kernel with `hz` ticks per second.
    pub fn new(hz: u32) -> Self {
        Self { tick_ns: 1_000_000_000 / u64::from(hz.max(1)), ..Self::default() }
    }

    /// Reads an event, which must not be before the last one.
    pub fn step(&mut self, event: &Event) {
        let tick_ns = self.tick_ns;
        let (now, number) = (event.ts, event.cpu);
        let cpu = self.cpus.entry(number).or_insert_with(|| Cpu::new(number, tick_ns));
        match &event.kind {
            EventKind::CpuIdle { state: Some(state) } => {
                let (tick, other) = (self.timers.tick_of(number), self.timers.others_of(number, now));
                cpu.enter(*state as usize, now, tick, other);
            }
            EventKind::CpuIdle { state: None } => cpu.leave(now),
            EventKind::MenuPredict { predicted_ns, used_ns, next_timer_ns, tick_stopped } => {
                let (predicted_ns, used_ns, tick_stopped) = (*predicted_ns, *used_ns, *tick_stopped);
                let next_timer_ns = Some(*next_timer_ns).filter(|ns| *ns < NO_TIMER_NS);
                cpu.predict(Prediction { predicted_ns, used_ns, next_timer_ns, tick_stopped });
            }
            EventKind::CpuIdleMiss { state, below } => {
                cpu.counted(now);
                let miss = if *below { Miss::Below } else { Miss::Above };
                self.told.push((now, number, *state as usize, miss));
            }
            EventKind::InterruptEntry { source } => cpu.interrupt(*source),
            EventKind::IrqEntry { name, .. } => cpu.device(name),
            EventKind::InterruptExit { .. } | EventKind::IrqExit { .. } | EventKind::SoftirqExit { .. } => {
                cpu.interrupted(event.pid, now)
            }
            EventKind::TickStop { success, .. } => {
                cpu.tick_stop(*success, event.pid, self.timers.tick_of(number))
            }
            EventKind::TimerStart { timer, .. } => self.wheel.set(*timer, now),
            EventKind::TimerEntry { timer, .. } => self.wheel.ran(*timer, number, now),
            EventKind::HrtimerStart { timer, function, expires, .. } => {
                let is_tick = is_tick(function);
                self.timers.arm(*timer, number, *expires, now, is_tick);
                if is_tick {
                    cpu.arm_tick(event.pid, *expires, now);
                }
            }
            EventKind::HrtimerCancel { timer } => drop(self.timers.disarm(*timer)),
            EventKind::HrtimerEntry { timer, function, .. } => {
                if event.pid == 0 && is_tick(function) {
                    cpu.ticked();
                }
                cpu.expire(function, self.timers.disarm(*timer))
            }
            EventKind::HrtimerExit { .. } => cpu.expired(),
            EventKind::SchedWaking { pid, target } => self.wake(event, *pid, *target),
            EventKind::SchedSwitch { prev, next, .. } => {
                cpu.switch(*prev, *next, now);
                self.run(event, *next);
            }
            _ => {}
        }
    }

    /// A task that is woken twice before it runs waits since the first time.
    fn wake(&mut self, event: &Event, pid: i32, target: u32) {
        let due = self.cpus.get(&event.cpu).and_then(|cpu| cpu.running_timer_due_ns);
        let start = match due {
            Some(due) if due <= event.ts => (due, Start::Timer),
            // A task that the interrupted idle task did not wake is woken by an interrupt handler.
            _ if event.cpu == target && event.pid == 0 => (event.ts, Start::Handler),
            _ => (event.ts, Start::Waker),
        };
        self.woken.entry(pid).or_insert(start);
        if let Some(cpu) = self.cpus.get_mut(&target).filter(|_| target != event.cpu) {
            cpu.woken_by(event.cpu);
        }
    }

    fn run(&mut self, event: &Event, pid: i32) {
        let Some((start_ns, start)) = self.woken.remove(&pid) else { return };
        let state = self.cpus[&event.cpu].state_at(start_ns);
        let latency_ns = event.ts - start_ns;
        self.wakeups.push(Wakeup { cpu: event.cpu, pid, start_ns, latency_ns, start, state });
    }

    /// Takes out what later events do not change, so that memory does not grow with the trace. Some thousand sleeps of
    /// each CPU stay: a timer of the timer wheel that runs after more of them is not noted in the first.
    pub fn take(&mut self) -> Observed {
        let (wakeups, told) = (std::mem::take(&mut self.wakeups), std::mem::take(&mut self.told));
        let mut observed = Observed { wakeups, told, ..Observed::default() };
        for (number, cpu) in &mut self.cpus {
            self.wheel.note(*number, &mut cpu.sleeps);
            let done = cpu.done();
            observed.sleeps.extend(cpu.sleeps.drain(..done));
            self.wheel.forget(*number, cpu.begin_ns());
        }
        observed
    }

    /// The rest, at the end of the events.
    pub fn finish(self) -> Observed {
        let mut observed = Observed { wakeups: self.wakeups, told: self.told, ..Observed::default() };
        for (number, cpu) in self.cpus {
            let (mut sleeps, unfinished) = cpu.finish();
            self.wheel.note(number, &mut sleeps);
            observed.sleeps.extend(sleeps);
            observed.unfinished.extend(unfinished);
        }
        observed
    }
}

/// Returns true if a symbol is a function of the tick's hrtimer.
fn is_tick(symbol: &str) -> bool {
    TICK_FUNCTIONS.contains(&function_of(symbol))
}
