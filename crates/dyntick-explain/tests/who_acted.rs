// SPDX-License-Identifier: GPL-2.0-only
//! The origin of a chain: an interrupt rather than the interrupted task, and the right process.

use dyntick_explain::{Context, Interruption, Known, explain};
use dyntick_model::{Event, EventKind, EventKind::*, Interrupt, Softirq, TickDependency, Within};

const TICK: u64 = 4_000_000;

fn context(nohz_full: &str, known: Known) -> Context {
    Context {
        hz: 250,
        nohz_full: nohz_full.parse().unwrap(),
        isolated: "1".parse().unwrap(),
        rcu_nocbs: "1".parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        kernel: "6.12.117".parse().unwrap(),
        window: (0, 1_000_000_000),
        timekeeper: Some(0),
        comms: [(7, "loop".into()), (9, "bash".into())].into(),
        known,
    }
}

/// Events a microsecond apart, of CPU 1 and the task `loop`.
fn events(kinds: Vec<(Within, EventKind)>) -> Vec<Event> {
    let event = |(i, (within, kind))| Event { ts: TICK + 1000 * i as u64, cpu: 1, pid: 7, within, kind };
    kinds.into_iter().enumerate().map(event).collect()
}

fn chain(one: &Interruption) -> Vec<String> {
    one.chain.texts()
}

/// The chain of a timer that was set `within` a context and expires on a CPU with a stopped tick.
fn timer_set(within: Within) -> Vec<String> {
    let function = || "mix_interrupt_randomness".into();
    let (timer, tick) = (0x20, 0x10);

    let vector = Interrupt::Timer;
    let events = events(vec![
        (Within::Interrupt, IrqEntry { irq: 4, name: "ttyS0".into() }),
        (Within::Interrupt, IrqExit { irq: 4 }),
        (within, TimerStart { timer, function: function(), expires: 1, flags: 1 }),
        (Within::Interrupt, TickStop { success: true, dependency: TickDependency::None }),
        (Within::Interrupt, InterruptEntry { source: vector }),
        (Within::Interrupt, HrtimerEntry { timer: tick, function: "tick_nohz_handler".into(), now: 0 }),
        (Within::Interrupt, HrtimerExit { timer: tick }),
        (Within::Interrupt, SoftirqRaise { softirq: Softirq::Timer }),
        (Within::Interrupt, InterruptExit { source: vector }),
        (Within::Softirq, SoftirqEntry { softirq: Softirq::Timer }),
        (Within::Softirq, TimerEntry { timer, function: function() }),
        (Within::Softirq, TimerExit { timer }),
        (Within::Softirq, SoftirqExit { softirq: Softirq::Timer }),
    ]);
    let all = explain(&events, &context("1", Known::default())).interruptions;
    let one = all.iter().find(|one| one.cause == "timer:mix_interrupt_randomness").expect("the timer ran");
    chain(one)
}

#[test]
fn interrupt_is_the_origin_and_not_the_interrupted_task() {
    assert_eq!(timer_set(Within::Interrupt)[0], "the interrupt ttyS0 on CPU 1 set a timer");
    assert_eq!(timer_set(Within::Softirq)[0], "a softirq on CPU 1 set a timer");
    assert_eq!(timer_set(Within::Task)[0], "loop [7] on CPU 1 set a timer");
}

/// A flush that `bash` sends to the CPU of `loop`.
fn flush(processes: &[(i32, i32)]) -> Vec<String> {
    let sent =
        CsdQueued { target: 1, callsite: "on_each_cpu_cond_mask".into(), function: "flush_tlb_func".into() };
    let first = Event { ts: 1000, cpu: 0, pid: 9, within: Within::Task, kind: sent };
    let vector = Interrupt::FunctionCall;
    let ran = events(vec![
        (Within::Interrupt, InterruptEntry { source: vector }),
        (Within::Interrupt, CsdEntry { function: "flush_tlb_func".into() }),
        (Within::Interrupt, CsdExit { function: "flush_tlb_func".into() }),
        (Within::Interrupt, InterruptExit { source: vector }),
    ]);
    let known = Known { processes: processes.iter().copied().collect(), ..Known::default() };
    let events: Vec<Event> = [first].into_iter().chain(ran).collect();
    let all = explain(&events, &context("1", known)).interruptions;
    assert_eq!(all[0].cause, "function-call:flush_tlb_func");
    chain(&all[0])
}

#[test]
fn flush_by_another_process_is_reported() {
    let foreign = "bash [9] is of another process than loop [7], which had the CPU";
    assert_eq!(flush(&[(7, 7), (9, 9)])[1], foreign);
    for same_or_unknown in [&[(7, 7), (9, 7)][..], &[(7, 7)], &[]] {
        assert!(!flush(same_or_unknown).iter().any(|step| step == foreign), "{same_or_unknown:?}");
    }
}

/// The chain of an interrupt that a thread with this name sends, after these events of CPU 0: thread, context, event.
fn sent_after(comm: &str, before: Vec<(i32, Within, EventKind)>) -> Vec<String> {
    let function = || "do_sync_core".into();
    let sent = CsdQueued { target: 1, callsite: "on_each_cpu_cond_mask".into(), function: function() };
    let before = before.into_iter().chain([(20, Within::Task, sent)]);
    let event = |(i, (pid, within, kind))| Event { ts: 1000 * (i as u64 + 1), cpu: 0, pid, within, kind };
    let vector = Interrupt::FunctionCall;
    let ran = events(vec![
        (Within::Interrupt, InterruptEntry { source: vector }),
        (Within::Interrupt, CsdEntry { function: function() }),
        (Within::Interrupt, CsdExit { function: function() }),
        (Within::Interrupt, InterruptExit { source: vector }),
    ]);
    let events: Vec<Event> = before.enumerate().map(event).chain(ran).collect();
    let mut context = context("1", Known::default());
    context.comms.insert(20, comm.into());
    chain(
        explain(&events, &context)
            .interruptions
            .iter()
            .find(|one| one.cpu == 1)
            .expect("CPU 1 was interrupted"),
    )
}

fn queue(work: u64, function: &str) -> EventKind {
    WorkQueued { work, function: function.into(), target: 0 }
}

fn work(work: u64, function: &str) -> EventKind {
    WorkStart { work, function: function.into() }
}

#[test]
fn chain_goes_on_through_work_items_to_a_users_task() {
    let one =
        vec![(9, Within::Task, queue(1, "netstamp_clear")), (20, Within::Task, work(1, "netstamp_clear"))];
    assert_eq!(
        sent_after("kworker/0:1", one)[..2],
        [
            "bash [9] on CPU 0 queued netstamp_clear for CPU 0",
            "netstamp_clear on CPU 0 sent the interrupt (on_each_cpu_cond_mask)"
        ]
    );
    // One work item behind another, and then a timer: no user's task is known.
    let behind = |first: (i32, Within, EventKind)| {
        let then = vec![
            (20, Within::Task, work(1, "first")),
            (20, Within::Task, queue(2, "second")),
            (20, Within::Task, WorkEnd { work: 1 }),
            (20, Within::Task, work(2, "second")),
        ];
        sent_after("kworker/0:1", [first].into_iter().chain(then).collect())
    };
    let of_a_task = behind((9, Within::Task, queue(1, "first")));
    assert_eq!(of_a_task[0], "bash [9] on CPU 0 queued first for CPU 0");
    assert_eq!(of_a_task[1], "first on CPU 0 queued second for CPU 0");
    let of_a_timer = behind((9, Within::Softirq, queue(1, "first")));
    assert_eq!(of_a_timer[0], "second on CPU 0 sent the interrupt (on_each_cpu_cond_mask)");
}

#[test]
fn work_item_that_queues_itself_again_ends_its_chain() {
    let again = (0..100).flat_map(|_| {
        [
            (20, Within::Task, queue(1, "again")),
            (20, Within::Task, WorkEnd { work: 1 }),
            (20, Within::Task, work(1, "again")),
        ]
    });
    let first = [(9, Within::Task, queue(1, "again")), (20, Within::Task, work(1, "again"))];
    let chain = sent_after("kworker/0:1", first.into_iter().chain(again).collect());
    assert!(chain.len() < 8, "{chain:#?}");
}

#[test]
fn chain_goes_on_through_rcu_tasks_trace_and_no_other_thread_of_rcu() {
    let called = || vec![(9, Within::Task, RcuTasksTrace)];
    let chain = sent_after("rcu_tasks_trace_kthread", called());
    assert_eq!(
        chain[..2],
        [
            "bash [9] on CPU 0 called call_rcu_tasks_trace",
            "rcu_tasks_trace_kthread [20] on CPU 0 sent the interrupt (on_each_cpu_cond_mask)"
        ]
    );
    assert_eq!(sent_after("rcu_preempt", called()).len(), 2);
}

#[test]
fn kernel_without_adaptive_ticks_is_the_reason_for_ticks() {
    let timer = 0x10;
    let vector = Interrupt::Timer;
    let tick = || {
        events(vec![
            (Within::Interrupt, InterruptEntry { source: vector }),
            (Within::Interrupt, HrtimerEntry { timer, function: "tick_nohz_handler".into(), now: 0 }),
            (
                Within::Interrupt,
                HrtimerStart { timer, function: "tick_nohz_handler".into(), expires: 9, soft: 9 },
            ),
            (Within::Interrupt, HrtimerExit { timer }),
            (Within::Interrupt, InterruptExit { source: vector }),
        ])
    };
    let reason = |no_adaptive_ticks| {
        let known = Known { no_adaptive_ticks, ..Known::default() };
        let one = explain(&tick(), &context("", known)).interruptions.remove(0);
        assert_eq!(one.cause, "not-adaptive");
        chain(&one).remove(0)
    };
    assert_eq!(reason(false), "CPU 1 is not in nohz_full");
    assert!(reason(true).starts_with("this kernel has no CONFIG_NO_HZ_FULL"), "{}", reason(true));
}
