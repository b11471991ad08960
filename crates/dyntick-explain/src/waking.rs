// SPDX-License-Identifier: GPL-2.0-only
//! How late threads run after they were to be woken, as events come. Pure.
//!
//! A thread that a timer wakes is late by the time from the timer's expiry (`expires` of `timer:hrtimer_start`, which
//! has the slack in it that the thread allowed) to the switch to the thread. Where no hrtimer woke it, or one of a
//! clock other than CLOCK_MONOTONIC, the time from `sched:sched_wakeup` (or the begin of the timer's handler) counts:
//! what the tracers `wakeup` and `wakeup_rt` call the wakeup latency.

use dyntick_model::{CpuList, Event, EventKind, Map, Symbol};

/// Timers, and threads that wait to run: more than a machine has. Of a trace that has more all are forgotten.
const MOST: usize = 1 << 16;

/// A thread that runs after it was woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Where it runs.
    pub cpu: u32,
    /// Which thread.
    pub pid: i32,
    /// Its name.
    pub comm: Symbol,
    /// When it was to run, ns on the events' clock.
    pub due_ns: u64,
    /// When it runs.
    pub runs_ns: u64,
    /// Whether `due_ns` is when a timer was to expire.
    pub by_timer: bool,
}

impl Woken {
    /// How late it runs, ns.
    pub fn latency_ns(&self) -> u64 {
        self.runs_ns.saturating_sub(self.due_ns)
    }
}

/// Follows wake-ups of threads on some CPUs.
#[derive(Debug)]
pub struct Wakeups {
    cpus: CpuList,
    /// When timers that are armed expire, by address.
    expires: Map<u64, i64>,
    /// When that was to expire whose handler runs, by CPU: handlers do not interrupt each other.
    running: Map<u32, Due>,
    /// Since when threads wait to run.
    waiting: Map<i32, Due>,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    ns: u64,
    by_timer: bool,
}

impl Wakeups {
    /// Of threads that run on these CPUs.
    pub fn of(cpus: CpuList) -> Self {
        let (expires, running, waiting) = (Map::default(), Map::default(), Map::default());
        Self { cpus, expires, running, waiting }
    }

    /// Takes the next event, in the order of time. Returns the thread that now runs after it was woken.
    pub fn event(&mut self, event: &Event) -> Option<Woken> {
        match &event.kind {
            EventKind::HrtimerStart { timer, expires, .. } => {
                bounded(&mut self.expires).insert(*timer, *expires);
            }
            EventKind::HrtimerCancel { timer } => _ = self.expires.remove(timer),
            EventKind::HrtimerEntry { timer, .. } => self.enter(event, *timer),
            EventKind::HrtimerExit { .. } => _ = self.running.remove(&event.cpu),
            EventKind::SchedWakeup { pid, target, .. } => self.wake(event, *pid, *target),
            EventKind::SchedMigrate { pid, to, .. } if !self.cpus.contains(*to) => {
                self.waiting.remove(pid);
            }
            EventKind::SchedSwitch { prev, next, next_comm, .. } => {
                // One that was woken while it ran waits for nothing.
                self.waiting.remove(prev);
                let Due { ns: due_ns, by_timer } = self.waiting.remove(next)?;
                let (cpu, runs_ns) = (event.cpu, event.ts);
                return Some(Woken { cpu, pid: *next, comm: next_comm.clone(), due_ns, runs_ns, by_timer });
            }
            _ => {}
        }
        None
    }

    fn enter(&mut self, event: &Event, timer: u64) {
        let expires = self.expires.remove(&timer).and_then(|ns| u64::try_from(ns).ok());
        // A timer does not expire early: one that would is of another clock.
        let due = match expires.filter(|ns| *ns <= event.ts) {
            Some(ns) => Due { ns, by_timer: true },
            None => Due { ns: event.ts, by_timer: false },
        };
        self.running.insert(event.cpu, due);
    }

    fn wake(&mut self, event: &Event, pid: i32, target: u32) {
        if !self.cpus.contains(target) {
            self.waiting.remove(&pid);
            return;
        }
        let timer = self.running.get(&event.cpu).copied();
        let due = timer.unwrap_or(Due { ns: event.ts, by_timer: false });
        bounded(&mut self.waiting).entry(pid).or_insert(due);
    }
}

/// Room for one more.
fn bounded<K, V>(map: &mut Map<K, V>) -> &mut Map<K, V> {
    if map.len() >= MOST {
        map.clear();
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(events: &[(u64, u32, EventKind)]) -> Vec<(i32, u64, bool)> {
        let mut wakeups = Wakeups::of("1".parse().unwrap());
        let event = |(ts, cpu, kind): &(u64, u32, EventKind)| {
            let woken = wakeups.event(&Event {
                ts: *ts,
                cpu: *cpu,
                pid: 0,
                within: Default::default(),
                kind: kind.clone(),
            })?;
            Some((woken.pid, woken.latency_ns(), woken.by_timer))
        };
        events.iter().filter_map(event).collect()
    }

    fn start(timer: u64, expires: i64) -> EventKind {
        EventKind::HrtimerStart { timer, function: "hrtimer_wakeup".into(), expires }
    }

    fn enter(timer: u64) -> EventKind {
        EventKind::HrtimerEntry { timer, function: "hrtimer_wakeup".into() }
    }

    fn exit(timer: u64) -> EventKind {
        EventKind::HrtimerExit { timer }
    }

    fn wake(pid: i32, target: u32) -> EventKind {
        EventKind::SchedWakeup { pid, comm: "x".into(), target }
    }

    fn switch(prev: i32, next: i32) -> EventKind {
        let (prev_comm, next_comm) = ("x".into(), "x".into());
        EventKind::SchedSwitch { prev, prev_comm, prev_state: 1, next, next_comm }
    }

    #[test]
    fn a_thread_that_a_timer_wakes_is_late_since_that_was_to_expire() {
        let woken = [(100, 1, start(7, 200)), (230, 1, enter(7)), (235, 1, wake(5, 1)), (240, 1, exit(7))];
        let switched = [(250, 1, switch(0, 5))];
        assert_eq!(run(&[&woken[..], &switched].concat()), [(5, 50, true)]);
        // One that was set for another clock, and one whose start was not seen.
        let real = [(100, 1, start(7, 1 << 60)), woken[1].clone(), woken[2].clone(), switched[0].clone()];
        assert_eq!(run(&real), [(5, 20, false)]);
        assert_eq!(run(&[&woken[1..], &switched].concat()), [(5, 20, false)]);
    }

    #[test]
    fn other_threads_are_late_since_they_were_woken() {
        assert_eq!(run(&[(10, 0, wake(5, 1)), (12, 0, wake(5, 1)), (30, 1, switch(0, 5))]), [(5, 20, false)]);
        let behind_a_timer = [(5, 1, enter(7)), (6, 1, exit(7)), (10, 1, wake(5, 1)), (30, 1, switch(0, 5))];
        assert_eq!(run(&behind_a_timer), [(5, 20, false)]);
    }

    #[test]
    fn who_runs_already_or_goes_elsewhere_is_not_late() {
        assert_eq!(run(&[(10, 1, wake(5, 1)), (20, 1, switch(5, 0)), (90, 1, switch(0, 5))]), []);
        assert_eq!(run(&[(10, 1, wake(5, 0)), (90, 1, switch(0, 5))]), []);
        let migrate = EventKind::SchedMigrate { pid: 5, comm: "x".into(), from: 1, to: 0 };
        assert_eq!(run(&[(10, 1, wake(5, 1)), (20, 1, migrate), (90, 1, switch(0, 5))]), []);
    }
}
