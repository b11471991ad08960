// SPDX-License-Identifier: GPL-2.0-only
//! Ticks that the scheduler keeps although no second task is seen: explained by the class of the task.

use dyntick_explain::{Class, Context, Interruption, Known, explain};
use dyntick_model::{Event, EventKind, EventKind::*, Interrupt, TickDependency};

const TICK: u64 = 4_000_000;
const TIMER: u64 = 0x10;

fn context(kernel: &str, class: Option<Class>) -> Context {
    Context {
        hz: 250,
        nohz_full: "1".parse().unwrap(),
        isolated: "1".parse().unwrap(),
        rcu_nocbs: "1".parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        kernel: kernel.parse().unwrap(),
        window: (0, 1_000_000_000),
        timekeeper: Some(0),
        comms: [(7, "app".into())].into(),
        known: Known { classes: class.map(|class| (7, class)).into_iter().collect(), ..Known::default() },
    }
}

/// The tick of CPU 1 that the scheduler keeps for task 7 alone.
fn kept(kernel: &str, class: Option<Class>) -> Interruption {
    kept_after(Vec::new(), kernel, class)
}

/// The same after other events of the CPU, each by the task that was current.
fn kept_after(before: Vec<(i32, EventKind)>, kernel: &str, class: Option<Class>) -> Interruption {
    let kinds = [
        InterruptEntry { source: Interrupt::Timer },
        HrtimerEntry { timer: TIMER, function: "tick_nohz_handler".into(), now: 0 },
        HrtimerExit { timer: TIMER },
        HrtimerStart {
            timer: TIMER,
            function: "tick_nohz_handler".into(),
            expires: 2 * TICK as i64,
            soft: 2 * TICK as i64,
        },
        InterruptExit { source: Interrupt::Timer },
        TickStop { success: false, dependency: TickDependency::Sched },
    ];
    let kinds = before.into_iter().chain(kinds.map(|kind| (7, kind)));
    let event = |(i, (pid, kind))| Event {
        ts: TICK + 1000 * i as u64,
        cpu: 1,
        pid,
        within: Default::default(),
        kind,
    };
    let events: Vec<Event> = kinds.enumerate().map(event).collect();
    explain(&events, &context(kernel, class)).interruptions.remove(0)
}

#[test]
fn deadline_task_that_was_woken_from_idle_is_alone() {
    let (prev_comm, next_comm) = ("swapper/1".into(), "app".into());
    let before = vec![
        (0, SchedWakeup { pid: 7, comm: "app".into(), target: 1 }),
        (0, TickStop { success: false, dependency: TickDependency::Sched }),
        (0, SchedSwitch { prev: 0, prev_comm, prev_state: 0, next: 7, next_comm }),
    ];
    assert_eq!(kept_after(before, "6.12.117", Some(Class::Deadline)).cause, "dependency-deadline");
}

#[test]
fn single_deadline_task_keeps_the_tick() {
    let one = kept("6.12.117", Some(Class::Deadline));
    assert_eq!(one.cause, "dependency-deadline");
    assert_eq!(one.chain.texts()[0], "app [7] is scheduled by SCHED_DEADLINE");
}

#[test]
fn single_task_of_a_bpf_scheduler_keeps_the_tick() {
    assert_eq!(kept("6.12.117", Some(Class::Ext)).cause, "dependency-sched-ext");
}

#[test]
fn unknown_reason_lists_all_possible_ones() {
    let chain = |kernel, class| kept(kernel, class).chain.texts().join(" -> ");
    let unknown = chain("6.12.117", None);
    assert!(unknown.contains("SCHED_DEADLINE") && unknown.contains("sched_ext"), "{unknown}");
    // With a full switch, sched_ext schedules normal tasks, too.
    let fair = chain("6.12.117", Some(Class::Fair));
    assert!(!fair.contains("SCHED_DEADLINE") && fair.contains("sched_ext"), "{fair}");
    let older = chain("6.5.13", Some(Class::Fair));
    assert!(!older.contains("sched_ext") && !older.contains("quota"), "{older}");
}
