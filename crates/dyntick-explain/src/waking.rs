// SPDX-License-Identifier: GPL-2.0-only
//! The latencies of wake-ups, computed as events come. Pure.
//!
//! The latency of a thread that a timer wakes is the time from the timer's expiry (`expires` of `timer:hrtimer_start`,
//! which includes the thread's timer slack) to the switch to the thread. For other wake-ups, and for timers of other
//! clocks than CLOCK_MONOTONIC, it begins with `sched:sched_wakeup` or with the timer's handler. The tracers `wakeup`
//! and `wakeup_rt` call that the wakeup latency.

use dyntick_model::{CpuList, Event, EventKind, Map, Symbol};

/// The maximum number of timers and of waiting threads, which is more than a machine has. If a trace has more, all are
/// forgotten.
const MOST: usize = 1 << 16;

/// The longest time, ns, in which a CPU leaves idle for a thread that was woken: no known idle state takes as long.
/// Beyond it the thread may not run.
pub const LONGEST_IDLE_EXIT_NS: u64 = 2_000_000;

/// A thread that runs after its wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Its CPU.
    pub cpu: u32,
    /// Its TID.
    pub pid: i32,
    /// Its name.
    pub comm: Symbol,
    /// The time at which it was due, ns on the events' clock.
    pub due_ns: u64,
    /// The time at which it runs.
    pub runs_ns: u64,
    /// True if `due_ns` is the expiry of a timer.
    pub by_timer: bool,
}

impl Woken {
    /// Its latency, ns.
    pub fn latency_ns(&self) -> u64 {
        self.runs_ns.saturating_sub(self.due_ns)
    }
}

/// The state of following wake-ups of threads on some CPUs.
#[derive(Debug)]
pub struct Wakeups {
    cpus: CpuList,
    /// The expiries of armed timers, by address.
    expires: Map<u64, i64>,
    /// The expiry of the timer whose handler runs, by CPU: handlers do not interrupt each other.
    running: Map<u32, Due>,
    /// The times since which threads wait to run.
    waiting: Map<i32, Due>,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    ns: u64,
    by_timer: bool,
}

impl Wakeups {
    /// Creates one for threads that run on these CPUs.
    pub fn of(cpus: CpuList) -> Self {
        let (expires, running, waiting) = (Map::default(), Map::default(), Map::default());
        Self { cpus, expires, running, waiting }
    }

    /// Applies the next event, in the order of time. Returns a thread that now runs after its wake-up.
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
                // A thread that was woken while it ran does not wait.
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
        // A timer never expires early, so such a timer has another clock.
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

/// Makes room for one more.
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
        EventKind::HrtimerStart { timer, function: "hrtimer_wakeup".into(), expires, soft: expires }
    }

    fn enter(timer: u64) -> EventKind {
        EventKind::HrtimerEntry { timer, function: "hrtimer_wakeup".into(), now: 0 }
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
    fn latency_begins_with_the_expiry_of_the_timer() {
        let woken = [(100, 1, start(7, 200)), (230, 1, enter(7)), (235, 1, wake(5, 1)), (240, 1, exit(7))];
        let switched = [(250, 1, switch(0, 5))];
        assert_eq!(run(&[&woken[..], &switched].concat()), [(5, 50, true)]);
        // A timer of another clock, and one whose start was not seen.
        let real = [(100, 1, start(7, 1 << 60)), woken[1].clone(), woken[2].clone(), switched[0].clone()];
        assert_eq!(run(&real), [(5, 20, false)]);
        assert_eq!(run(&[&woken[1..], &switched].concat()), [(5, 20, false)]);
    }

    #[test]
    fn latency_of_other_threads_begins_with_the_wakeup() {
        assert_eq!(run(&[(10, 0, wake(5, 1)), (12, 0, wake(5, 1)), (30, 1, switch(0, 5))]), [(5, 20, false)]);
        let behind_a_timer = [(5, 1, enter(7)), (6, 1, exit(7)), (10, 1, wake(5, 1)), (30, 1, switch(0, 5))];
        assert_eq!(run(&behind_a_timer), [(5, 20, false)]);
    }

    #[test]
    fn running_or_migrated_thread_is_not_late() {
        assert_eq!(run(&[(10, 1, wake(5, 1)), (20, 1, switch(5, 0)), (90, 1, switch(0, 5))]), []);
        assert_eq!(run(&[(10, 1, wake(5, 0)), (90, 1, switch(0, 5))]), []);
        let migrate = EventKind::SchedMigrate { pid: 5, comm: "x".into(), from: 1, to: 0 };
        assert_eq!(run(&[(10, 1, wake(5, 1)), (20, 1, migrate), (90, 1, switch(0, 5))]), []);
    }
}
