// SPDX-License-Identifier: GPL-2.0-only
//! A thread that is followed: its state, and the system call, the page fault and the wait for a lock that it is in.

use super::account::{Account, CallId, Spent};
use super::wait::{Asleep, Ended, Ready};
use super::{Cpus, Fault, Place};
use crate::{Context, Task};
use dyntick_model::Symbol;
use std::sync::Arc;

/// The state of a thread.
#[derive(Debug)]
pub(super) enum State {
    /// It has a CPU since then.
    Running { since: u64 },
    /// It wants a CPU.
    Ready(Ready),
    /// It sleeps or is stopped.
    Asleep(Asleep),
    /// It is on a CPU that is not recorded, or was not seen yet.
    Unseen { since: u64 },
    /// It has ended.
    Ended,
}

impl State {
    /// The begin of the state, or of the part of it that is not accounted for yet, ns; `None` after the end.
    pub fn begin(&self) -> Option<u64> {
        match self {
            State::Running { since } | State::Unseen { since } => Some(*since),
            State::Ready(ready) => Some(ready.since),
            State::Asleep(asleep) => Some(asleep.since),
            State::Ended => None,
        }
    }
}

/// A page fault that is handled.
#[derive(Debug)]
pub(super) struct Handling {
    pub kind: Fault,
    /// The time for which the thread had had a CPU when it began ([`Followed::cpu_ns`]).
    pub began_at: u64,
    /// The time of it in which the thread spun for a lock or freed memory.
    pub other_ns: u64,
}

/// Memory of a control group that is being freed.
#[derive(Debug)]
pub(super) struct Reclaim {
    /// The time for which the thread had had a CPU when it began.
    pub began_at: u64,
    /// The time of it in which the thread spun for a lock.
    pub locked_ns: u64,
}

/// A lock that a thread waits for. It may spin before it sleeps.
#[derive(Debug)]
pub(super) struct LockWait {
    /// Its address.
    pub lock: u64,
    /// The time for which the thread had had a CPU when it began.
    pub began_at: u64,
    pub slept_ns: u64,
    pub place: Option<Place>,
    /// The one that woke it last.
    pub by: Option<Ended>,
}

/// The timer that a thread set to end its sleep. The times are ns of the timer's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct SleepTimer {
    pub timer: u64,
    /// The last time at which it may expire.
    pub expires: i64,
    /// The time that the thread asked for.
    pub soft: i64,
}

impl SleepTimer {
    /// The time of its slack that passed until a timer's handler runs, ns; 0 if that is another timer.
    pub fn slack_ns(&self, (timer, now): (u64, i64)) -> u64 {
        let used = now.min(self.expires).saturating_sub(self.soft);
        if timer == self.timer { used.max(0) as u64 } else { 0 }
    }
}

/// A system call that a thread makes.
#[derive(Debug)]
pub(super) struct Call {
    pub id: CallId,
    pub begin: u64,
    /// The time for which the thread had had a CPU when it began.
    pub began_at: u64,
    /// The time of it in page faults, in interrupts, and spinning for locks.
    pub other_ns: u64,
}

/// A thread.
#[derive(Debug)]
pub(super) struct Followed {
    pub task: Task,
    pub state: State,
    pub call: Option<Call>,
    pub fault: Option<Handling>,
    pub reclaim: Option<Reclaim>,
    pub lock: Option<LockWait>,
    pub timer: Option<SleepTimer>,
    /// The time since which a task of this name has the CPU that it wants, on a CPU that is not recorded.
    pub kept_elsewhere: Option<(u64, Symbol)>,
    pub account: Account,
}

impl Followed {
    /// Sets the name, which is mostly known.
    pub fn name(&mut self, comm: &Symbol) {
        if !Arc::ptr_eq(&self.task.comm, comm) {
            self.task.comm = comm.clone();
        }
    }

    pub fn runs(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// The time for which it has had a CPU until now, ns.
    pub fn cpu_ns(&self, now: u64) -> u64 {
        let present_ns = match self.state {
            State::Running { since } => now.saturating_sub(since),
            _ => 0,
        };
        self.account.ran_ns() + present_ns
    }

    /// Adds a page fault that is over.
    pub fn fault_ended(&mut self, now: u64) {
        let Some(Handling { kind, began_at, other_ns }) = self.fault.take() else { return };
        let ns = self.cpu_ns(now).saturating_sub(began_at).saturating_sub(other_ns);
        self.account.faulted(kind, ns);
        self.not_for_call(ns);
    }

    /// Adds a page fault whose end was not seen: its time until the thread gave its CPU up last.
    pub fn fault_without_end(&mut self) {
        if let Some(Handling { kind, began_at, other_ns }) = self.fault.take() {
            let ns = self.account.ran_ns().saturating_sub(began_at).saturating_sub(other_ns);
            self.account.faulted(kind, ns);
        }
    }

    /// Adds memory that was freed until now, at the end of that or of the window.
    pub fn reclaimed(&mut self, now: u64) {
        let Some(Reclaim { began_at, locked_ns }) = self.reclaim.take() else { return };
        let ns = self.cpu_ns(now).saturating_sub(began_at).saturating_sub(locked_ns);
        self.account.reclaimed(ns);
        if let Some(fault) = &mut self.fault {
            fault.other_ns += ns;
        }
        self.not_for_call(ns);
    }

    /// Adds a wait for a lock that is over, or that the window ended.
    pub fn waited_for_lock(&mut self, now: u64) {
        let Some(LockWait { began_at, slept_ns, place, by, .. }) = self.lock.take() else { return };
        let spun_ns = self.cpu_ns(now).saturating_sub(began_at);
        if let Some(fault) = &mut self.fault {
            fault.other_ns += spun_ns;
        }
        if let Some(reclaim) = &mut self.reclaim {
            reclaim.locked_ns += spun_ns;
        }
        self.not_for_call(spun_ns);
        self.account.waited_for_lock(place.unwrap_or_else(Place::lock), spun_ns, slept_ns, by);
    }

    /// Adds a wait for a lock that the window ended; the thread may sleep for it.
    pub fn lock_without_end(&mut self, end: u64) {
        if let (Some(lock), State::Asleep(asleep)) = (&mut self.lock, &self.state) {
            lock.slept_ns += end.saturating_sub(asleep.since);
            self.account.died(end);
            self.state = State::Ended;
        }
        self.waited_for_lock(end);
    }

    /// Adds a system call that is over; `whole` is false if only the window is.
    pub fn called(&mut self, now: u64, whole: bool) {
        let Some(Call { id, begin, began_at, other_ns }) = self.call.take() else { return };
        let ran_ns = self.cpu_ns(now).saturating_sub(began_at).saturating_sub(other_ns);
        self.account.called(id, ran_ns, whole.then(|| now.saturating_sub(begin)));
    }

    /// Notes time of the present system call that is counted elsewhere.
    pub fn not_for_call(&mut self, ns: u64) {
        if let Some(call) = &mut self.call {
            call.other_ns += ns;
        }
    }

    pub fn ready(&mut self) -> Option<&mut Ready> {
        match &mut self.state {
            State::Ready(ready) => Some(ready),
            _ => None,
        }
    }

    /// Ends the present state, and adds its time. A thread that is ready or asleep and gives its CPU up, or gets one
    /// without a wake-up, has had events that were lost.
    pub fn end_state(&mut self, now: u64, context: &Context, cpus: &Cpus) {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Running { since } => self.account.ran(since, now),
            State::Unseen { since } => self.account.add(Spent::Unseen, now.saturating_sub(since)),
            State::Ready(mut ready) => {
                cpus.divide(&mut ready, self.task.pid, now);
                self.account.waited(ready, now, context);
            }
            State::Asleep(asleep) => self.account.slept(asleep, now, None, None, None),
            State::Ended => self.account.reborn(now),
        }
    }
}
