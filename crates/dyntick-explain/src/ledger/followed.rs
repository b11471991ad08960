// SPDX-License-Identifier: GPL-2.0-only
//! A thread that is followed: its state, and the system call, the page fault and the wait for a lock that it is in.

use super::account::{Account, Spent};
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
    /// The time of it in which the thread spun for a lock.
    pub locked_ns: u64,
}

/// A lock that a thread waits for. It may spin before it sleeps.
#[derive(Debug)]
pub(super) struct LockWait {
    /// The time for which the thread had had a CPU when it began.
    pub began_at: u64,
    pub slept_ns: u64,
    pub place: Option<Place>,
    /// The one that woke it last.
    pub by: Option<Ended>,
}

/// A system call that a thread makes.
#[derive(Debug)]
pub(super) struct Call {
    pub number: u32,
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
    pub lock: Option<LockWait>,
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
        let Some(Handling { kind, began_at, locked_ns }) = self.fault.take() else { return };
        let ns = self.cpu_ns(now).saturating_sub(began_at).saturating_sub(locked_ns);
        self.account.faulted(kind, ns);
        self.not_for_call(ns);
    }

    /// Adds a page fault whose end was not seen: its time until the thread gave its CPU up last.
    pub fn fault_without_end(&mut self) {
        if let Some(Handling { kind, began_at, .. }) = self.fault.take() {
            self.account.faulted(kind, self.account.ran_ns().saturating_sub(began_at));
        }
    }

    /// Adds a wait for a lock that is over, or that the window ended.
    pub fn waited_for_lock(&mut self, now: u64) {
        let Some(LockWait { began_at, slept_ns, place, by }) = self.lock.take() else { return };
        let spun_ns = self.cpu_ns(now).saturating_sub(began_at);
        if let Some(fault) = &mut self.fault {
            fault.locked_ns += spun_ns;
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
        let Some(Call { number, begin, began_at, other_ns }) = self.call.take() else { return };
        let ran_ns = self.cpu_ns(now).saturating_sub(began_at).saturating_sub(other_ns);
        self.account.called(number, ran_ns, whole.then(|| now.saturating_sub(begin)));
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
                ready.until(now, cpus.task(ready.cpu));
                self.account.waited(ready, now, context);
            }
            State::Asleep(asleep) => self.account.slept(asleep, now, None, None, None),
            State::Ended => self.account.reborn(now),
        }
    }
}
