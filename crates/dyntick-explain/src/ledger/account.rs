// SPDX-License-Identifier: GPL-2.0-only
//! The sums of one thread.

use super::wait::{Asleep, Ended, Ready, Sleep};
use super::{Fault, Place};
use crate::waking::LONGEST_IDLE_EXIT_NS;
use crate::{Class, Context, Task};
use dyntick_model::{Map, Symbol};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A system call by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    /// The number, in the kernel's table for programs of its own word size, or of 32 bits.
    pub number: u32,
    /// True for a system call of 32 bits of a kernel of 64 bits.
    pub compat: bool,
}

/// A use of a thread's time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spent {
    /// It had a CPU, without the parts below: in user mode, and if system calls are not recorded, in the kernel.
    Ran,
    /// It had a CPU in user mode; system calls are recorded.
    RanInUserMode,
    /// It had a CPU for this system call.
    Called(CallId),
    /// It had a CPU for page faults of this kind.
    Fault(Fault),
    /// It had a CPU to free memory of its control group, which had reached a limit.
    Reclaimed,
    /// Interrupts, NMIs and softirqs had its CPU.
    Interrupted,
    /// It wanted a CPU that a task had, which is listed under this name.
    Preempted(Symbol),
    /// It wanted a CPU, and the limit of real-time tasks kept it off.
    RealTimeLimit,
    /// It wanted a CPU, and the CPU quota of its control group was used up: that of this group, by the number of its
    /// folder, if that was seen; else the CPU ran nothing, and its group has a quota.
    Quota(Option<u64>),
    /// It wanted a CPU that ran nothing, and why is not known.
    NothingRan,
    /// It was moved to another CPU, and that one left idle for it.
    Moved,
    /// It was woken, and its CPU left idle for it.
    WakingUp,
    /// A signal, if its number is known, had stopped it.
    Stopped(Option<u32>),
    /// A tracer had stopped it (ptrace).
    Traced,
    /// It could not go on in the kernel: the place, if it is known.
    Blocked(Option<Place>),
    /// It waited for a thread of this name (the first), which a task of another name (the second) kept from its CPU.
    Kept(Symbol, Symbol),
    /// It slept by its own will: the place, if it is known.
    Slept(Option<Place>),
    /// It slept on after the time that it asked for, until the end of its timer's slack or an earlier timer interrupt.
    Slack,
    /// It ran or waited on CPUs that are not recorded, or nothing was seen of it yet.
    Unseen,
}

impl Spent {
    /// A short name.
    pub fn name(&self) -> &'static str {
        match self {
            Spent::Ran => "ran",
            Spent::RanInUserMode => "user-mode",
            Spent::Called(_) => "system-call",
            Spent::Fault(_) => "fault",
            Spent::Reclaimed => "reclaim",
            Spent::Interrupted => "interrupted",
            Spent::Preempted(_) => "preempted",
            Spent::RealTimeLimit => "real-time-limit",
            Spent::Quota(_) => "quota",
            Spent::NothingRan => "nothing-ran",
            Spent::Moved => "moved",
            Spent::WakingUp => "waking-up",
            Spent::Stopped(_) => "stopped",
            Spent::Traced => "traced",
            Spent::Blocked(_) => "blocked",
            Spent::Kept(..) => "kept",
            Spent::Slept(_) => "slept",
            Spent::Slack => "timer-slack",
            Spent::Unseen => "unseen",
        }
    }

    /// The name of the task or program that had the CPU.
    pub fn task(&self) -> Option<&str> {
        match self {
            Spent::Preempted(by) => Some(by),
            _ => None,
        }
    }

    /// The function of the kernel in which the thread slept, if it did and that is known.
    pub fn function(&self) -> Option<&Symbol> {
        match self {
            Spent::Blocked(Some(place)) | Spent::Slept(Some(place)) => Some(&place.function),
            _ => None,
        }
    }

    /// Returns true if the thread wanted to go on in this time and could not.
    pub fn is_lost(&self) -> bool {
        use Spent::*;
        // Slack is what a thread agrees to that asks for no other: an event loop has it with each timeout.
        !matches!(self, Ran | RanInUserMode | Called(_) | Slept(_) | Slack | Unseen)
    }
}

/// A sum of times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Their sum, ns.
    pub ns: u64,
    /// Their number.
    pub count: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// The CPUs of the tasks that ended them.
    pub from: BTreeSet<u32>,
    /// The tasks that ended them or had the CPU, with number and time, ns.
    pub by: BTreeMap<Ended, (u64, u64)>,
}

/// The maximum number of different tasks that one sum names.
const MOST_NAMED: usize = 1024;

impl Amount {
    fn add(&mut self, ns: u64) {
        self.ns += ns;
        self.count += 1;
        self.longest_ns = self.longest_ns.max(ns);
    }

    fn add_by(&mut self, by: Ended, ns: u64) {
        if self.by.len() < MOST_NAMED || self.by.contains_key(&by) {
            let sum = self.by.entry(by).or_default();
            *sum = (sum.0 + 1, sum.1 + ns);
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Amount) {
        self.ns += other.ns;
        self.count += other.count;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.from.extend(&other.from);
        for (by, (count, ns)) in &other.by {
            if self.by.len() < MOST_NAMED || self.by.contains_key(by) {
                let sum = self.by.entry(by.clone()).or_default();
                *sum = (sum.0 + count, sum.1 + ns);
            }
        }
    }
}

/// The account of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadAccount {
    /// The thread.
    pub task: Task,
    /// The time that it lived in the window, ns. The sums add up to it.
    pub lived_ns: u64,
    /// The sums.
    pub spent: BTreeMap<Spent, Amount>,
    /// The number of its page faults by kind, whose time is known if [`Spent::Fault`] is there.
    pub faults: BTreeMap<Fault, u64>,
    /// The complete system calls by number, from entry to exit.
    pub calls: BTreeMap<CallId, Amount>,
    /// Its moves to another CPU, by those that moved it.
    pub moves: BTreeMap<Ended, u64>,
}

/// The maximum number of delays of a thread that are remembered for those that wait for it.
const MOST_DELAYS: usize = 256;

#[derive(Debug)]
pub(super) struct Account {
    /// The begin of its life, in the window; none if it has ended.
    born: Option<u64>,
    lived_ns: u64,
    /// The time in which it had a CPU, with interrupts and page faults.
    ran: Amount,
    interrupted: Amount,
    reclaimed: Amount,
    /// The time of that in which it spun for locks.
    spun_ns: u64,
    faults: BTreeMap<Fault, u64>,
    fault_times: BTreeMap<Fault, Amount>,
    spent: Map<Spent, Amount>,
    /// The waits for a CPU that another task had, by that task.
    preempted: Map<i32, (Task, Amount)>,
    /// The time with a CPU for system calls, and the calls from entry to exit, by number.
    call_times: BTreeMap<CallId, Amount>,
    calls: BTreeMap<CallId, Amount>,
    moves: BTreeMap<Ended, u64>,
    /// The delays of its last waits for a CPU: begin, end, and the name of the task that had it.
    delays: VecDeque<(u64, u64, Symbol)>,
    /// The scheduling class, if it is known.
    class: Option<Class>,
    /// True if its control group has a quota.
    has_quota: bool,
    /// The groups whose CPU quota limits it.
    limits: Arc<[u64]>,
}

impl Account {
    pub fn new(context: &Context, thread: i32, born: u64) -> Self {
        Self {
            class: context.known.classes.get(&thread).copied(),
            has_quota: context.known.quotas.contains_key(&thread),
            limits: context.known.limits.get(&thread).cloned().unwrap_or_default(),
            preempted: Map::default(),
            born: Some(born),
            lived_ns: 0,
            ran: Amount::default(),
            interrupted: Amount::default(),
            reclaimed: Amount::default(),
            spun_ns: 0,
            faults: BTreeMap::new(),
            fault_times: BTreeMap::new(),
            spent: Map::default(),
            call_times: BTreeMap::new(),
            calls: BTreeMap::new(),
            moves: BTreeMap::new(),
            delays: VecDeque::new(),
        }
    }

    pub fn died(&mut self, now: u64) {
        self.lived_ns += now.saturating_sub(self.born.take().unwrap_or(now));
    }

    /// The groups whose CPU quota limits it, by the numbers of their folders. No real-time task has one.
    pub fn limits(&self) -> Arc<[u64]> {
        match self.class {
            Some(Class::RealTime | Class::Deadline) => Arc::default(),
            _ => self.limits.clone(),
        }
    }

    /// Takes the limits of the one that started it, if its own are not known.
    pub fn inherit(&mut self, limits: Option<Arc<[u64]>>) {
        if self.limits.is_empty() {
            self.limits = limits.unwrap_or_default();
        }
    }

    /// Notes that its TID is used again.
    pub fn reborn(&mut self, now: u64) {
        self.born.get_or_insert(now);
    }

    pub fn add(&mut self, spent: Spent, ns: u64) {
        if ns > 0 {
            self.spent.entry(spent).or_default().add(ns);
        }
    }

    pub fn ran(&mut self, since: u64, until: u64) {
        self.ran.add(until.saturating_sub(since));
    }

    /// The time with a CPU until the thread gave it up last, ns.
    pub fn ran_ns(&self) -> u64 {
        self.ran.ns
    }

    pub fn interrupted(&mut self, ns: u64) {
        self.interrupted.add(ns);
    }

    pub fn reclaimed(&mut self, ns: u64) {
        self.reclaimed.add(ns);
    }

    pub fn fault_began(&mut self, kind: Fault) {
        *self.faults.entry(kind).or_default() += 1;
    }

    pub fn faulted(&mut self, kind: Fault, ns: u64) {
        self.fault_times.entry(kind).or_default().add(ns);
    }

    /// Adds a system call: the time with a CPU for it, and from entry to exit if both were seen.
    pub fn called(&mut self, id: CallId, ran_ns: u64, lasted_ns: Option<u64>) {
        self.call_times.entry(id).or_default().add(ran_ns);
        if let Some(ns) = lasted_ns {
            self.calls.entry(id).or_default().add(ns);
        }
    }

    /// Adds a wait for a lock of the kernel, in which the thread spun and slept.
    pub fn waited_for_lock(&mut self, place: Place, spun_ns: u64, slept_ns: u64, by: Option<Ended>) {
        self.spun_ns += spun_ns;
        let amount = self.spent.entry(Spent::Blocked(Some(place))).or_default();
        amount.add(spun_ns + slept_ns);
        by.into_iter().for_each(|by| amount.add_by(by, spun_ns + slept_ns));
    }

    pub fn moved(&mut self, by: Ended) {
        if self.moves.len() < MOST_NAMED || self.moves.contains_key(&by) {
            *self.moves.entry(by).or_default() += 1;
        }
    }

    /// Adds a wait for a CPU that has ended.
    pub fn waited(&mut self, ready: Ready, now: u64, context: &Context) {
        let is_limited = self.class == Some(Class::RealTime) && !context.known.no_real_time_limit;
        let is_fair = |task: &Task| context.known.classes.get(&task.pid) == Some(&Class::Fair);
        // Beyond the time of a switch the scheduler prefers real-time tasks, unless they have used up their share.
        let mut limited_ns = 0;
        for (task, ns) in &ready.by {
            if is_limited && *ns > LONGEST_IDLE_EXIT_NS && is_fair(task) {
                limited_ns += ns;
                continue;
            }
            self.preempted(task, *ns, context);
        }
        let delay = ready.by.iter().max_by_key(|(_, ns)| *ns);
        if let Some((task, _)) = delay {
            self.delayed(ready.begin, now, task.comm.clone());
        }
        for (group, ns) in ready.throttled {
            self.add(Spent::Quota(Some(group)), ns);
        }
        // An idle CPU takes a task at once, unless its group may not run.
        let is_way = limited_ns == 0 && ready.idle_ns <= LONGEST_IDLE_EXIT_NS;
        let spent = match &ready.moved {
            Some(_) if is_way => Spent::Moved,
            None if is_way && ready.woken => Spent::WakingUp,
            _ if is_limited => Spent::RealTimeLimit,
            _ if self.has_quota => Spent::Quota(None),
            _ => Spent::NothingRan,
        };
        let (is_move, ns) = (spent == Spent::Moved, ready.idle_ns + limited_ns);
        self.add(spent, ns);
        if let Some(by) = ready.moved.filter(|_| is_move && ns > 0) {
            self.spent.entry(Spent::Moved).or_default().add_by(by, ns);
        }
    }

    /// Notes a wait for a CPU for those that wait for this thread.
    pub fn delayed(&mut self, begin: u64, end: u64, by: Symbol) {
        if self.delays.len() == MOST_DELAYS {
            self.delays.pop_front();
        }
        self.delays.push_back((begin, end, by));
    }

    /// Adds a wait for a CPU that this task had.
    fn preempted(&mut self, task: &Task, ns: u64, context: &Context) {
        match self.preempted.get_mut(&task.pid) {
            Some((known, amount)) if known.comm == task.comm => return amount.add(ns),
            _ => {}
        }
        let mut amount = Amount::default();
        amount.add(ns);
        if let Some((renamed, amount)) = self.preempted.insert(task.pid, (task.clone(), amount)) {
            self.preempted_by(renamed, amount, context);
        }
    }

    fn preempted_by(&mut self, task: Task, mut amount: Amount, context: &Context) {
        let spent = Spent::Preempted(context.program(&task).clone());
        amount.by.insert(Ended::Task(task), (amount.count, amount.ns));
        self.spent.entry(spent).or_default().merge(&amount);
    }

    /// Adds a sleep that has ended, if it did by a task on CPU `from`. `kept` has the task that kept the holder of the
    /// lock from its CPU, and for how long.
    pub fn slept(
        &mut self,
        asleep: Asleep,
        now: u64,
        by: Option<Ended>,
        from: Option<u32>,
        kept: Option<(Symbol, u64)>,
    ) {
        let mut ns = now.saturating_sub(asleep.since);
        if let (Some((keeper, kept_ns)), Some(Ended::Task(waker))) = (kept, &by) {
            let kept_ns = kept_ns.min(ns);
            let amount = self.spent.entry(Spent::Kept(waker.comm.clone(), keeper)).or_default();
            amount.add(kept_ns);
            amount.add_by(Ended::Task(waker.clone()), kept_ns);
            ns -= kept_ns;
        }
        let (spent, by) = match (asleep.sleep, asleep.signal) {
            (Sleep::Stopped, Some((signal, sender))) => (Spent::Stopped(Some(signal)), Some(sender)),
            (Sleep::Stopped, None) => (Spent::Stopped(None), by),
            (Sleep::Traced, _) => (Spent::Traced, by),
            (Sleep::Uninterruptible, _) => (Spent::Blocked(asleep.place), by),
            _ if asleep.place.as_ref().is_some_and(Place::is_forced) => (Spent::Blocked(asleep.place), by),
            _ => {
                let slack_ns = asleep.slack_ns.min(ns);
                self.add(Spent::Slack, slack_ns);
                ns -= slack_ns;
                (Spent::Slept(asleep.place), by)
            }
        };
        if ns == 0 {
            return;
        }
        let amount = self.spent.entry(spent).or_default();
        amount.add(ns);
        amount.from.extend(from);
        by.into_iter().for_each(|by| amount.add_by(by, ns));
    }

    /// The task that kept this thread from its CPU for most of the time from `begin` to `end`, and for how long in all.
    pub fn kept_since(&self, begin: u64, end: u64) -> Option<(Symbol, u64)> {
        let mut sums: BTreeMap<&Symbol, u64> = BTreeMap::new();
        for (from, to, by) in self.delays.iter().rev().take_while(|(_, to, _)| *to > begin) {
            *sums.entry(by).or_default() += (*to).min(end).saturating_sub((*from).max(begin));
        }
        let all = sums.values().sum();
        let (by, _) = sums.into_iter().max_by_key(|(_, ns)| *ns)?;
        Some((by.clone(), all))
    }

    /// The account at the end of the window; `faults_end` is true if the ends of page faults are recorded, and `calls`
    /// if system calls are.
    pub fn finish(
        mut self,
        task: Task,
        end: u64,
        faults_end: bool,
        calls: bool,
        context: &Context,
    ) -> ThreadAccount {
        for (_, (by, amount)) in std::mem::take(&mut self.preempted) {
            self.preempted_by(by, amount, context);
        }
        self.died(end);
        let mut spent: BTreeMap<Spent, Amount> = self.spent.into_iter().collect();
        let mut ran = self.ran;
        ran.ns = ran.ns.saturating_sub(self.spun_ns);
        // A fault within a wait for a lock is a part of that, so both may exceed the time that it ran.
        for (kind, mut amount) in self.fault_times.into_iter().filter(|_| faults_end) {
            amount.ns = amount.ns.min(ran.ns);
            ran.ns -= amount.ns;
            spent.insert(Spent::Fault(kind), amount);
        }
        for part in [&mut self.reclaimed, &mut self.interrupted] {
            part.ns = part.ns.min(ran.ns);
            ran.ns -= part.ns;
        }
        for (id, mut amount) in self.call_times {
            amount.ns = amount.ns.min(ran.ns);
            ran.ns -= amount.ns;
            spent.insert(Spent::Called(id), amount);
        }
        let rest = if calls { Spent::RanInUserMode } else { Spent::Ran };
        let parts = [(Spent::Reclaimed, self.reclaimed), (Spent::Interrupted, self.interrupted), (rest, ran)];
        for (key, amount) in parts {
            if amount.ns > 0 {
                spent.insert(key, amount);
            }
        }
        let Self { lived_ns, faults, calls, moves, .. } = self;
        ThreadAccount { task, lived_ns, spent, faults, calls, moves }
    }
}
