// SPDX-License-Identifier: GPL-2.0-only
//! Traces of other tools that lack events: nothing is concluded from the absence of an event that was not recorded.

use dyntick_explain::{Class, Context, Interruption, Known, Recorded, explain};
use dyntick_model::{Event, EventKind, EventKind::*, Interrupt, TickDependency};

const TICK: u64 = 4_000_000;

/// A machine whose CPU 1 is of `nohz_full=`, recorded with these events; with all if there are none.
fn context(recorded: &[&str]) -> Context {
    let recorded = match recorded {
        [] => Recorded::All,
        events => Recorded::Only(events.iter().map(|event| (*event).to_owned()).collect()),
    };
    Context {
        hz: 250,
        nohz_full: "1".parse().unwrap(),
        isolated: "1".parse().unwrap(),
        rcu_nocbs: "1".parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        kernel: "6.12.95".parse().unwrap(),
        window: (0, 1_000_000_000),
        timekeeper: Some(0),
        comms: [(7, "app".into())].into(),
        known: Known { recorded, ..Known::default() },
    }
}

fn interruption(pid: i32, kinds: &[EventKind], context: &Context) -> Interruption {
    let event = |(i, kind): (usize, &EventKind)| Event {
        ts: TICK + 1000 * i as u64,
        cpu: 1,
        pid,
        within: Default::default(),
        kind: kind.clone(),
    };
    let events: Vec<Event> = kinds.iter().enumerate().map(event).collect();
    explain(&events, context).interruptions.remove(0)
}

/// The causes with all events recorded, and with only these.
fn causes(pid: i32, kinds: &[EventKind], recorded: &[&str]) -> [String; 2] {
    [&[][..], recorded].map(|recorded| interruption(pid, kinds, &context(recorded)).cause.to_string())
}

fn timer_interrupt(function: Option<&str>) -> Vec<EventKind> {
    let run = function.into_iter().flat_map(|function| {
        [HrtimerEntry { timer: 0x10, function: function.into(), now: 0 }, HrtimerExit { timer: 0x10 }]
    });
    let (begin, end) =
        (InterruptEntry { source: Interrupt::Timer }, InterruptExit { source: Interrupt::Timer });
    [begin].into_iter().chain(run).chain([end]).collect()
}

/// The events of a tick that are in nearly every trace.
const HRTIMERS: &[&str] = &["irq_vectors:local_timer_entry", "timer:hrtimer_expire_entry"];

#[test]
fn timer_interrupt_is_only_empty_if_hrtimers_are_recorded() {
    let kinds = timer_interrupt(None);
    assert_eq!(causes(7, &kinds, &["irq_vectors:local_timer_entry"]), ["empty-timer", "unknown"]);
    assert_eq!(causes(7, &kinds, HRTIMERS), ["empty-timer", "empty-timer"]);
}

#[test]
fn wheel_is_only_empty_if_its_timers_are_recorded() {
    let start = HrtimerStart { timer: 0x10, function: "tick_nohz_handler".into(), expires: 1, soft: 1 };
    let kinds = [vec![start], timer_interrupt(Some("tick_nohz_handler"))].concat();
    assert_eq!(causes(7, &kinds, HRTIMERS), ["wheel-empty", "unknown"]);
    let timers = [HRTIMERS, &["timer:timer_expire_entry"]].concat();
    assert_eq!(causes(7, &kinds, &timers), ["wheel-empty", "wheel-empty"]);
}

/// The tick's timer may also be that of a stopped tick, set for a timer of the wheel.
#[test]
fn idle_tick_only_runs_if_stops_are_recorded() {
    let kinds = timer_interrupt(Some("tick_nohz_handler"));
    assert_eq!(causes(0, &kinds, HRTIMERS), ["idle-not-stopped", "unknown"]);
    for shows_stops in ["timer:tick_stop", "timer:hrtimer_start"] {
        let recorded = [HRTIMERS, &[shows_stops]].concat();
        assert_eq!(causes(0, &kinds, &recorded), ["idle-not-stopped", "idle-not-stopped"]);
    }
}

#[test]
fn deadline_timer_is_only_the_fair_servers_if_wakeups_are_recorded() {
    let kinds = timer_interrupt(Some("dl_task_timer"));
    assert_eq!(causes(7, &kinds, HRTIMERS), ["fair-server", "hrtimer:dl_task_timer"]);
    let wakeups = [HRTIMERS, &["sched:sched_wakeup"]].concat();
    assert_eq!(causes(7, &kinds, &wakeups), ["fair-server", "fair-server"]);
}

#[test]
fn task_is_only_alone_if_its_competitors_are_recorded() {
    let stop = TickStop { success: false, dependency: TickDependency::Sched };
    let kinds = [timer_interrupt(Some("tick_nohz_handler")), vec![stop]].concat();
    let lacking: &[&str] = &["timer:hrtimer_expire_entry", "timer:tick_stop", "sched:sched_switch"];
    let complete = [lacking, &["sched:sched_wakeup"]].concat();
    let with = |known: Known| {
        [&[], &complete[..], lacking].map(|recorded| {
            let mut context = context(recorded);
            context.known = Known { recorded: context.known.recorded, ..known.clone() };
            interruption(7, &kinds, &context).cause.to_string()
        })
    };
    let quota = Known { quotas: [(7, "50 ms".into())].into(), ..Known::default() };
    let classes = |class| Known { classes: [(7, class)].into(), ..Known::default() };
    assert_eq!(with(quota), ["cpu-quota", "cpu-quota", "dependency-sched"]);
    let deadline = "dependency-deadline";
    assert_eq!(with(classes(Class::Deadline)), [deadline, deadline, "dependency-sched"]);
    let ext = "dependency-sched-ext";
    assert_eq!(with(classes(Class::Ext)), [ext, ext, "dependency-sched"]);
    let text = |recorded| interruption(7, &kinds, &context(recorded)).chain.texts().join("; ");
    assert!(text(&complete).contains("no event shows (a task from before"), "{}", text(&complete));
    assert!(text(lacking).contains("the trace has no events of (a second task"), "{}", text(lacking));
}
