// SPDX-License-Identifier: GPL-2.0-only
//! The recorded command's own work on a CPU: that of its tasks, and of the tasks that they start.

use crate::both::explained;
use dyntick_explain::{Context, Explanation, Known, KnownCommand};
use dyntick_model::{Event, EventKind, EventKind::*, Interrupt, TickDependency};

const TICK: u64 = 4_000_000;
const TIMER: u64 = 0x10;
const US: u64 = 1000;

/// A recording of CPU 1 while process 20 ran, the shell that dyntick started.
fn context(process: Option<i32>) -> Context {
    Context {
        hz: 250,
        nohz_full: "1".parse().unwrap(),
        isolated: "1".parse().unwrap(),
        rcu_nocbs: "1".parse().unwrap(),
        cpus: "1".parse().unwrap(),
        kernel: "6.12.95".parse().unwrap(),
        window: (0, 1_000_000_000),
        timekeeper: Some(0),
        comms: [(9, "cron".into())].into(),
        known: Known { command: KnownCommand { process, ..Default::default() }, ..Known::default() },
    }
}

fn event(us: u64, cpu: u32, pid: i32, kind: EventKind) -> Event {
    Event { ts: us * US, cpu, pid, within: Default::default(), kind }
}

/// The forks: dyntick (5) starts the command (20), which starts 21 and 22 on another CPU.
fn forks() -> Vec<Event> {
    let fork = |us, parent, child| event(us, 0, parent, SchedFork { parent, child });
    vec![fork(1, 5, 20), fork(2, 20, 21), fork(3, 21, 22)]
}

fn name(pid: i32) -> &'static str {
    match pid {
        0 => "swapper/1",
        9 => "cron",
        20 => "sh",
        _ => "worker",
    }
}

/// A switch from a task, which still wants the CPU or sleeps, to another one.
fn switch(us: u64, prev: i32, wants: bool, next: i32) -> Event {
    let kind = SchedSwitch {
        prev,
        prev_comm: name(prev).into(),
        prev_state: u64::from(!wants),
        next,
        next_comm: name(next).into(),
    };
    event(us, 1, prev, kind)
}

fn causes(explanation: &Explanation) -> Vec<(String, u64)> {
    let one = |one: &dyntick_explain::Interruption| (one.cause.to_string(), one.duration_ns / US);
    explanation.interruptions.iter().map(one).collect()
}

#[test]
fn tasks_of_the_command_share_the_cpu_without_interruptions() {
    let turns = [
        switch(10, 0, false, 21),
        switch(20, 21, true, 22),
        switch(50, 22, true, 9),
        switch(57, 9, false, 22),
        switch(60, 22, false, 21),
    ];
    let events = [forks(), turns.to_vec()].concat();
    let explanation = explained(&events, &context(Some(20)));
    let expected = [("command-task:worker", 30), ("other-task:cron", 7), ("command-task:worker", 3)];
    assert_eq!(causes(&explanation), expected.map(|(cause, us)| (cause.to_owned(), us)));
    let own = &explanation.per_cpu[0];
    assert_eq!((own.interruptions, own.other_tasks, own.other_tasks_ns), (0, 1, 7 * US));
    assert_eq!((own.command_tasks, own.command_tasks_ns), (2, 33 * US));
    // All tasks are other ones in a record that does not name the process.
    let older = explained(&events, &context(None));
    assert!(older.interruptions.iter().all(|one| one.kind == dyntick_explain::Kind::OtherTask));
    assert_eq!((older.per_cpu[0].other_tasks, older.per_cpu[0].command_tasks), (3, 0));
}

#[test]
fn command_does_not_interrupt_another_program() {
    let turns = [switch(10, 0, false, 9), switch(20, 9, true, 21), switch(50, 21, false, 9)];
    let explanation = explained(&[forks(), turns.to_vec()].concat(), &context(Some(20)));
    assert_eq!(causes(&explanation), []);
    let older = explained(&[forks(), turns.to_vec()].concat(), &context(None));
    assert_eq!(causes(&older), [("other-task:worker".to_owned(), 30)]);
}

#[test]
fn reused_tid_is_no_longer_the_commands() {
    let again = event(8, 0, 5, SchedFork { parent: 5, child: 22 });
    let turns = [switch(10, 0, false, 21), switch(20, 21, true, 22), switch(50, 22, false, 21)];
    let events = [forks(), vec![again], turns.to_vec()].concat();
    assert_eq!(causes(&explained(&events, &context(Some(20)))), [("other-task:worker".to_owned(), 30)]);
}

#[test]
fn task_has_the_name_of_its_program() {
    let woken = SchedWakeup { pid: 21, comm: "dyntick".into(), target: 1 };
    let begin = [
        event(5, 0, 20, woken),
        switch(10, 0, false, 21),
        switch(20, 21, true, 22),
        switch(30, 22, true, 21),
    ];
    let events = [forks(), begin.to_vec(), at_tick(40, 21)].concat();
    let chain = explained(&events, &context(Some(20))).interruptions.last().unwrap().chain.texts().concat();
    assert!(chain.contains("worker [22] in addition to worker [21]"), "{chain}");
    let events = [forks(), begin.to_vec(), vec![switch(35, 21, true, 22)], at_tick(40, 22)].concat();
    let chain = explained(&events, &context(Some(20))).interruptions.last().unwrap().chain.texts().concat();
    assert!(chain.contains("worker [21] in addition to worker [22]"), "{chain}");
}

/// A tick that is kept for the scheduler while this task runs.
fn at_tick(us: u64, current: i32) -> Vec<Event> {
    let tick = [
        TickStop { success: false, dependency: TickDependency::Sched },
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
    tick.into_iter().zip(us..).map(|(kind, us)| event(us, 1, current, kind)).collect()
}

/// The cause of the tick that is kept for two tasks: one is woken on CPU 1 while the other runs there.
fn kept_beside(current: i32, woken: i32) -> (String, Option<i32>) {
    let wakeup = SchedWakeup { pid: woken, comm: name(woken).into(), target: 1 };
    let begin = [switch(10, 0, false, current), event(15, 1, current, wakeup)];
    let events = [forks(), begin.to_vec(), at_tick(30, current)].concat();
    let explanation = explained(&events, &context(Some(20)));
    let [one] = explanation.interruptions.as_slice() else { panic!("{:#?}", explanation.interruptions) };
    (one.cause.to_string(), one.other.as_ref().map(|task| task.pid))
}

#[test]
fn task_to_move_is_named_if_the_tick_is_kept_for_two() {
    assert_eq!(kept_beside(21, 22), ("command-tick".to_owned(), Some(22)));
    assert_eq!(kept_beside(21, 9), ("dependency-sched".to_owned(), Some(9)));
    assert_eq!(kept_beside(9, 21), ("dependency-sched".to_owned(), Some(9)), "not the command's own");
}

#[test]
fn wakeup_of_the_commands_task_is_its_own_cause() {
    let woken_on = |process| {
        let events = [
            event(10, 0, 9, SchedWakeup { pid: 21, comm: "worker".into(), target: 1 }),
            event(11, 0, 9, IpiSend { target: 1, callsite: "ttwu_queue".into(), callback: None }),
            event(13, 1, 0, InterruptEntry { source: Interrupt::Reschedule }),
            event(14, 1, 0, InterruptExit { source: Interrupt::Reschedule }),
            switch(15, 0, false, 21),
        ];
        causes(&explained(&[forks(), events.to_vec()].concat(), &context(process)))[0].0.clone()
    };
    assert_eq!(woken_on(Some(20)), "command-wakeup:worker");
    assert_eq!(woken_on(None), "wakeup:worker");
}

/// A foreign program that flushes the TLB of every CPU flushes its own CPU's itself: its time slice is no TLB
/// shootdown.
#[test]
fn call_by_the_task_itself_is_no_interrupt() {
    let call = |us| {
        let flush = || "flush_tlb_func".into();
        [event(us, 1, 9, CsdEntry { function: flush() }), event(us + 1, 1, 9, CsdExit { function: flush() })]
    };
    let turns = [
        vec![switch(8, 0, false, 20), switch(10, 20, true, 9)],
        call(12).into(),
        vec![switch(40, 9, true, 20)],
    ]
    .concat();
    let events = [forks(), turns].concat();
    assert_eq!(causes(&explained(&events, &context(Some(20)))), [("other-task:cron".to_owned(), 30)]);
}
