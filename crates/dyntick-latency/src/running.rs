// SPDX-License-Identifier: GPL-2.0-only
//! A running measurement.

use crate::measure::{self, Shared};
use crate::realtime::{lock_memory, schedule};
use crate::signals::{self, Signals};
use crate::{LatencyError, Plan, Policy};
use dyntick_system::run_on;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The stack of a measuring thread, in bytes. It is small because all of it is locked.
const STACK: usize = 256 << 10;

/// A running measurement. It ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    plan: Plan,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<(), LatencyError>>>,
    signals: Signals,
    locked: bool,
}

/// The reason for which a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A thread has ended, or woke up late.
    Bell,
    /// SIGUSR1 asks for the figures so far.
    Status,
    /// Another signal asks for the end.
    Signal(i32),
    /// The wait timed out.
    Timeout,
}

impl Running {
    /// Moves this thread off the measured CPUs, and starts the measuring threads.
    pub fn start(plan: Plan) -> Result<Self, LatencyError> {
        may(&plan)?;
        let signals = Signals::keep()?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = eventfd(0, flags).map_err(LatencyError::system("create an eventfd"))?;
        let shared = Arc::new(Shared::new(&plan, bell)?);
        let locked = match lock_memory() {
            Err(error) if plan.lock => return Err(LatencyError::Lock(error)),
            result => result.is_ok(),
        };
        if !plan.home.is_empty() {
            run_on(None, &plan.home)
                .map_err(|error| LatencyError::System("move to --mainaffinity", error))?;
        }
        let mut running = Self { plan, shared, threads: Vec::new(), signals, locked };
        for number in 0..running.plan.threads.len() {
            let (plan, shared) = (running.plan.clone(), running.shared.clone());
            let thread = Builder::new().name(format!("dyntick-T{number}")).stack_size(STACK);
            let thread = thread.spawn(move || measure::thread(&plan, &shared, number));
            running.threads.push(thread.map_err(|error| LatencyError::System("start a thread", error))?);
        }
        Ok(running)
    }

    /// The plan of the measurement.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The figures so far.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns true if the memory is locked.
    pub fn locked(&self) -> bool {
        self.locked
    }

    /// Waits for an event, for at most `at_most`.
    pub fn wait(&self, at_most: Option<Duration>) -> Wake {
        let mut files =
            [PollFd::new(&self.shared.bell, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        let time = at_most
            .map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        let _ = poll(&mut files, time.as_ref());
        match self.signals.next() {
            Some(libc::SIGUSR1) => return Wake::Status,
            Some(signal) => return Wake::Signal(signal),
            None => {}
        }
        match rustix::io::read(&self.shared.bell, &mut [0; 8]) {
            Ok(_) => Wake::Bell,
            Err(_) => Wake::Timeout,
        }
    }

    /// Returns true at the end: a limit was met, a thread failed, or the threads that wake up most often have done all
    /// their loops.
    pub fn ended(&self) -> bool {
        let shortest = self.plan.threads.iter().map(|thread| thread.interval_ns).min();
        let mut quickest = self
            .shared
            .threads
            .iter()
            .zip(&self.plan.threads)
            .filter(|(_, own)| Some(own.interval_ns) == shortest);
        let done = self.plan.loops.is_some_and(|loops| quickest.all(|(counts, _)| counts.cycles() >= loops));
        done || self.shared.stop.load(Relaxed) || self.shared.running.load(Relaxed) == 0
    }

    /// Ends all threads, and returns their figures.
    pub fn finish(mut self) -> Result<Arc<Shared>, LatencyError> {
        let results = self.end();
        results.into_iter().collect::<Result<(), _>>()?;
        Ok(self.shared.clone())
    }

    fn end(&mut self) -> Vec<Result<(), LatencyError>> {
        self.shared.stop.store(true, Relaxed);
        let threads = std::mem::take(&mut self.threads);
        threads.into_iter().map(|thread| self.join(thread)).collect()
    }

    fn join(&self, thread: JoinHandle<Result<(), LatencyError>>) -> Result<(), LatencyError> {
        while !thread.is_finished() {
            // A signal that arrives just before the sleep would be lost.
            self.shared.threads.iter().for_each(|counts| signals::wake(counts.tid()));
            std::thread::sleep(Duration::from_millis(1));
        }
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Checks that this user has the permissions for the plan, before any thread is started.
fn may(plan: &Plan) -> Result<(), LatencyError> {
    let highest = plan.threads.iter().map(|thread| thread.priority).max().unwrap_or(0);
    if plan.policy == Policy::Other {
        return Ok(());
    }
    let tried = schedule(plan.policy, highest);
    schedule(Policy::Other, 0).and(tried)
}
