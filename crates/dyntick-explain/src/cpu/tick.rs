// SPDX-License-Identifier: GPL-2.0-only
//! The tick of one CPU: the timers in it, and the reasons for which it is kept.

use super::tasks::foremost;
use super::{Cpu, Phase};
use crate::facts::*;
use crate::log::Log;
use crate::names;
use dyntick_model::{Event, Symbol, TickDependency};

impl Cpu {
    pub(super) fn start_hrtimer(&mut self, timer: u64, function: &Symbol) {
        if !names::is_tick(&names::function(function)) {
            return;
        }
        self.tick_timer = Some(timer);
        let Some(top) = self.open.last_mut().filter(|open| open.phase == Phase::Handler) else { return };
        // The handler of a running tick restarts the tick's timer itself; that of a stopped one leaves it to the exit
        // of the interrupt (`tick_nohz_handler`).
        if let Some(tick) = &mut top.facts.tick {
            tick.periodic = true;
            self.stopped = false;
        }
    }

    pub(super) fn run_hrtimer(&mut self, timer: u64, run: HrtimerRun) {
        if !names::is_tick(&run.function) {
            return self.with_top(|facts| facts.hrtimers.push(run));
        }
        self.tick_timer = Some(timer);
        let periodic = !self.starts_recorded && !self.stopped;
        self.with_top(|facts| facts.tick = Some(TickRun { periodic }));
    }

    pub(super) fn run_timer(&mut self, run: TimerRun) {
        let mut held = self.held.iter_mut().filter(|held| held.owes_timers);
        if let (true, Some(held)) = (self.open.is_empty(), held.next()) {
            held.facts.timers.push(run.clone());
        }
        self.with_top(|facts| facts.timers.push(run));
    }

    pub(super) fn decide(&mut self, event: &Event, stopped: bool, dependency: TickDependency, log: &Log) {
        let restarted = self.stopped && !stopped;
        let newly_kept = self.kept.is_none() && !stopped;
        self.stopped = stopped;
        if stopped {
            self.kept = None;
            self.fair_server = false;
        } else {
            self.kept = Some(self.keep(event, dependency, log).into());
        }
        let kept = self.kept.clone();
        self.with_top(|facts| {
            facts.decision = Some(Decision { stopped, dependency, restarted, newly_kept });
            facts.kept = facts.kept.take().or(kept);
        });
    }

    /// The reason for which the tick is kept now. If no other task is seen that wants the CPU, the reason of the
    /// previous decision still holds: from 6.12 on, a task that went to sleep may stay queued for some time (delayed
    /// dequeue).
    ///
    /// The decision may be made as the CPU leaves idle (`tick_nohz_idle_exit`). A single task that was woken is then
    /// the current one, and no other wants the CPU.
    pub(super) fn keep(&self, event: &Event, dependency: TickDependency, log: &Log) -> Kept {
        let others = || self.runnable.iter().filter(|(pid, _)| **pid != event.pid).map(|(_, task)| task);
        let news = others().any(|task| task.fresh);
        let lone = others().next().filter(|_| event.pid == 0 && others().count() == 1);
        if let Some(lone) = lone {
            let current = lone.newcomer.task.clone();
            return Kept { dependency, since_ns: event.ts, current, fair_server: false, others: Vec::new() };
        }
        let others = foremost(others().map(|task| &task.newcomer), log);
        let before = self.kept.as_deref().filter(|kept| kept.dependency == dependency);
        match before {
            Some(before) if others.is_empty() || !news && same_tasks(&others, &before.others) => {
                // It may have begun in idle.
                let idle = before.current.pid == 0;
                let current = if idle { log.task(event.pid) } else { before.current.clone() };
                Kept { current, ..before.clone() }
            }
            _ => Kept {
                dependency,
                since_ns: event.ts,
                current: log.task(event.pid),
                fair_server: self.fair_server && others.is_empty(),
                others,
            },
        }
    }
}

fn same_tasks(a: &[Newcomer], b: &[Newcomer]) -> bool {
    a.iter().map(|n| n.task.pid).eq(b.iter().map(|n| n.task.pid))
}
