// SPDX-License-Identifier: GPL-2.0-only
//! A measuring thread.

use crate::clock::timespec;
use crate::mark::Mark;
use crate::realtime::{schedule, touch_stack};
use crate::smi::Smi;
use crate::timer::Timer;
use crate::{Align, Counts, Late, LatencyError, Lates, Plan, Recent, Sleep, now_ns};
use dyntick_model::NANOS_PER_SEC;
use dyntick_system::{affinity, run_on};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::thread::{
    NanosleepRelativeResult, clock_nanosleep_absolute, clock_nanosleep_relative, nanosleep, sched_getcpu,
};
use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// The state that the threads of a measurement share.
#[derive(Debug)]
pub struct Shared {
    /// The figures, by thread.
    pub threads: Vec<Counts>,
    /// The late wake-ups, the first of them with their times.
    pub lates: Lates,
    /// The latest late wake-ups.
    pub recent: Recent,
    /// The late wake-up that ended the measurement, if one did.
    pub broke: Lates,
    /// The threads that did not stay on their CPU, by number. Their figures end before that.
    moved: Vec<AtomicBool>,
    mark: Option<Mark>,
    pub(crate) stop: AtomicBool,
    /// The number of threads that have not ended.
    pub(crate) running: AtomicUsize,
    /// The eventfd that wakes the main thread.
    pub(crate) bell: OwnedFd,
    /// The time at which all aligned threads begin, ns.
    begin: AtomicU64,
    together: Barrier,
}

impl Shared {
    pub(crate) fn new(plan: &Plan, bell: OwnedFd) -> Result<Self, LatencyError> {
        Ok(Self {
            threads: plan.threads.iter().map(|_| Counts::new(plan.bins, plan.unit_ns, plan.values)).collect(),
            lates: Lates::new(plan.late_limit),
            recent: Recent::new(),
            broke: Lates::new(1),
            moved: plan.threads.iter().map(|_| AtomicBool::new(false)).collect(),
            stop: AtomicBool::new(false),
            running: AtomicUsize::new(plan.threads.len()),
            bell,
            begin: AtomicU64::new(0),
            together: Barrier::new(plan.threads.len()),
            mark: (plan.mark && plan.break_above.is_some()).then(Mark::open).transpose()?,
        })
    }

    /// Returns true if a thread did not stay on its CPU, by the thread's number. The CPU was taken offline: the kernel
    /// then moves its threads, and lets them run anywhere. Or their affinity or cpuset was changed.
    pub fn was_moved(&self, number: usize) -> bool {
        self.moved[number].load(Relaxed)
    }

    pub(crate) fn ring(&self) {
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}

/// Runs thread `number` from its start to its end.
pub(crate) fn thread(plan: &Plan, shared: &Shared, number: usize) -> Result<(), LatencyError> {
    let prepared = prepare(plan, shared, number);
    let begin = begin(plan, shared, number);
    let result = prepared.and_then(|smi| Loop { plan, shared, number, smi }.run(begin));
    if result.is_err() {
        shared.stop.store(true, Relaxed);
    }
    // The priority ends with the measurement, because the thread's exit takes time.
    let _ = schedule(crate::Policy::Other, 0);
    shared.running.fetch_sub(1, Relaxed);
    shared.ring();
    result
}

fn prepare(plan: &Plan, shared: &Shared, number: usize) -> Result<Option<Smi>, LatencyError> {
    let own = plan.threads[number];
    shared.threads[number].tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
    if let Some(cpu) = own.cpu {
        run_on(None, &[cpu].into_iter().collect()).map_err(|source| LatencyError::Cpu { cpu, source })?;
    }
    touch_stack();
    let smi = own.cpu.filter(|_| plan.smi).map(Smi::open).transpose()?;
    schedule(plan.policy, own.priority)?;
    Ok(smi)
}

/// The time from which a thread counts its intervals, on its clock.
fn begin(plan: &Plan, shared: &Shared, number: usize) -> u64 {
    let Some(align) = plan.align else { return plan.clock.now() };
    if shared.together.wait().is_leader() {
        let now = plan.clock.now();
        // The next full second, or the one after it if that is too near.
        let second = (now + NANOS_PER_SEC / 10).next_multiple_of(NANOS_PER_SEC);
        shared.begin.store(if matches!(align, Align::Second(_)) { second } else { now }, Relaxed);
    }
    shared.together.wait();
    let offset = match align {
        Align::Spread(ns) => ns * number as u64,
        Align::Second(ns) => ns,
    };
    shared.begin.load(Relaxed) + offset
}

struct Loop<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    number: usize,
    smi: Option<Smi>,
}

impl Loop<'_> {
    /// Sleeps and counts until the end. It allocates nothing.
    fn run(mut self, begin: u64) -> Result<(), LatencyError> {
        let Plan { clock, sleep, loops, .. } = *self.plan;
        let interval = self.plan.threads[self.number].interval_ns;
        let counts = &self.shared.threads[self.number];
        let end = self.plan.duration.map_or(u64::MAX, |duration| begin + duration.as_nanos() as u64);
        let mut due = begin + interval;
        let timer = match sleep {
            Sleep::Timer { absolute } => {
                let first = if absolute { due } else { interval };
                Some(Timer::start(clock, absolute, first, interval)?)
            }
            _ => None,
        };
        while !self.shared.stop.load(Relaxed) {
            let mut missed = 0;
            match &timer {
                Some(timer) => missed = timer.wait(),
                None => match self.sleep(due, interval) {
                    Ok(wanted) => due = wanted,
                    Err(Errno::INTR) => continue,
                    Err(error) => return Err(LatencyError::system("sleep")(error)),
                },
            }
            let now = clock.now();
            if !self.has_stayed() {
                break;
            }
            if timer.is_some() && self.shared.stop.load(Relaxed) {
                break; // the signal may not have been the timer's
            }
            let latency = now.saturating_sub(due);
            let smi = self.smi.as_mut().map_or(0, Smi::since);
            self.look(latency, counts.cycles());
            counts.add(latency, smi);
            if now >= end {
                self.shared.stop.store(true, Relaxed);
            }
            due += interval * (1 + missed);
            if due < now {
                // Wake-ups that are already in the past are skipped.
                due += (now - due).div_ceil(interval) * interval;
            }
            if loops == Some(counts.cycles()) {
                break;
            }
        }
        if !(self.has_stayed() && self.is_pinned()?) {
            // A measurement of the other threads alone is not the one that was asked for.
            self.shared.moved[self.number].store(true, Relaxed);
            self.shared.stop.store(true, Relaxed);
        }
        Ok(())
    }

    /// Looks at the affinity at the end, because the thread may have come back to its CPU by chance.
    fn is_pinned(&self) -> Result<bool, LatencyError> {
        let Some(cpu) = self.plan.threads[self.number].cpu else { return Ok(true) };
        let may =
            affinity(None).map_err(|error| LatencyError::System("read the affinity of a thread", error))?;
        Ok(may.len() == 1 && may.contains(cpu))
    }

    /// Returns true if the thread is still on its CPU. A CPU that was offline comes back without its threads.
    fn has_stayed(&self) -> bool {
        self.plan.threads[self.number].cpu.is_none_or(|cpu| sched_getcpu() == cpu as usize)
    }

    /// Sleeps once, and returns the time at which the sleep was to end.
    fn sleep(&self, due: u64, interval: u64) -> Result<u64, Errno> {
        let clock = self.plan.clock;
        match self.plan.sleep {
            Sleep::Relative => {
                let from = clock.now();
                let slept = clock_nanosleep_relative(clock.id(), &timespec(interval));
                relative(slept).map(|()| from + interval)
            }
            Sleep::Nanosleep => {
                let from = clock.now();
                relative(nanosleep(&timespec(interval))).map(|()| from + interval)
            }
            Sleep::Absolute | Sleep::Timer { .. } => {
                clock_nanosleep_absolute(clock.id(), &timespec(due)).map(|()| due)
            }
        }
    }

    /// Records a late wake-up.
    fn look(&self, latency: u64, cycle: u64) {
        let above = |limit: Option<u64>| limit.is_some_and(|limit| latency / self.plan.unit_ns > limit);
        let (late, breaks) = (above(self.plan.late_above), above(self.plan.break_above));
        if !late && !breaks {
            return;
        }
        let woke_ns = now_ns();
        let due_ns = woke_ns.saturating_sub(latency);
        let it = Late { thread: self.number, cycle, due_ns, woke_ns };
        if late {
            self.shared.lates.add(it);
            self.shared.recent.add(it);
        }
        if breaks {
            if let Some(mark) = self.shared.mark.as_ref().filter(|_| self.shared.broke.count() == 0) {
                mark.set(latency / self.plan.unit_ns, self.plan.break_above.unwrap_or(0));
            }
            self.shared.broke.add(it);
            self.shared.stop.store(true, Relaxed);
        }
        self.shared.ring();
    }
}

fn relative(slept: NanosleepRelativeResult) -> Result<(), Errno> {
    match slept {
        NanosleepRelativeResult::Ok => Ok(()),
        NanosleepRelativeResult::Interrupted(_) => Err(Errno::INTR),
        NanosleepRelativeResult::Err(error) => Err(error),
    }
}
