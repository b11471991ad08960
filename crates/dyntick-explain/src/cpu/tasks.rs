// SPDX-License-Identifier: GPL-2.0-only
//! The tasks of one CPU: those that want it, and those that take it from another one.

use super::{Cpu, MOST_NAMED, MOST_RUNNABLE, Open, Phase, Runnable};
use crate::facts::*;
use crate::log::Log;
use crate::{Task, names};
use dyntick_model::{Event, Interrupt};

/// The time, ns, within which a switch after an interrupt from another CPU counts as requested by it.
const SWITCH_FOLLOWS_NS: u64 = 100_000;

impl Cpu {
    /// Notes that a task was woken to run here.
    pub fn will_run(&mut self, newcomer: Newcomer) {
        if self.runnable.len() == MOST_RUNNABLE {
            // Most of them are on other CPUs by now, and their migration was not recorded.
            let first = self.runnable.keys().min().copied();
            first.map(|pid| self.runnable.remove(&pid));
        }
        self.runnable.insert(newcomer.task.pid, Runnable { newcomer, fresh: true, ran: false });
    }

    /// Notes that a task went to another CPU.
    pub fn will_not_run(&mut self, pid: i32) {
        self.runnable.remove(&pid);
    }

    pub(super) fn fresh(&self, log: &Log) -> Vec<Newcomer> {
        foremost(self.runnable.values().filter(|task| task.fresh).map(|task| &task.newcomer), log)
    }

    pub(super) fn run_work(&mut self, work: Option<WorkRun>) {
        if let Some(turn) = &mut self.turn {
            turn.facts.works.extend(work);
        }
    }

    pub(super) fn switch(&mut self, event: &Event, prev: Task, prev_state: u64, next: Task, log: &Log) {
        while !self.open.is_empty() {
            self.close(log); // no interrupt outlives a switch
        }
        self.explain_by_switch(event.ts, &next);
        // The low byte has the states of sleep; 0x100 means preempted (`__trace_sched_switch_state`).
        let wants_to_run = prev_state & 0xff == 0 && prev.pid != 0;
        if wants_to_run {
            let task = self.runnable.entry(prev.pid).or_insert_with(|| {
                let woken_by = Origin {
                    cpu: self.cpu,
                    at_ns: event.ts,
                    task: prev.clone(),
                    function: None,
                    place: Place::Task,
                    stack: None,
                    behind: None,
                };
                let newcomer = Newcomer { task: prev.clone(), woken_by: Some(woken_by) };
                Runnable { newcomer, fresh: false, ran: true }
            });
            task.is_called(&prev);
        } else {
            self.runnable.remove(&prev.pid);
        }
        let mut turn_by = None;
        if let Some(task) = self.runnable.get_mut(&next.pid) {
            turn_by = task.newcomer.woken_by.as_ref().filter(|_| !task.ran).cloned();
            (task.fresh, task.ran) = (false, true);
            task.is_called(&next);
        }
        if prev.pid == 0 && !self.adaptive {
            self.stopped = false; // `tick_nohz_idle_exit` restarts the tick
        }
        // The stopper moves the task that ran before to another CPU.
        let moved = names::is_stopper(&prev.comm);
        let victim = match self.turn.as_ref().filter(|_| !moved) {
            Some(turn) => turn.facts.victim.clone(),
            None => {
                if wants_to_run {
                    prev
                } else {
                    Task::idle()
                }
            }
        };
        self.close_turn(Some(event.ts));
        self.begin_turn(event.ts, victim, next, log);
        if let Some(turn) = &mut self.turn {
            turn.facts.turn_by = turn_by;
        }
    }

    /// Notes a task that is only seen when it runs: it was moved here without a wake-up, or woken by a CPU that is not
    /// online yet, whose actions are not recorded.
    pub(super) fn explain_by_switch(&mut self, ts: u64, next: &Task) {
        for held in self.held.iter_mut().filter(|held| held.awaits_newcomer) {
            held.awaits_newcomer = false;
            let facts = &mut held.facts;
            if !may_bring(facts, ts) || next.pid == 0 || *next == facts.victim {
                continue;
            }
            let sender = facts.senders.last().map(|send| send.origin.clone());
            let woken_by = sender.or_else(|| facts.deadline_timer());
            // The only purpose of that interrupt is a switch.
            if woken_by.is_some() || facts.entry == Entry::Vector(Interrupt::Reschedule) {
                facts.newcomers.push(Newcomer { task: next.clone(), woken_by });
            }
        }
    }

    /// Notes that another task than the victim gets the CPU. The idle task is no interruption. Neither is a task of the
    /// command, unless it takes the CPU from another one of the command.
    pub(super) fn begin_turn(&mut self, ts: u64, victim: Task, next: Task, log: &Log) {
        let interrupts = match victim.pid {
            0 => log.is_kernel_thread(&next),
            _ if log.is_commands(&next) => next.pid != victim.pid && log.is_commands(&victim),
            _ => next.pid != victim.pid,
        };
        if next.pid == 0 || !interrupts {
            return;
        }
        let facts = self.facts(ts, Entry::Turn(next), victim);
        self.turn =
            Some(Open { facts, phase: Phase::Handler, last_ns: ts, nested_ns: 0, softirqs_ran: false });
    }

    pub(super) fn close_turn(&mut self, end_ns: Option<u64>) {
        let Some(mut turn) = self.turn.take() else { return };
        let whole_ns = end_ns.unwrap_or(turn.last_ns).saturating_sub(turn.facts.start_ns);
        turn.facts.nested_ns = turn.nested_ns.min(whole_ns);
        turn.facts.duration_ns = whole_ns - turn.facts.nested_ns;
        self.end(turn.facts);
    }
}

impl Runnable {
    /// Renames a task that has executed another program since it was woken.
    fn is_called(&mut self, task: &Task) {
        if self.newcomer.task != *task {
            self.newcomer.task = task.clone();
        }
    }
}

/// Returns true if an interrupt from another CPU may have requested a switch at this time.
pub(super) fn may_bring(facts: &Facts, ts: u64) -> bool {
    ts.saturating_sub(facts.start_ns) <= SWITCH_FOLLOWS_NS
}

/// The tasks of which one may be named, in the order of their TIDs. Of very many it prefers kernel threads, which
/// explain more than programs.
pub(super) fn foremost<'a>(tasks: impl Iterator<Item = &'a Newcomer>, log: &Log) -> Vec<Newcomer> {
    let mut tasks: Vec<&Newcomer> = tasks.collect();
    tasks.sort_unstable_by_key(|newcomer| newcomer.task.pid);
    if tasks.len() > MOST_NAMED {
        tasks.sort_by_key(|newcomer| !log.is_kernel_thread(&newcomer.task));
        tasks.truncate(MOST_NAMED);
    }
    tasks.into_iter().cloned().collect()
}
