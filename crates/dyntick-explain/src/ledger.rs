// SPDX-License-Identifier: GPL-2.0-only
//! The ledger of threads: where the time of each went, all of it, also where it did not run. Pure.
//!
//! A thread runs, is ready to run, or sleeps. Each of these is split by what is known: interrupts and page faults while
//! it ran, the task that had its CPU while it was ready, and the place in the kernel where it slept, with the one that
//! ended it. The parts add up to the time that the thread lived in the window.

mod account;
mod followed;
mod place;
mod wait;
pub mod words;

pub use account::{Amount, CallId, Spent, ThreadAccount};
pub use place::{Place, Waits};
pub use wait::Ended;

use crate::names;
use crate::throttles::Throttles;
use crate::{Context, Interruption, Kind, Task};
use account::Account;
use dyntick_model::{Event, EventKind, Map, Set, Symbol, Within, function_of};
use followed::{Call, Followed, Handling, LockWait, Reclaim, SleepTimer, State};
use place::Places;
use std::sync::Arc;
use wait::{Asleep, Ready};

/// The maximum number of threads that are followed: those of a busy build. Later ones are counted.
const MOST_THREADS: usize = 1 << 14;

/// The maximum number of names, and of births, that are remembered.
const MOST_NAMES: usize = 1 << 16;

/// Notes a fact of a task, as long as there is room for it.
fn remember<T>(facts: &mut Map<i32, T>, pid: i32, fact: T) {
    if facts.len() < MOST_NAMES || facts.contains_key(&pid) {
        facts.insert(pid, fact);
    }
}

/// The function of the timer that wakes a sleeping thread: of nanosleep(), poll(), select(), epoll_wait() and futex().
const SLEEPERS_TIMER: &str = "hrtimer_wakeup";

/// The threads that a ledger is about.
pub trait Whose {
    /// Returns true if a thread of this number and name is one of them.
    fn is_one(&self, thread: i32, comm: &str) -> bool;
    /// Notes that one thread started another.
    fn fork(&mut self, parent: i32, child: i32);
}

/// The kinds of page faults by the processor's error code (`error_code`, Intel SDM volume 3, "Page-Fault Exceptions").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// No page was there.
    Absent,
    /// A write to a page that is there: copy on write, or write protection.
    Write,
    /// Another access that a page that is there does not permit.
    Access,
}

impl Fault {
    /// The kind by bit 0 (a page is there) and bit 1 (a write).
    fn of(error_code: u64) -> Self {
        match error_code & 3 {
            3 => Fault::Write,
            1 => Fault::Access,
            _ => Fault::Absent,
        }
    }
}

/// A ledger, filled as events come.
pub struct Ledger<'a, W: Whose> {
    context: &'a Context,
    roll: Roll<W>,
    cpus: Cpus,
    queues: Queues,
    /// The stopper threads (migration/N), which move running threads, each with the last one that woke it.
    stoppers: Map<i32, Option<Ended>>,
    /// The thread that went to sleep last on each CPU, whose stack may follow.
    asleep: Map<u32, i32>,
    /// The thread that began to wait for a lock last on each CPU, whose stack may follow.
    locking: Map<u32, i32>,
    /// The timer whose handler runs on each CPU, with the time of its clock.
    expiring: Map<u32, (u64, i64)>,
    /// The signals that were sent to a thread and have not stopped it yet.
    signals: Map<i32, (u32, Ended)>,
    /// The names that tasks took in the window.
    names: Map<i32, Symbol>,
    /// The births in the window of tasks that were not followed then. One may take a name that is.
    births: Map<i32, u64>,
    places: Places,
    /// True if the ends of page faults are recorded.
    faults_end: bool,
    /// True if system calls are recorded.
    calls: bool,
}

/// The recorded CPUs, from the first event of each on, and the groups that are throttled on them.
struct Cpus {
    seen: Map<u32, Cpu>,
    throttles: Throttles,
}

struct Cpu {
    /// The task that has it.
    task: Task,
    /// The begin of its turn, ns; that of the window if it was not seen.
    since: u64,
    /// The time of its last event, ns.
    last_ns: u64,
    /// The task that went to sleep last on it, until it is woken. Its stack follows its switch.
    left: Option<i32>,
}

impl Cpus {
    fn task(&self, cpu: u32) -> Option<&Task> {
        self.seen.get(&cpu).map(|cpu| &cpu.task)
    }

    /// Divides the time until now of a thread that waits for a CPU, in the present state of that CPU.
    fn divide(&self, ready: &mut Ready, thread: i32, now: u64) {
        ready.until(now, self.task(ready.cpu), self.throttles.of(ready.cpu, &ready.limits, thread));
    }
}

/// The threads that are ready on each CPU.
#[derive(Default)]
struct Queues(Map<u32, Set<i32>>);

impl Queues {
    fn add(&mut self, cpu: u32, pid: i32) {
        self.0.entry(cpu).or_default().insert(pid);
    }

    fn remove(&mut self, cpu: u32, pid: i32) {
        if let Some(waiting) = self.0.get_mut(&cpu) {
            waiting.remove(&pid);
        }
    }
}

/// The threads that are followed.
struct Roll<W> {
    whose: W,
    threads: Map<i32, Followed>,
    /// The number of threads beyond the maximum.
    more: u64,
}

impl<W: Whose> Roll<W> {
    /// The thread, if it is one of them.
    fn follow(
        &mut self,
        context: &Context,
        pid: i32,
        comm: &Symbol,
        state: impl FnOnce() -> State,
        born: u64,
    ) -> Option<&mut Followed> {
        if pid == 0 {
            return None;
        }
        if !self.threads.contains_key(&pid) {
            if !self.whose.is_one(pid, comm) {
                return None;
            }
            if self.threads.len() == MOST_THREADS {
                self.more += 1;
                return None;
            }
            let task = Task::named(pid, comm);
            let one = Followed {
                task,
                state: state(),
                call: None,
                fault: None,
                reclaim: None,
                lock: None,
                timer: None,
                kept_elsewhere: None,
                account: Account::new(context, pid, born),
            };
            self.threads.insert(pid, one);
        }
        self.threads.get_mut(&pid)
    }
}

impl<'a, W: Whose> Ledger<'a, W> {
    /// Creates a ledger of these threads.
    pub fn new(context: &'a Context, whose: W) -> Self {
        let stoppers = context.comms.iter().filter(|(_, comm)| names::is_stopper(comm));
        Self {
            context,
            roll: Roll { whose, threads: Map::default(), more: 0 },
            cpus: Cpus { seen: Map::default(), throttles: Throttles::new(context.throttles_threads()) },
            queues: Queues::default(),
            stoppers: stoppers.map(|(pid, _)| (*pid, None)).collect(),
            asleep: Map::default(),
            locking: Map::default(),
            expiring: Map::default(),
            signals: Map::default(),
            names: Map::default(),
            births: Map::default(),
            places: Places::default(),
            faults_end: false,
            calls: false,
        }
    }

    fn clamp(&self, ts: u64) -> u64 {
        ts.clamp(self.context.window.0, self.context.window.1)
    }

    fn is_recorded(&self, cpu: u32) -> bool {
        self.context.cpus.contains(cpu)
    }

    /// Applies the next event, in the order of time.
    pub fn event(&mut self, event: &Event) {
        use EventKind::*;
        if self.is_recorded(event.cpu) {
            match self.cpus.seen.get_mut(&event.cpu) {
                None => self.begin_cpu(event),
                Some(cpu) => {
                    let last = std::mem::replace(&mut cpu.last_ns, event.ts);
                    if cpu.task.pid == 0 && event.pid != 0 && cpu.left != Some(event.pid) {
                        self.left_idle(event, last);
                    }
                }
            }
        }
        match &event.kind {
            SchedSwitch { prev, prev_comm, prev_state, next, next_comm } if self.is_recorded(event.cpu) => {
                self.leave(event, *prev, prev_comm, *prev_state);
                self.take_turns(event.cpu, event.ts, Task::named(*next, next_comm));
                self.enter(event.ts, *next, next_comm);
                self.cpus.throttles.event(event);
                if wait::Sleep::of(*prev_state) != wait::Sleep::None {
                    if let Some(cpu) = self.cpus.seen.get_mut(&event.cpu) {
                        cpu.left = Some(*prev);
                    }
                }
            }
            SchedSwitch { prev, prev_comm, prev_state, next, next_comm } => {
                self.switch_elsewhere(event.ts, *next);
                if wait::Sleep::of(*prev_state) == wait::Sleep::None {
                    self.kept_elsewhere(event.ts, *prev, prev_comm, next_comm);
                }
            }
            SchedWaking { pid, target } => {
                if self.stoppers.contains_key(pid) {
                    let by = self.actor(event);
                    self.stoppers.insert(*pid, Some(by));
                }
                self.wake(event, *pid, *target);
            }
            SchedWakeup { pid, comm, target } => {
                let begin = self.begin_of(*pid).min(self.clamp(event.ts));
                self.roll.follow(self.context, *pid, comm, || State::Unseen { since: begin }, begin);
                self.wake(event, *pid, *target);
                self.arrive(event.ts, *pid, *target);
            }
            SchedMigrate { pid, to, .. } => self.migrate(event, *pid, *to),
            HrtimerStart { timer, function, expires, soft } if event.within == Within::Task => {
                self.sets_timer(
                    event.pid,
                    function,
                    SleepTimer { timer: *timer, expires: *expires, soft: *soft },
                );
            }
            HrtimerEntry { timer, now, .. } => _ = self.expiring.insert(event.cpu, (*timer, *now)),
            HrtimerExit { .. } => _ = self.expiring.remove(&event.cpu),
            SchedFork { parent, child } => self.fork(event, *parent, *child),
            TaskRename { pid, comm } => {
                remember(&mut self.names, *pid, comm.clone());
                self.rename(event, *pid, comm);
            }
            Throttle { .. } | ThrottleEnd { .. } | Unthrottle { .. } | ThrottleThread => {
                self.throttle(event);
            }
            KernelStack { frames } => self.stack(event, frames),
            SignalSent { signal, pid } if self.roll.threads.contains_key(pid) => {
                self.signals.insert(*pid, (*signal, self.actor(event)));
            }
            PageFault { error, .. } => self.fault(event, *error),
            PageFaultEnd => self.fault_ends(event),
            ReclaimBegin => self.reclaim(event),
            ReclaimEnd => self.reclaim_ends(event),
            CallEntry { number } => self.call(event, *number),
            CompatCall => self.call_is_compat(event),
            CallExit { .. } => self.call_ends(event),
            LockWait { lock } if event.within == Within::Task => self.lock(event, *lock),
            LockWaitEnd { lock } if event.within == Within::Task => self.lock_is_had(event, *lock),
            _ => {}
        }
    }

    /// Notes the task of a CPU at its first event: it has had the CPU since the begin.
    fn begin_cpu(&mut self, event: &Event) {
        let comm = self.context.comms.get(&event.pid).cloned().unwrap_or_else(|| "?".into());
        let task = Task::named(event.pid, &comm);
        let begin = self.context.window.0;
        self.cpus.seen.insert(event.cpu, Cpu { task, since: begin, last_ns: event.ts, left: None });
        let running = State::Running { since: begin };
        self.roll.follow(self.context, event.pid, &comm, || running, begin);
    }

    /// A task has the CPU that was idle at its last event. Some kernels of virtual machines trace no switch when a CPU
    /// leaves idle, so the task has had it since that event, or since it wanted it.
    fn left_idle(&mut self, event: &Event, last: u64) {
        let (cpu, pid) = (event.cpu, event.pid);
        let comm = self.context.comms.get(&pid).cloned().unwrap_or_else(|| "?".into());
        let since = match self.roll.threads.get(&pid).map(|one| one.state.begin()) {
            None => last,
            Some(Some(begin)) => last.max(begin),
            // Its end was seen, so this is another thread of that number.
            Some(None) => event.ts,
        };
        let since = since.min(event.ts);
        self.take_turns(cpu, since, Task::named(pid, &comm));
        self.enter(since, pid, &comm);
    }

    /// A task gives its CPU up.
    fn leave(&mut self, event: &Event, pid: i32, comm: &Symbol, prev_state: u64) {
        let (now, cpu) = (self.clamp(event.ts), event.cpu);
        // One that is followed from here on was called otherwise when its turn began.
        let turn = self.cpus.seen.get(&cpu).filter(|one| one.task.pid == pid).map(|one| one.since);
        let since = turn.unwrap_or_else(|| self.begin_of(pid));
        let Some(one) = self.roll.follow(self.context, pid, comm, || State::Running { since }, since) else {
            return;
        };
        one.name(comm);
        one.end_state(now, self.context, &self.cpus);
        match wait::Sleep::of(prev_state) {
            wait::Sleep::Dead => {
                one.account.died(now);
                one.state = State::Ended;
            }
            wait::Sleep::None => {
                one.state = State::Ready(Ready::preempted(cpu, now, one.account.limits()));
                self.queues.add(cpu, pid);
            }
            sleep => {
                let by_signal = self.signals.remove(&pid).filter(|_| sleep == wait::Sleep::Stopped);
                one.state = State::Asleep(Asleep::new(now, sleep, by_signal));
                self.asleep.insert(cpu, pid);
            }
        }
    }

    /// Divides the time of those that wait for a CPU: another task has it from now on.
    fn take_turns(&mut self, cpu: u32, ts: u64, next: Task) {
        let now = self.clamp(ts);
        self.divide(cpu, now);
        if let Some(cpu) = self.cpus.seen.get_mut(&cpu) {
            (cpu.since, cpu.task) = (now, next);
        }
    }

    /// Divides the time until now of those that wait for a CPU.
    fn divide(&mut self, cpu: u32, now: u64) {
        for pid in self.queues.0.get(&cpu).into_iter().flatten() {
            let one = self.roll.threads.get_mut(pid);
            if let Some(ready) = one.and_then(Followed::ready).filter(|ready| ready.cpu == cpu) {
                self.cpus.divide(ready, *pid, now);
            }
        }
    }

    /// A control group uses up its CPU quota, or gets another one.
    fn throttle(&mut self, event: &Event) {
        if let Some(cpu) = self.cpus.throttles.changes(event) {
            self.divide(cpu, self.clamp(event.ts));
        }
        self.cpus.throttles.event(event);
    }

    /// A task gets a CPU.
    fn enter(&mut self, ts: u64, pid: i32, comm: &Symbol) {
        let (now, begin) = (self.clamp(ts), self.begin_of(pid));
        let Some(one) = self.roll.follow(self.context, pid, comm, || State::Unseen { since: begin }, begin)
        else {
            return;
        };
        one.name(comm);
        if let Some(ready) = one.ready() {
            self.queues.remove(ready.cpu, pid);
        }
        one.end_state(now, self.context, &self.cpus);
        one.state = State::Running { since: now };
    }

    /// A thread gets a CPU that is not recorded. Only switches from and to real-time tasks are known there.
    fn switch_elsewhere(&mut self, ts: u64, pid: i32) {
        let now = self.clamp(ts);
        let Some(one) = self.roll.threads.get_mut(&pid) else { return };
        if let Some((since, by)) = one.kept_elsewhere.take() {
            one.account.delayed(since, now, by);
        }
    }

    /// A real-time task takes a CPU that is not recorded from a thread.
    fn kept_elsewhere(&mut self, ts: u64, pid: i32, comm: &Symbol, by: &Symbol) {
        let (now, begin) = (self.clamp(ts), self.begin_of(pid));
        let unseen = || State::Unseen { since: begin };
        if let Some(one) = self.roll.follow(self.context, pid, comm, unseen, begin) {
            one.kept_elsewhere = Some((now, by.clone()));
        }
    }

    /// A wake-up begins.
    fn wake(&mut self, event: &Event, pid: i32, target: u32) {
        if let Some(cpu) = self.cpus.seen.get_mut(&target).filter(|cpu| cpu.left == Some(pid)) {
            cpu.left = None;
        }
        let (now, is_seen) = (self.clamp(event.ts), self.is_recorded(target));
        let Some(one) = self.roll.threads.get_mut(&pid) else { return };
        let asleep = match &one.state {
            State::Asleep(asleep) => asleep,
            State::Unseen { .. } if is_seen => {
                one.end_state(now, self.context, &self.cpus);
                one.state = State::Ready(Ready::woken(target, now, one.account.limits()));
                return self.queues.add(target, pid);
            }
            _ => return,
        };
        let (since, is_for_a_lock) = (asleep.since, asleep.is_for_a_lock());
        let by = self.actor(event);
        let kept = if is_for_a_lock { self.kept(&by, pid, since, now) } else { None };
        let from = matches!(by, Ended::Task(_)).then_some(event.cpu);
        let expiring = self.expiring.get(&event.cpu);
        let Some(one) = self.roll.threads.get_mut(&pid) else { return };
        let next = if is_seen {
            self.queues.add(target, pid);
            State::Ready(Ready::woken(target, now, one.account.limits()))
        } else {
            State::Unseen { since: now }
        };
        let timer = one.timer.take();
        if let State::Asleep(mut asleep) = std::mem::replace(&mut one.state, next) {
            asleep.slack_ns = timer.zip(expiring).map_or(0, |(timer, expiring)| timer.slack_ns(*expiring));
            match &mut one.lock {
                Some(lock) => {
                    lock.slept_ns += now.saturating_sub(asleep.since);
                    lock.by = Some(by);
                }
                None => one.account.slept(asleep, now, Some(by), from, kept),
            }
        }
    }

    /// A thread that is about to sleep sets the timer that ends its sleep.
    fn sets_timer(&mut self, pid: i32, function: &Symbol, timer: SleepTimer) {
        if function_of(function) == SLEEPERS_TIMER {
            if let Some(one) = self.roll.threads.get_mut(&pid) {
                one.timer = Some(timer);
            }
        }
    }

    /// The task that kept the waker from its CPU since then, if the waker is another thread that is followed.
    fn kept(&self, by: &Ended, pid: i32, since: u64, now: u64) -> Option<(Symbol, u64)> {
        let Ended::Task(waker) = by else { return None };
        let waker = self.roll.threads.get(&waker.pid).filter(|_| waker.pid != pid)?;
        waker.account.kept_since(since, now)
    }

    /// A woken task is put into the queue of a CPU.
    fn arrive(&mut self, ts: u64, pid: i32, target: u32) {
        self.queue(self.clamp(ts), pid, target, None);
    }

    fn migrate(&mut self, event: &Event, pid: i32, to: u32) {
        if !self.is_recorded(to) {
            // The kernel moves a sleeping task when it wakes it up, and the wake-up itself is not recorded there.
            self.wake(event, pid, to);
        }
        let by = match self.actor(event) {
            Ended::Task(task) => {
                self.stoppers.get(&task.pid).and_then(Option::clone).unwrap_or(Ended::Task(task))
            }
            by => by,
        };
        if let Some(one) = self.roll.threads.get_mut(&pid) {
            one.account.moved(by.clone());
            self.queue(self.clamp(event.ts), pid, to, Some(by));
        }
    }

    /// A thread that wants a CPU comes into the queue of another one; `by` has moved it there.
    fn queue(&mut self, now: u64, pid: i32, to: u32, by: Option<Ended>) {
        let is_seen = self.is_recorded(to);
        let Some(one) = self.roll.threads.get_mut(&pid) else { return };
        let Some(ready) = one.ready().filter(|ready| ready.cpu != to) else { return };
        self.cpus.divide(ready, pid, now);
        self.queues.remove(ready.cpu, pid);
        if is_seen {
            ready.cpu = to;
            ready.moved = by.or(ready.moved.take());
            self.queues.add(to, pid);
        } else {
            one.end_state(now, self.context, &self.cpus);
            one.state = State::Unseen { since: now };
        }
    }

    fn fork(&mut self, event: &Event, parent: i32, child: i32) {
        let now = self.clamp(event.ts);
        self.roll.whose.fork(parent, child);
        let comm =
            self.roll.threads.get(&parent).map_or_else(|| "?".into(), |parent| parent.task.comm.clone());
        if let Some(one) = self.roll.threads.get_mut(&child) {
            if matches!(one.state, State::Ended) {
                one.account.reborn(now);
                one.state = State::Unseen { since: now };
            }
            return;
        }
        let limits = self.roll.threads.get(&parent).map(|parent| parent.account.limits());
        let followed = self.roll.follow(self.context, child, &comm, || State::Unseen { since: now }, now);
        match followed {
            Some(one) => one.account.inherit(limits),
            None => remember(&mut self.births, child, now),
        }
    }

    /// The begin of a thread that was not followed yet, ns: its birth, or that of the window.
    fn begin_of(&self, pid: i32) -> u64 {
        self.births.get(&pid).copied().unwrap_or(self.context.window.0)
    }

    /// A thread takes a name, from which on it may be one of those that are followed.
    fn rename(&mut self, event: &Event, pid: i32, comm: &Symbol) {
        let now = self.clamp(event.ts);
        let runs = event.pid == pid && self.is_recorded(event.cpu);
        let state = || if runs { State::Running { since: now } } else { State::Unseen { since: now } };
        if let Some(one) = self.roll.follow(self.context, pid, comm, state, now) {
            one.task.comm = comm.clone();
        }
    }

    /// The stack of the thread that has just gone to sleep on a CPU.
    fn stack(&mut self, event: &Event, frames: &Arc<[Symbol]>) {
        if self.locking.remove(&event.cpu) == Some(event.pid) {
            if let Some(Followed { lock: Some(lock), .. }) = self.roll.threads.get_mut(&event.pid) {
                lock.place.get_or_insert_with(|| self.places.of(frames));
            }
            return;
        }
        let Some(pid) = self.asleep.remove(&event.cpu).filter(|pid| *pid == event.pid) else { return };
        if let Some(Followed { state: State::Asleep(asleep), .. }) = self.roll.threads.get_mut(&pid) {
            asleep.place.get_or_insert_with(|| self.places.of(frames));
        }
    }

    fn fault(&mut self, event: &Event, error_code: u64) {
        let now = self.clamp(event.ts);
        let ends = self.faults_end;
        let Some(one) = self.roll.threads.get_mut(&event.pid) else { return };
        if !one.runs() {
            return;
        }
        if ends {
            one.fault_without_end();
        }
        one.account.fault_began(Fault::of(error_code));
        one.fault = Some(Handling { kind: Fault::of(error_code), began_at: one.cpu_ns(now), other_ns: 0 });
    }

    fn reclaim(&mut self, event: &Event) {
        let now = self.clamp(event.ts);
        if let Some(one) = self.roll.threads.get_mut(&event.pid).filter(|one| one.runs()) {
            one.reclaim = Some(Reclaim { began_at: one.cpu_ns(now), locked_ns: 0 });
        }
    }

    fn reclaim_ends(&mut self, event: &Event) {
        let now = self.clamp(event.ts);
        if let Some(one) = self.roll.threads.get_mut(&event.pid) {
            one.reclaimed(now);
        }
    }

    fn fault_ends(&mut self, event: &Event) {
        self.faults_end = true;
        let now = self.clamp(event.ts);
        if let Some(one) = self.roll.threads.get_mut(&event.pid) {
            one.fault_ended(now);
        }
    }

    fn call(&mut self, event: &Event, number: u32) {
        let now = self.clamp(event.ts);
        self.calls = true;
        if let Some(one) = self.roll.threads.get_mut(&event.pid).filter(|one| one.runs()) {
            let id = CallId { number, compat: false };
            one.call = Some(Call { id, begin: now, began_at: one.cpu_ns(now), other_ns: 0 });
        }
    }

    fn call_is_compat(&mut self, event: &Event) {
        let one = self.roll.threads.get_mut(&event.pid);
        if let Some(call) = one.and_then(|one| one.call.as_mut()) {
            call.id.compat = true;
        }
    }

    fn call_ends(&mut self, event: &Event) {
        let now = self.clamp(event.ts);
        if let Some(one) = self.roll.threads.get_mut(&event.pid) {
            one.called(now, true);
        }
    }

    fn lock(&mut self, event: &Event, lock: u64) {
        let now = self.clamp(event.ts);
        let Some(one) = self.roll.threads.get_mut(&event.pid) else { return };
        // A lock within another wait is a part of it.
        if one.lock.is_none() && one.runs() {
            one.lock = Some(LockWait { lock, began_at: one.cpu_ns(now), slept_ns: 0, place: None, by: None });
            self.locking.insert(event.cpu, event.pid);
        }
    }

    /// Ends the wait for a lock: for this one, or whichever it is. A lock within it has an end of its own.
    fn lock_is_had(&mut self, event: &Event, lock: Option<u64>) {
        let now = self.clamp(event.ts);
        let Some(one) = self.roll.threads.get_mut(&event.pid) else { return };
        if one.lock.as_ref().is_some_and(|wait| lock.is_none_or(|lock| lock == wait.lock)) {
            one.waited_for_lock(now);
        }
    }

    /// Adds an interruption of a thread.
    pub fn interruption(&mut self, one: &Interruption) {
        let is_turn = matches!(one.kind, Kind::WorkItem | Kind::KernelThread);
        if !one.kind.is_interruption() || is_turn {
            return;
        }
        if let Some(victim) = self.roll.threads.get_mut(&one.victim.pid) {
            victim.account.interrupted(one.duration_ns);
            if victim.call.as_ref().is_some_and(|call| call.begin <= one.start_ns) {
                victim.not_for_call(one.duration_ns);
            }
        }
    }

    /// The actor of an event.
    fn actor(&self, event: &Event) -> Ended {
        if event.within != Within::Task || event.pid == 0 {
            return Ended::Interrupt;
        }
        let named = self.roll.threads.get(&event.pid).map(|one| one.task.clone());
        let current = self.cpus.task(event.cpu).filter(|task| task.pid == event.pid).cloned();
        let known = || self.names.get(&event.pid).or_else(|| self.context.comms.get(&event.pid));
        let comm = || known().cloned().unwrap_or_else(|| "?".into());
        Ended::Task(named.or(current).unwrap_or_else(|| Task::named(event.pid, &comm())))
    }

    /// Returns the accounts of the threads that ran or were seen to want a CPU, by TID, and the number of threads that
    /// were not followed.
    pub fn finish(mut self) -> (Vec<ThreadAccount>, u64) {
        let end = self.context.window.1;
        let mut accounts = Vec::new();
        for mut one in std::mem::take(&mut self.roll.threads).into_values() {
            one.reclaimed(end);
            if self.faults_end {
                one.fault_without_end();
            }
            one.lock_without_end(end);
            one.called(end, false);
            if !matches!(one.state, State::Ended) {
                one.end_state(end, self.context, &self.cpus);
            }
            accounts.push(one.account.finish(one.task, end, self.faults_end, self.calls, self.context));
        }
        accounts.sort_by_key(|account| account.task.pid);
        (accounts, self.roll.more)
    }
}

#[cfg(test)]
mod tests;
