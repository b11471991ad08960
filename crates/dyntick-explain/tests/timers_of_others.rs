// SPDX-License-Identifier: GPL-2.0-only
//! From 6.9 until 6.19, an isolated CPU that ticks runs the timers of idle CPUs.

use dyntick_explain::{Context, Interruption, Known, explain};
use dyntick_model::{Event, EventKind, EventKind::*, Interrupt, Softirq};

const TICK: u64 = 4_000_000;
const TIMER: u64 = 0x10;

fn context(kernel: &str) -> Context {
    Context {
        hz: 250,
        nohz_full: "".parse().unwrap(),
        isolated: "1".parse().unwrap(),
        rcu_nocbs: "".parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        kernel: kernel.parse().unwrap(),
        window: (0, 1_000_000_000),
        timekeeper: Some(0),
        comms: [(7, "app".into())].into(),
        known: Known::default(),
    }
}

/// A tick of CPU 1, in which a timer of this CPU's wheel expired.
fn tick_with_timer_of(base: u32, kernel: &str) -> Interruption {
    let set = TimerStart { timer: 0x20, function: "delayed_work_timer_fn".into(), expires: 1, flags: base };
    let run: Vec<EventKind> = vec![
        InterruptEntry { source: Interrupt::Timer },
        HrtimerEntry { timer: TIMER, function: "tick_nohz_handler".into(), now: 0 },
        HrtimerStart {
            timer: TIMER,
            function: "tick_nohz_handler".into(),
            expires: 2 * TICK as i64,
            soft: 2 * TICK as i64,
        },
        HrtimerExit { timer: TIMER },
        SoftirqRaise { softirq: Softirq::Timer },
        InterruptExit { source: Interrupt::Timer },
        SoftirqEntry { softirq: Softirq::Timer },
        TimerEntry { timer: 0x20, function: "delayed_work_timer_fn".into() },
        TimerExit { timer: 0x20 },
        SoftirqExit { softirq: Softirq::Timer },
    ];
    let first = Event { ts: 1000, cpu: base, pid: 0, within: Default::default(), kind: set };
    let event =
        |(i, kind)| Event { ts: TICK + 1000 * i as u64, cpu: 1, pid: 7, within: Default::default(), kind };
    let events: Vec<Event> = [first].into_iter().chain(run.into_iter().enumerate().map(event)).collect();
    explain(&events, &context(kernel)).interruptions.remove(0)
}

#[test]
fn timer_of_another_cpu_is_recognised() {
    let one = tick_with_timer_of(0, "6.12.117");
    assert_eq!(one.cause, "remote-timer");
    assert_eq!(one.chain.texts()[1], "timer delayed_work_timer_fn of CPU 0 was due", "{:?}", one.chain);
}

#[test]
fn own_timers_and_kernels_without_the_hierarchy_are_not_remote() {
    assert_eq!(tick_with_timer_of(1, "6.12.117").cause, "not-adaptive");
    assert_eq!(tick_with_timer_of(0, "6.1.192").cause, "not-adaptive");
    assert_eq!(tick_with_timer_of(0, "6.19.3").cause, "not-adaptive");
}
