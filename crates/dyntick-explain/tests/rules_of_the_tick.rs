// SPDX-License-Identifier: GPL-2.0-only
//! Cases that are hard to provoke in a guest, built by hand in the kernel's order of events.

use crate::both;

use dyntick_explain::{Context, Explanation, Kind, Known, explain};
use dyntick_model::{Event, EventKind, EventKind::*, Interrupt, Softirq, TickDependency};
use proptest::prelude::*;

const TICK: u64 = 4_000_000;
const TIMER: u64 = 0x10;

fn context() -> Context {
    Context {
        hz: 250,
        nohz_full: "1".parse().unwrap(),
        isolated: "".parse().unwrap(),
        rcu_nocbs: "1".parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        kernel: "6.1.0-56-amd64".parse().unwrap(),
        window: (0, 1_000_000_000),
        timekeeper: Some(0),
        comms: [(7, "app".into())].into(),
        known: Known::default(),
    }
}

/// Events on one CPU, one microsecond apart from a time on.
fn at(ts: u64, cpu: u32, pid: i32, kinds: Vec<EventKind>) -> Vec<Event> {
    let event = |(i, kind)| Event { ts: ts + 1000 * i as u64, cpu, pid, within: Default::default(), kind };
    kinds.into_iter().enumerate().map(event).collect()
}

fn start(expires: u64) -> EventKind {
    HrtimerStart {
        timer: TIMER,
        function: "tick_sched_timer".into(),
        expires: expires as i64,
        soft: expires as i64,
    }
}

fn entry() -> Vec<EventKind> {
    vec![
        InterruptEntry { source: Interrupt::Timer },
        HrtimerEntry { timer: TIMER, function: "tick_sched_timer".into(), now: 0 },
        HrtimerExit { timer: TIMER },
    ]
}

/// A periodic tick: its handler starts the timer again.
fn tick(ts: u64) -> Vec<EventKind> {
    [entry(), vec![start(ts + TICK), InterruptExit { source: Interrupt::Timer }]].concat()
}

/// The timer of a stopped tick, with what its softirq runs.
fn wheel(softirq: Vec<EventKind>) -> Vec<EventKind> {
    let exit = vec![InterruptExit { source: Interrupt::Timer }, SoftirqEntry { softirq: Softirq::Timer }];
    [entry(), exit, softirq, vec![SoftirqExit { softirq: Softirq::Timer }]].concat()
}

fn stop(dependency: TickDependency) -> EventKind {
    TickStop { success: dependency == TickDependency::None, dependency }
}

/// The cause, kind and chain of the only interruption.
fn only(explanation: &Explanation) -> (String, &Kind, String) {
    let [one] = explanation.interruptions.as_slice() else {
        panic!("one interruption, not {:#?}", explanation.interruptions);
    };
    (one.cause.to_string(), &one.kind, one.chain.texts().join(" -> "))
}

#[test]
fn kept_tick_names_its_dependency() {
    for (dependency, cause) in [
        (TickDependency::Rcu, "dependency-rcu"),
        (TickDependency::RcuExp, "dependency-rcu-exp"),
        (TickDependency::ClockUnstable, "dependency-clock-unstable"),
        (TickDependency::PerfEvents, "dependency-perf"),
    ] {
        let events = at(TICK, 1, 7, [tick(TICK), vec![stop(dependency)]].concat());
        let explanation = explain(&events, &context());
        let (found, kind, chain) = only(&explanation);
        assert_eq!((found.as_str(), kind), (cause, &Kind::Tick));
        assert!(chain.contains("CPU 1"), "{chain}");
    }
}

#[test]
fn kick_has_the_cause_of_the_tick_that_it_restarts() {
    let mut events = at(TICK, 1, 7, [tick(TICK), vec![stop(TickDependency::None)]].concat());
    let kick = vec![
        InterruptEntry { source: Interrupt::IrqWork },
        InterruptExit { source: Interrupt::IrqWork },
        stop(TickDependency::PosixTimer),
    ];
    events.extend(at(5 * TICK, 1, 7, kick));
    let explanation = explain(&events, &context());
    let causes: Vec<String> = explanation.interruptions.iter().map(|i| i.cause.to_string()).collect();
    assert_eq!(causes, ["until-first-check", "dependency-posix-timer"]);
}

#[test]
fn timer_of_a_stopped_tick_is_not_a_tick() {
    let run = vec![TimerEntry { timer: 0x20, function: "mce_timer_fn".into() }, TimerExit { timer: 0x20 }];
    let events = [at(0, 1, 7, vec![start(TICK)]), at(TICK, 1, 7, wheel(run))].concat();
    let explanation = explain(&events, &context());
    assert_eq!(
        (only(&explanation).0.as_str(), only(&explanation).1),
        ("timer:mce_timer_fn", &Kind::TimerWheel)
    );
    assert_eq!((explanation.per_cpu[1].ticks, explanation.per_cpu[1].local_timer), (0, 1));
}

#[test]
fn deferrable_timer_wakes_no_cpu() {
    const DEFERRABLE: u32 = 0x8_0000;
    let set = TimerStart { timer: 0x20, function: "late".into(), expires: 1, flags: DEFERRABLE };
    let run = vec![TimerEntry { timer: 0x20, function: "late".into() }, TimerExit { timer: 0x20 }];
    let events = [at(0, 1, 7, vec![start(TICK), set]), at(TICK, 1, 7, wheel(run))].concat();
    let explanation = explain(&events, &context());
    assert_eq!(only(&explanation).0, "wheel-empty");
    assert_eq!(*explanation.interruptions[0].functions, ["late".into()]);
}

#[test]
fn delayed_work_item_is_the_cause_and_not_its_timer() {
    let run = vec![
        TimerEntry { timer: 0x20, function: "delayed_work_timer_fn".into() },
        WorkQueued { work: 0x30, function: "vmstat_update".into(), target: 1 },
        TimerExit { timer: 0x20 },
    ];
    let events = [at(0, 1, 7, vec![start(TICK)]), at(TICK, 1, 7, wheel(run))].concat();
    assert_eq!(only(&explain(&events, &context())).0, "workqueue:vmstat_update");
}

#[test]
fn timers_run_in_a_thread_later_on_preempt_rt() {
    let raise = SoftirqRaise { softirq: Softirq::Timer };
    let switch = |prev: i32, next: i32, next_comm: &str| SchedSwitch {
        prev,
        prev_comm: "app".into(),
        prev_state: 0,
        next,
        next_comm: next_comm.into(),
    };
    let interrupt = [
        vec![entry()[0].clone(), entry()[1].clone(), raise],
        vec![entry()[2].clone()],
        vec![InterruptExit { source: Interrupt::Timer }, switch(7, 20, "ktimers/1")],
    ];
    let thread = vec![
        SoftirqEntry { softirq: Softirq::Timer },
        TimerEntry { timer: 0x20, function: "mce_timer_fn".into() },
        TimerExit { timer: 0x20 },
        SoftirqExit { softirq: Softirq::Timer },
        switch(20, 7, "app"),
    ];
    let set = TimerStart { timer: 0x20, function: "mce_timer_fn".into(), expires: 1, flags: 1 };
    let events = [
        at(0, 1, 7, vec![start(TICK)]),
        at(10, 0, 44, vec![set]),
        at(TICK, 1, 7, interrupt.concat()),
        at(TICK + 10_000, 1, 20, thread),
    ];
    let mut context = context();
    context.comms.insert(44, "agent".into());
    let explanation = explain(&events.concat(), &context);
    let causes: Vec<String> = explanation.interruptions.iter().map(|i| i.cause.to_string()).collect();
    assert_eq!(causes, ["timer:mce_timer_fn", "kernel-thread:ktimers"]);
    let of_thread = &explanation.interruptions[1];
    assert_eq!(
        of_thread.chain.texts(),
        ["agent [44] on CPU 0 set a timer", "ktimers/1 [20] ran on CPU 1 instead of app [7]"]
    );
    assert_eq!(of_thread.other.as_ref().map(|task| task.pid), Some(44), "it can be moved");
}

#[test]
fn device_interrupt_lasts_until_the_end_of_its_softirq() {
    let kinds = vec![
        IrqEntry { irq: 24, name: "eth0".into() },
        SoftirqRaise { softirq: Softirq::NetRx },
        IrqExit { irq: 24 },
        SoftirqEntry { softirq: Softirq::NetRx },
        SoftirqExit { softirq: Softirq::NetRx },
    ];
    let explanation = explain(&at(TICK, 1, 7, kinds), &context());
    assert_eq!(only(&explanation).0, "device:eth0");
    assert_eq!(explanation.interruptions[0].duration_ns, 4000);
}

#[test]
fn interrupt_within_a_softirq_is_counted_separately() {
    let kinds = vec![
        IrqEntry { irq: 24, name: "eth0".into() },
        SoftirqRaise { softirq: Softirq::NetRx },
        IrqExit { irq: 24 },
        SoftirqEntry { softirq: Softirq::NetRx },
        InterruptEntry { source: Interrupt::Other },
        InterruptExit { source: Interrupt::Other },
        SoftirqExit { softirq: Softirq::NetRx },
    ];
    let explanation = explain(&at(TICK, 1, 7, kinds), &context());
    let durations: Vec<u64> = explanation.interruptions.iter().map(|i| i.duration_ns).collect();
    assert_eq!(durations, [5000, 1000]);
    assert_eq!(explanation.per_cpu[1].unattributed, 1);
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    let task = |pid: i32| ["idle", "app", "kworker/1:0", "migration/1"][pid as usize % 4].into();
    prop_oneof![
        prop::sample::select(vec![Interrupt::Timer, Interrupt::Reschedule, Interrupt::IrqWork])
            .prop_flat_map(|vector| prop::sample::select(vec![
                InterruptEntry { source: vector },
                InterruptExit { source: vector }
            ])),
        Just(HrtimerEntry { timer: TIMER, function: "tick_sched_timer".into(), now: 0 }),
        Just(HrtimerExit { timer: TIMER }),
        Just(start(TICK)),
        Just(SoftirqRaise { softirq: Softirq::Timer }),
        Just(SoftirqEntry { softirq: Softirq::Timer }),
        Just(SoftirqExit { softirq: Softirq::Timer }),
        Just(TimerEntry { timer: 0x20, function: "delayed_work_timer_fn".into() }),
        Just(TimerExit { timer: 0x20 }),
        Just(WorkStart { work: 0x30, function: "vmstat_update".into() }),
        Just(WorkEnd { work: 0x30 }),
        prop::sample::select(vec![0x00, 0x04, 0x10])
            .prop_map(|mask| stop(TickDependency::from_mask(mask).unwrap())),
        (0..4i32, 0..2u64, 0..4i32).prop_map(move |(prev, prev_state, next)| SchedSwitch {
            prev,
            prev_comm: task(prev),
            prev_state,
            next,
            next_comm: task(next),
        }),
        (1..4i32, 0..2u32).prop_map(move |(pid, target)| SchedWakeup { pid, comm: task(pid), target }),
        (0..3u32).prop_map(|target| IpiSend { target, callsite: "f+0x1".into(), callback: None }),
    ]
}

proptest! {
    /// Lost and cut-off events can put any event after any other.
    #[test]
    fn no_order_of_events_is_too_odd(
        kinds in prop::collection::vec((any_kind(), 0..2u32, 0..4i32, 0..100_000u64), 0..200),
    ) {
        let mut ts = 0;
        let events: Vec<Event> = kinds
            .into_iter()
            .map(|(kind, cpu, pid, gap)| {
                ts += gap;
                Event { ts, cpu, pid, within: Default::default(), kind }
            })
            .collect();
        let explanation = both::explained(&events, &context());
        for one in &explanation.interruptions {
            prop_assert!(one.start_ns + one.duration_ns <= ts);
        }
        for summary in &explanation.per_cpu {
            let by_cause: u64 = summary.by_cause.iter().map(|cause| cause.count).sum();
            prop_assert_eq!(by_cause, summary.listed());
            let interruptions: u64 = summary.by_cause.iter().map(|cause| cause.interruptions).sum();
            prop_assert_eq!(interruptions, summary.interruptions);
            prop_assert!(summary.unattributed <= summary.interruptions);
            prop_assert!((0.0..=1.0).contains(&summary.unattributed_share));
        }
    }
}

fn send(callsite: &str) -> EventKind {
    IpiSend { target: 1, callsite: callsite.into(), callback: None }
}

fn vector(vector: Interrupt) -> Vec<EventKind> {
    vec![InterruptEntry { source: vector }, InterruptExit { source: vector }]
}

#[test]
fn signal_is_recognised_by_the_interrupting_function() {
    let sent = at(TICK, 0, 8, vec![send("kick_process+0x40/0x50")]);
    let events = [sent, at(TICK + 5000, 1, 7, vector(Interrupt::Reschedule))].concat();
    let explanation = explain(&events, &context());
    assert_eq!(only(&explanation).0, "signal");
    assert!(only(&explanation).2.contains("signalled app [7]"));
}

#[test]
fn probe_names_function_and_sender_if_the_kernel_does_not() {
    let call = CsdQueuedMask {
        targets: "0-1".parse().unwrap(),
        callsite: "on_each_cpu_cond_mask".into(),
        function: "flush_tlb_func".into(),
    };
    let events =
        [at(TICK, 0, 8, vec![call]), at(TICK + 5000, 1, 7, vector(Interrupt::FunctionCall))].concat();
    let explanation = explain(&events, &context());
    let (cause, kind, chain) = only(&explanation);
    assert_eq!((cause.as_str(), kind), ("function-call:flush_tlb_func", &Kind::FunctionCall));
    assert!(chain.starts_with("thread 8 on CPU 0 sent the interrupt"), "{chain}");
}

#[test]
fn old_request_for_a_call_explains_nothing() {
    let call = CsdQueued { target: 1, callsite: "x".into(), function: "flush_tlb_func".into() };
    let events = [at(TICK, 0, 8, vec![call]), at(5 * TICK, 1, 7, vector(Interrupt::FunctionCall))].concat();
    assert_eq!(only(&explain(&events, &context())).0, "anonymous-call");
}

#[test]
fn nmi_and_its_irq_work_have_one_cause() {
    let nmi = Nmi { handler: "nmi_cpu_backtrace_handler".into(), duration_ns: 500 };
    let events = at(TICK, 1, 7, [vec![nmi], vector(Interrupt::IrqWork)].concat());
    let explanation = explain(&events, &context());
    let causes: Vec<String> = explanation.interruptions.iter().map(|one| one.cause.to_string()).collect();
    assert_eq!(causes, ["nmi:nmi_cpu_backtrace_handler"; 2]);
    assert_eq!(explanation.per_cpu[1].unattributed, 0);
}

#[test]
fn nmi_within_an_interrupt_is_counted_separately() {
    let nmi = Nmi { handler: "perf_event_nmi_handler".into(), duration_ns: 600 };
    let irq = |kinds: Vec<EventKind>| {
        [vec![IrqEntry { irq: 4, name: "eth0".into() }], kinds, vec![IrqExit { irq: 4 }]].concat()
    };
    let explanation = explain(&at(TICK, 1, 7, irq(vec![nmi])), &context());
    let durations: Vec<(String, u64)> =
        explanation.interruptions.iter().map(|one| (one.cause.to_string(), one.duration_ns)).collect();
    let expected = [("device:eth0", 1400), ("nmi:perf_event_nmi_handler", 600)];
    assert_eq!(durations, expected.map(|(cause, ns)| (cause.to_owned(), ns)));
}

#[test]
fn page_faults_belong_to_the_task_that_has_the_cpu() {
    let fault = PageFault { user: true, address: 0x1000, ip: 0x2000, error: 4 };
    let switch = |prev, prev_state, next| SchedSwitch {
        prev,
        prev_comm: "a".into(),
        prev_state,
        next,
        next_comm: "b".into(),
    };
    let mut events = at(TICK, 1, 7, vec![fault.clone(), switch(7, 0, 9)]);
    events.extend(at(2 * TICK, 1, 9, vec![fault, switch(9, 1, 7)]));
    let explanation = explain(&events, &context());
    let causes: Vec<String> = explanation.interruptions.iter().map(|one| one.cause.to_string()).collect();
    assert_eq!(causes, ["page-fault", "other-task:b", "page-fault"]);
    let of_cpu = explanation.per_cpu.iter().find(|summary| summary.cpu == 1).unwrap();
    assert_eq!(
        (of_cpu.interruptions, of_cpu.page_faults, of_cpu.other_tasks),
        (0, 2, 1),
        "neither is an interruption"
    );
    assert_eq!((of_cpu.interrupted_ns, of_cpu.other_tasks_ns), (0, explanation.interruptions[1].duration_ns));
}

fn raise(function: &str) -> EventKind {
    IpiSend { target: 1, callsite: "irq_work_queue+0x1d/0x30".into(), callback: Some(function.into()) }
}

#[test]
fn self_ipi_is_explained_by_the_queued_work() {
    let interrupt = [vec![raise("wake_up_klogd_work_func+0x0/0x50")], vector(Interrupt::IrqWork)].concat();
    let explanation = explain(&at(TICK, 1, 7, interrupt), &context());
    let (cause, _, chain) = only(&explanation);
    assert_eq!(cause, "irq-work:wake_up_klogd_work_func");
    assert!(chain.starts_with("app [7] on CPU 1 queued wake_up_klogd_work_func (irq_work_queue)"), "{chain}");
}

#[test]
fn kick_is_explained_by_an_earlier_need_of_the_tick_too() {
    let known = Known { quotas: [(7, "5000 µs in 10000 µs".into())].into(), ..Known::default() };
    let kept = [tick(TICK), vec![stop(TickDependency::Sched)]].concat();
    let probe = IrqWork { function: "nohz_full_kick_func".into() };
    let probed = [vec![
        InterruptEntry { source: Interrupt::IrqWork },
        probe,
        InterruptExit { source: Interrupt::IrqWork },
    ]]
    .concat();
    let raised = [vec![raise("nohz_full_kick_func")], vector(Interrupt::IrqWork)].concat();
    for kick in [probed, raised] {
        let kick = [kick, vec![stop(TickDependency::Sched)]].concat();
        let events = [at(TICK, 1, 7, kept.clone()), at(2 * TICK, 1, 7, kick)].concat();
        let explanation = explain(&events, &Context { known: known.clone(), ..context() });
        let causes: Vec<String> = explanation.interruptions.iter().map(|one| one.cause.to_string()).collect();
        assert_eq!(causes, ["cpu-quota", "cpu-quota"]);
    }
}

#[test]
fn interrupt_from_an_offline_cpu_is_explained_by_its_task() {
    let switch = SchedSwitch {
        prev: 7,
        prev_comm: "app".into(),
        prev_state: 0,
        next: 20,
        next_comm: "migration/1".into(),
    };
    let interrupt = |vector| [self::vector(vector), vec![switch.clone()]].concat();
    let first =
        |vector| explain(&at(TICK, 1, 7, interrupt(vector)), &context()).interruptions[0].cause.clone();
    assert_eq!(first(Interrupt::Reschedule), "kernel-thread:migration");
    assert_eq!(first(Interrupt::FunctionCall), "anonymous-call", "it may be any function");
}
