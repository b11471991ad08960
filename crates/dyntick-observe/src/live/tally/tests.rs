// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use crate::live::Whose;
use EventKind::*;
use dyntick_model::{Interrupt, TickDependency};
use proptest::prelude::*;

const CPU: u32 = 3;
const TICK: &str = "tick_nohz_handler";
const TICK_TIMER: u64 = 0x10;

fn tally() -> Tally {
    Tally::new(&"2-3".parse().unwrap(), Some(TICK.into()))
}

fn take(tally: &mut Tally, events: &[(u64, EventKind)]) {
    for (ts, kind) in events {
        tally.take(&Event { ts: *ts, cpu: CPU, pid: 0, within: Default::default(), kind: kind.clone() });
    }
}

fn counts(events: &[(u64, EventKind)]) -> BTreeMap<Key, Count> {
    let mut tally = tally();
    take(&mut tally, events);
    read(&mut tally)
}

/// Threads below 100 are the kernel's, and those from 600 on the command's.
fn thread(pid: u32) -> Thread {
    match pid {
        0..100 => Thread::Kernel,
        100..600 => Thread::Task(Whose::Other),
        _ => Thread::Task(Whose::Command),
    }
}

fn read(tally: &mut Tally) -> BTreeMap<Key, Count> {
    read_at(tally, 0)
}

fn read_at(tally: &mut Tally, now: u64) -> BTreeMap<Key, Count> {
    tally.lasts(now);
    tally.settle(thread);
    tally.read().remove(&CPU).unwrap()
}

/// Count, total and longest.
fn of(counts: &BTreeMap<Key, Count>, key: &Key) -> (u64, u64, u64) {
    let count = counts.get(key).unwrap_or_else(|| panic!("no {key:?} in {counts:?}"));
    assert_eq!(count.ended() > 0, count.longest_ns.is_some());
    (count.count, count.ns, count.longest_ns.unwrap_or(0))
}

fn entry(vector: Interrupt) -> EventKind {
    InterruptEntry { source: vector }
}

fn exit(vector: Interrupt) -> EventKind {
    InterruptExit { source: vector }
}

fn local_timer() -> Key {
    Key::Interrupt { source: Interrupt::Timer }
}

fn switch(prev: i32, next: i32) -> EventKind {
    let comm = |pid| Symbol::from(format!("task-{pid}"));
    SchedSwitch { prev, prev_comm: comm(prev), prev_state: 0, next, next_comm: comm(next) }
}

fn task(comm: &str) -> Key {
    Key::Task { comm: Some(comm.into()), whose: Whose::Other }
}

fn kernel_thread(comm: &str) -> Key {
    Key::KernelThread { comm: Some(comm.into()) }
}

fn tick_begins() -> EventKind {
    HrtimerEntry { timer: TICK_TIMER, function: TICK.into(), now: 0 }
}

fn restarted(timer: u64) -> EventKind {
    HrtimerStart { timer, function: TICK.into(), expires: 0, soft: 0 }
}

#[test]
fn an_interrupt_is_not_in_what_it_interrupts() {
    let counts = counts(&[
        (0, switch(0, 500)),
        (100, SoftirqEntry { softirq: Softirq::Timer }),
        (110, TimerEntry { timer: 1, function: "wheel".into() }),
        (150, IrqEntry { irq: 24, name: "nvme0q1".into() }),
        (170, IrqExit { irq: 24 }),
        (200, TimerExit { timer: 1 }),
        (300, SoftirqExit { softirq: Softirq::Timer }),
        (1000, switch(500, 0)),
        (1100, Nmi { handler: "perf".into(), duration_ns: 40 }),
        (1200, switch(0, 7)),
        (1300, switch(7, 0)),
    ]);
    let device = Key::Device { irq: 24, name: "nvme0q1".into() };
    assert_eq!(of(&counts, &device), (1, 20, 20));
    assert_eq!(of(&counts, &Key::Timer { function: "wheel".into() }), (1, 70, 70));
    assert_eq!(of(&counts, &Key::Softirq { softirq: Softirq::Timer }), (1, 180, 180));
    assert_eq!(of(&counts, &task("task-500")), (1, 800, 800));
    assert_eq!(of(&counts, &Key::Nmi { function: "perf".into() }), (1, 40, 40));
    assert_eq!(of(&counts, &Key::Idle), (2, 160, 160));
    assert_eq!(of(&counts, &kernel_thread("task-7")), (1, 100, 100));
}

#[test]
fn a_tick_that_is_started_again_was_not_stopped() {
    let ends = HrtimerExit { timer: TICK_TIMER };
    let counts = counts(&[
        (0, entry(Interrupt::Timer)),
        (10, tick_begins()),
        (30, ends.clone()),
        (31, Nmi { handler: "perf".into(), duration_ns: 1 }),
        (32, restarted(TICK_TIMER)),
        (40, exit(Interrupt::Timer)),
        // Stopped: it is started only on the way out of the interrupt.
        (100, entry(Interrupt::Timer)),
        (110, tick_begins()),
        (120, ends.clone()),
        (140, exit(Interrupt::Timer)),
        (150, restarted(TICK_TIMER)),
        // What another timer's start says of it.
        (200, entry(Interrupt::Timer)),
        (210, tick_begins()),
        (215, ends),
        (220, restarted(TICK_TIMER + 1)),
        (240, exit(Interrupt::Timer)),
    ]);
    assert_eq!(of(&counts, &Key::Tick { stopped: false }), (1, 20, 20));
    assert_eq!(of(&counts, &Key::Tick { stopped: true }), (2, 15, 10));
    assert_eq!(of(&counts, &local_timer()).0, 3);
    assert!(!counts.contains_key(&Key::EmptyTimer));
}

#[test]
fn without_its_function_a_tick_is_an_hrtimer() {
    let mut tally = Tally::new(&"3".parse().unwrap(), None);
    take(&mut tally, &[(10, tick_begins()), (30, HrtimerExit { timer: TICK_TIMER })]);
    assert_eq!(of(&read(&mut tally), &Key::Hrtimer { function: TICK.into() }), (1, 20, 20));
}

#[test]
fn a_timer_interrupt_in_which_nothing_was_due() {
    let counts = counts(&[
        (0, entry(Interrupt::Timer)),
        (300, exit(Interrupt::Timer)),
        (400, entry(Interrupt::Reschedule)),
        (450, exit(Interrupt::Reschedule)),
        (500, entry(Interrupt::Timer)),
        (510, HrtimerEntry { timer: 1, function: "wake".into(), now: 0 }),
        (520, HrtimerExit { timer: 1 }),
        (530, exit(Interrupt::Timer)),
    ]);
    assert_eq!(of(&counts, &Key::EmptyTimer), (1, 300, 300));
    assert_eq!(of(&counts, &local_timer()), (2, 330, 300));
}

#[test]
fn a_soft_timer_that_a_hard_one_interrupts() {
    let counts = counts(&[
        (0, HrtimerEntry { timer: 1, function: "soft".into(), now: 0 }),
        (100, entry(Interrupt::Timer)),
        (110, HrtimerEntry { timer: 2, function: "hard".into(), now: 0 }),
        (130, HrtimerExit { timer: 2 }),
        (150, exit(Interrupt::Timer)),
        (200, HrtimerExit { timer: 1 }),
    ]);
    assert_eq!(of(&counts, &Key::Hrtimer { function: "hard".into() }), (1, 20, 20));
    assert_eq!(of(&counts, &Key::Hrtimer { function: "soft".into() }), (1, 150, 150));
}

#[test]
fn calls_work_faults_and_decisions() {
    let kept = TickStop { success: false, dependency: TickDependency::Sched };
    let counts = counts(&[
        (0, entry(Interrupt::FunctionCallSingle)),
        (5, CsdEntry { function: "ipi_sync".into() }),
        (25, CsdExit { function: "ipi_sync".into() }),
        (30, exit(Interrupt::FunctionCallSingle)),
        (35, CsdEntry { function: "by_the_task_itself".into() }),
        (40, CsdExit { function: "by_the_task_itself".into() }),
        (50, WorkStart { work: 8, function: "vmstat".into() }),
        (60, WorkEnd { work: 9 }),
        (90, WorkEnd { work: 8 }),
        (100, PageFault { user: true, address: 1, ip: 2, error: 4 }),
        (101, PageFault { user: false, address: 1, ip: 2, error: 4 }),
        (110, kept.clone()),
        (120, kept),
        (130, TickStop { success: true, dependency: TickDependency::None }),
        (140, entry(Interrupt::Other)),
    ]);
    assert_eq!(of(&counts, &Key::Called { function: "ipi_sync".into() }), (1, 20, 20));
    assert!(!counts.contains_key(&Key::Called { function: "by_the_task_itself".into() }));
    assert_eq!(of(&counts, &Key::Work { function: "vmstat".into() }), (1, 40, 40));
    assert_eq!(of(&counts, &Key::PageFault { user: true }), (1, 0, 0));
    assert_eq!(of(&counts, &Key::PageFault { user: false }), (1, 0, 0));
    assert_eq!(of(&counts, &Key::TickKept { dependency: TickDependency::Sched }), (2, 0, 0));
    assert_eq!(of(&counts, &Key::TickStopped), (1, 0, 0));
    assert_eq!(counts.len(), 7, "{counts:?}");
}

fn work(function: &str) -> Key {
    Key::Work { function: function.into() }
}

/// Events with the thread that runs: what a switch says.
fn take_as_they_run(tally: &mut Tally, events: &[(u64, EventKind)]) {
    let mut pid = 0;
    for (ts, kind) in events {
        tally.take(&Event { ts: *ts, cpu: CPU, pid, within: Default::default(), kind: kind.clone() });
        if let SchedSwitch { next, .. } = kind {
            pid = *next;
        }
    }
}

fn switch_named(prev: (i32, &str), next: (i32, &str)) -> EventKind {
    SchedSwitch {
        prev: prev.0,
        prev_comm: prev.1.into(),
        prev_state: 0,
        next: next.0,
        next_comm: next.1.into(),
    }
}

/// The work item of each kworker goes on when that one is back.
#[test]
fn a_work_item_does_not_take_what_its_kworker_sleeps() {
    let (first, second) = ((20, "kworker/3:0"), (21, "kworker/3:1"));
    let start = |work, function: &str| WorkStart { work, function: function.into() };
    let mut tally = tally().with_switches(true);
    take_as_they_run(
        &mut tally,
        &[
            (0, switch_named((0, "swapper"), first)),
            (10, start(8, "sleeps")),
            (30, switch_named(first, second)),
            (40, start(9, "other")),
            (45, entry(Interrupt::Reschedule)),
            (50, exit(Interrupt::Reschedule)),
            (60, switch_named(second, (0, "swapper"))),
            (500, switch_named((0, "swapper"), second)),
            (510, WorkEnd { work: 9 }),
            (520, switch_named(second, first)),
        ],
    );
    let before = read_at(&mut tally, 525);
    assert_eq!(of(&before, &work("other")), (1, 25, 25), "without the interrupt, and without the sleep");
    assert_eq!(of(&before, &work("sleeps")), (1, 25, 0), "what it took until now");
    tally.take(&Event { ts: 540, cpu: CPU, pid: 20, within: Default::default(), kind: WorkEnd { work: 8 } });
    assert_eq!(of(&read_at(&mut tally, 540), &work("sleeps")), (0, 15, 40));
}

/// A work item of a kworker that may go on elsewhere, and one whose kworker was switched to unseen.
#[test]
fn of_a_work_item_that_goes_on_unseen_only_a_part_is_known() {
    let unbound = (20, "kworker/u8:0");
    let start = |function: &str| WorkStart { work: 8, function: function.into() };
    let mut tally = tally().with_switches(true);
    take_as_they_run(
        &mut tally,
        &[
            (0, switch_named((0, "swapper"), unbound)),
            (10, start("unbound")),
            (30, switch_named(unbound, (0, "swapper"))),
            (100, switch_named((0, "swapper"), unbound)),
            (120, WorkEnd { work: 8 }),
            (130, switch_named(unbound, (0, "swapper"))),
        ],
    );
    tally.take(&Event { ts: 140, cpu: CPU, pid: 21, within: Default::default(), kind: start("unseen") });
    tally.take(&Event { ts: 180, cpu: CPU, pid: 21, within: Default::default(), kind: WorkEnd { work: 8 } });
    let counts = read(&mut tally);
    assert_eq!(of(&counts, &work("unbound")), (1, 20, 0));
    assert_eq!(of(&counts, &work("unseen")), (1, 0, 0));
}

#[test]
fn a_task_with_another_name_has_another_turn() {
    let long: Symbol = "a-name-of-more-than-15-bytes".into();
    let counts = counts(&[
        (0, switch(0, 500)),
        (10, TaskRename { pid: 500, comm: "hog".into() }),
        (20, TaskRename { pid: 501, comm: "elsewhere".into() }),
        (30, IrqEntry { irq: 4, name: long }),
        (40, IrqExit { irq: 4 }),
        (50, IrqEntry { irq: 4, name: "other".into() }),
        (60, switch(500, 7)),
        (70, TaskRename { pid: 7, comm: "kworker/dying".into() }),
    ]);
    assert_eq!(of(&counts, &task("task-500")), (1, 10, 10));
    assert_eq!(of(&counts, &task("hog")), (1, 40, 40));
    assert_eq!(of(&counts, &kernel_thread("task-7")), (1, 10, 10));
    assert_eq!(of(&counts, &kernel_thread("kworker/dying")).0, 1);
    assert_eq!(of(&counts, &Key::Device { irq: 4, name: "a-name-of-more-".into() }).0, 2);
    assert_eq!(counts.len(), 5, "{counts:?}");
}

/// Some kernels of virtual machines do not record the switch when a CPU leaves idle.
#[test]
fn a_turn_whose_begin_is_missing_counts_without_its_time() {
    let counts =
        counts(&[(0, switch(500, 0)), (20, switch(7, 0)), (30, switch(0, 500)), (70, switch(500, 7))]);
    assert_eq!(of(&counts, &kernel_thread("task-7")), (2, 0, 0));
    assert_eq!(of(&counts, &Key::Idle), (2, 10, 10), "how long the first one lasted is not known");
    assert_eq!(of(&counts, &task("task-500")), (1, 40, 40));
}

#[test]
fn tasks_of_one_name_are_one_program_of_each_owner() {
    let run = |prev, next| SchedSwitch {
        prev,
        prev_comm: "cc1".into(),
        prev_state: 0,
        next,
        next_comm: "cc1".into(),
    };
    let counts = counts(&[
        (0, run(0, 500)),
        (10, run(500, 501)),
        (30, run(501, 600)),
        (70, run(600, 7)),
        (150, switch(7, 0)),
    ]);
    assert_eq!(of(&counts, &task("cc1")), (2, 30, 20));
    assert_eq!(of(&counts, &Key::Task { comm: Some("cc1".into()), whose: Whose::Command }), (1, 40, 40));
    assert_eq!(of(&counts, &kernel_thread("cc1")), (1, 80, 80));
}

/// A thread's number is known only while it is not given again: the turns before are those of the thread before.
#[test]
fn turns_are_settled_before_a_number_is_given_again() {
    let mut tally = tally();
    take(&mut tally, &[(0, switch(0, 500)), (10, switch(500, 0))]);
    tally.settle(|_| Thread::Task(Whose::Command));
    take(&mut tally, &[(20, switch(0, 500)), (50, switch(500, 0))]);
    let counts = read(&mut tally);
    assert_eq!(of(&counts, &task("task-500")), (1, 30, 30));
    assert_eq!(of(&counts, &Key::Task { comm: Some("task-500".into()), whose: Whose::Command }), (1, 10, 10));
}

#[test]
fn an_idle_turn_counts_before_it_ends() {
    let mut tally = tally();
    take(&mut tally, &[(0, switch(500, 0)), (100, entry(Interrupt::Timer)), (110, exit(Interrupt::Timer))]);
    let mut idle = |now| of(&read_at(&mut tally, now), &Key::Idle);
    assert_eq!((idle(0), idle(1000)), ((1, 0, 0), (0, 990, 0)));
    assert_eq!(idle(1200), (0, 200, 0), "only what came since");
    take(&mut tally, &[(1250, switch(0, 500))]);
    let ended = read(&mut tally);
    assert_eq!(of(&ended, &Key::Idle), (0, 50, 1240), "and its duration is that of all of it");
}

/// A turn is in each window what it took of it, whosever it is, and counts where it began.
#[test]
fn a_turn_counts_before_it_ends() {
    let mut tally = tally();
    take(&mut tally, &[(0, switch(0, 500)), (100, entry(Interrupt::Timer)), (110, exit(Interrupt::Timer))]);
    let mut ran = |now| of(&read_at(&mut tally, now), &task("task-500"));
    assert_eq!((ran(1000), ran(1200)), ((1, 990, 0), (0, 200, 0)));
    take(&mut tally, &[(1250, switch(500, 7))]);
    assert_eq!(of(&read_at(&mut tally, 1250), &task("task-500")), (0, 50, 1240));
}

/// A task that ran before counting began has its time in each window, and its count with its end.
#[test]
fn a_task_that_ran_before_the_first_switch() {
    let mut tally = tally();
    tally.busy(CPU);
    read_at(&mut tally, 1000);
    take(&mut tally, &[(1100, entry(Interrupt::Reschedule)), (1110, exit(Interrupt::Reschedule))]);
    assert_eq!(tally.unseen(), [2, CPU]);
    tally.runs(CPU, 500, "task-500".into());
    assert_eq!(of(&read_at(&mut tally, 1500), &task("task-500")), (0, 490, 0));
    take(&mut tally, &[(1600, switch(500, 7))]);
    assert_eq!(tally.unseen(), [2]);
    assert_eq!(of(&read_at(&mut tally, 1700), &task("task-500")), (1, 100, 100));
}

#[test]
fn after_a_gap_nothing_is_known_to_have_run_before() {
    let mut tally = tally();
    tally.busy(CPU);
    read_at(&mut tally, 1000);
    tally.gap(CPU);
    for now in [1500, 2000] {
        tally.runs(CPU, 500, "task-500".into());
        assert_eq!(read_at(&mut tally, now), BTreeMap::new());
    }
    take(&mut tally, &[(2100, switch(500, 7))]);
    assert!(!read_at(&mut tally, 2200).contains_key(&task("task-500")));
}

/// A CPU that was idle before its first switch was so since counting began. For another task this is not known,
/// unless the CPU is known to have been busy.
#[test]
fn idle_before_the_first_switch() {
    let first = |prev| {
        let mut tally = tally();
        take(&mut tally, &[(100, entry(Interrupt::Reschedule)), (150, exit(Interrupt::Reschedule))]);
        let mut before = read_at(&mut tally, 1000);
        before.remove(&Key::Interrupt { source: Interrupt::Reschedule });
        assert_eq!(before, BTreeMap::new());
        take(&mut tally, &[(1100, entry(Interrupt::Reschedule)), (1110, exit(Interrupt::Reschedule))]);
        take(&mut tally, &[(1500, switch(prev, 7))]);
        read_at(&mut tally, 1600)
    };
    let idle = first(0);
    assert_eq!(of(&idle, &Key::Idle), (1, 490, 490));
    assert_eq!(of(&idle, &kernel_thread("task-7")), (1, 100, 0));
    assert!(!first(500).contains_key(&task("task-500")));
}

#[test]
fn a_gap_ends_nothing_and_loses_no_tick() {
    let mut tally = tally();
    take(&mut tally, &[(0, switch(0, 500)), (10, entry(Interrupt::Timer)), (20, tick_begins())]);
    tally.gap(CPU);
    take(&mut tally, &[(1000, exit(Interrupt::Timer)), (2000, switch(500, 0)), (2010, switch(0, 500))]);
    let counts = read(&mut tally);
    assert_eq!(of(&counts, &local_timer()), (1, 0, 0));
    assert_eq!(of(&counts, &Key::Tick { stopped: false }), (1, 0, 0));
    assert_eq!(of(&counts, &task("task-500")), (2, 0, 0));
    assert_eq!(of(&counts, &Key::Idle), (1, 10, 10));
}

#[test]
fn what_has_begun_goes_on_when_all_is_read() {
    let mut tally = tally();
    take(&mut tally, &[(0, switch(0, 500)), (100, entry(Interrupt::Reschedule))]);
    let begun = read(&mut tally);
    assert_eq!((of(&begun, &task("task-500")).0, begun.len()), (1, 2));
    assert_eq!(read(&mut tally), BTreeMap::new());
    take(&mut tally, &[(150, exit(Interrupt::Reschedule)), (200, switch(500, 501)), (300, switch(501, 500))]);
    let counts = read(&mut tally);
    assert_eq!(of(&counts, &task("task-500")), (1, 150, 150));
    assert_eq!(of(&counts, &task("task-501")), (1, 100, 100));
    assert_eq!(of(&counts, &Key::Interrupt { source: Interrupt::Reschedule }), (0, 50, 50));
    assert_eq!(counts.len(), 3, "{counts:?}");
}

#[test]
fn a_full_table_counts_families() {
    let mut tally = tally();
    for timer in 0..MOST as u64 + 5 {
        let begins = TimerEntry { timer, function: format!("function-{timer}").into() };
        take(&mut tally, &[(timer, begins)]);
    }
    take(&mut tally, &[(1 << 40, PageFault { user: true, address: 0, ip: 0, error: 4 })]);
    let counts = read(&mut tally);
    assert_eq!(of(&counts, &Key::Unnamed { family: "timer" }).0, 5);
    assert_eq!(of(&counts, &Key::PageFault { user: true }).0, 1, "what has no family has its place");
    assert_eq!(counts.values().map(|count| count.count).sum::<u64>(), MOST as u64 + 6);
}

#[test]
fn programs_without_end_are_counted_together() {
    let mut tally = tally();
    let most = MOST_PROGRAMS as i32;
    let pids = 100..600 + most;
    pids.clone().for_each(|pid| take(&mut tally, &[(pid as u64, switch(pid - 1, pid))]));
    let counts = read(&mut tally);
    let turns = |wanted: &dyn Fn(&Key) -> bool| -> u64 {
        counts.iter().filter(|(key, _)| wanted(key)).map(|(_, count)| count.count).sum()
    };
    assert_eq!(turns(&|key| matches!(key, Key::Task { whose: Whose::Other, .. })), 500);
    assert_eq!(turns(&|key| matches!(key, Key::Task { whose: Whose::Command, .. })), most as u64);
    assert!(turns(&|key| matches!(key, Key::Task { comm: None, .. })) > 0 && counts.len() <= MOST_PROGRAMS);
    take(&mut tally, &[(1 << 40, switch(1, 100)), (2 << 40, switch(100, 0))]);
    assert_eq!(of(&read(&mut tally), &task("task-100")).1, 1 << 40, "a new reading has room again");
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    let vector = prop::sample::select(vec![Interrupt::Timer, Interrupt::Reschedule, Interrupt::Other]);
    let softirq = (0..Softirq::COUNT as u32).prop_map(|number| Softirq::from_number(number).unwrap());
    let function = |number: u64| Symbol::from(format!("function-{number}"));
    prop_oneof![
        vector.clone().prop_map(entry),
        vector.prop_map(exit),
        softirq.clone().prop_map(|softirq| SoftirqEntry { softirq }),
        softirq.prop_map(|softirq| SoftirqExit { softirq }),
        (0u64..3).prop_map(move |timer| HrtimerEntry { timer, function: function(timer), now: 0 }),
        Just(tick_begins()),
        Just(HrtimerExit { timer: TICK_TIMER }),
        Just(restarted(TICK_TIMER)),
        (0u64..3).prop_map(|timer| HrtimerExit { timer }),
        (0u32..3).prop_map(|irq| IrqEntry { irq, name: "device".into() }),
        (0u32..3).prop_map(|irq| IrqExit { irq }),
        (0u64..3).prop_map(move |work| WorkStart { work, function: function(work) }),
        (0u64..3).prop_map(|work| WorkEnd { work }),
        (0i32..4, 0i32..200).prop_map(|(prev, next)| switch(prev, next)),
        Just(PageFault { user: true, address: 0, ip: 0, error: 4 }),
        (0u64..50).prop_map(|duration_ns| Nmi { handler: "handler".into(), duration_ns }),
    ]
}

fn any_events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0u64..1000, 2u32..4, any_kind()), 0..200).prop_map(|steps| {
        let mut ts = 0;
        let event = |(passed, cpu, kind)| {
            ts += passed;
            Event { ts, cpu, pid: 0, within: Default::default(), kind }
        };
        steps.into_iter().map(event).collect()
    })
}

fn all(tally: &mut Tally) -> BTreeMap<u32, BTreeMap<Key, Count>> {
    tally.settle(thread);
    tally.read()
}

/// Interrupts one in another as the kernel lets them be, with how long passes before each event.
fn nested(depth: u32) -> BoxedStrategy<Vec<(u64, EventKind)>> {
    let passed = 1u64..1000;
    let leaf = (passed.clone(), passed.clone()).prop_map(|(before, within)| {
        let (begin, end) = (IrqEntry { irq: 1, name: "device".into() }, IrqExit { irq: 1 });
        vec![(before, begin), (within, end)]
    });
    if depth == 0 {
        return leaf.boxed();
    }
    let softirq = Softirq::from_number(depth).unwrap();
    let within = prop::collection::vec(nested(depth - 1), 0..3);
    let around = (passed.clone(), within, passed).prop_map(move |(before, within, after)| {
        let mut events = vec![(before, SoftirqEntry { softirq })];
        events.extend(within.into_iter().flatten());
        events.push((after, SoftirqExit { softirq }));
        events
    });
    prop_oneof![leaf, around].boxed()
}

proptest! {
    #[test]
    fn the_order_of_cpus_does_not_matter(events in any_events()) {
        let (mut merged, mut one_by_one) = (tally(), tally());
        events.iter().for_each(|event| merged.take(event));
        for cpu in 2..4 {
            events.iter().filter(|event| event.cpu == cpu).for_each(|event| one_by_one.take(event));
        }
        prop_assert_eq!(all(&mut merged), all(&mut one_by_one));
    }

    /// The parts add up to the total, at any place where it is read in between.
    #[test]
    fn parts_are_the_whole(events in any_events(), at in any::<prop::sample::Index>()) {
        let (first, second) = events.split_at(at.index(events.len() + 1));
        let (mut whole, mut parts) = (tally(), tally());
        events.iter().for_each(|event| whole.take(event));
        first.iter().for_each(|event| parts.take(event));
        let mut sum = all(&mut parts);
        second.iter().for_each(|event| parts.take(event));
        let later = all(&mut parts);
        for (key, count) in later.iter().flat_map(|(cpu, keys)| keys.iter().map(move |(k, c)| ((*cpu, k), c))) {
            sum.entry(key.0).or_default().entry(key.1.clone()).or_default().add(count);
        }
        prop_assert_eq!(sum, all(&mut whole));
    }

    #[test]
    fn nothing_ends_more_often_than_it_began(events in any_events()) {
        let mut tally = tally();
        events.iter().for_each(|event| tally.take(event));
        for count in all(&mut tally).values().flat_map(BTreeMap::values) {
            prop_assert!(count.ended() <= count.count);
            prop_assert!(count.longest_ns.unwrap_or(0) <= count.ns);
        }
    }

    /// Each ns from one switch to another is counted once: for the time slice, or for the innermost interruption.
    #[test]
    fn each_ns_is_counted_once(turns in prop::collection::vec(prop::collection::vec(nested(4), 0..4), 1..5)) {
        let (mut tally, mut ts) = (tally(), 5000);
        let begin = ts;
        let mut at = |tally: &mut Tally, passed: u64, kind: EventKind| {
            ts += passed;
            take(tally, &[(ts, kind)]);
            ts
        };
        at(&mut tally, 0, switch(0, 500));
        let mut end = begin;
        for turn in turns {
            for (passed, kind) in turn.into_iter().flatten() {
                at(&mut tally, passed, kind);
            }
            end = at(&mut tally, 7, switch(500, 500));
        }
        let sum: u64 = read(&mut tally).values().map(|count| count.ns).sum();
        prop_assert_eq!(sum, end - begin);
    }

    /// Whatever kworkers do, and whenever it is read: work items take no more of a window than they.
    #[test]
    fn work_is_a_part_of_its_kworkers_time(
        steps in prop::collection::vec((1u64..1000, 0i32..4, 0u8..4, 0u64..3), 1..80),
    ) {
        let names = ["swapper", "kworker/3:0", "kworker/u8:1", "kworker/3:2"];
        let (mut tally, mut ts, mut runs) = (tally().with_switches(true), 0, 0);
        for (passed, next, what, work) in steps {
            ts += passed;
            let named = |number: i32| (number, names[number as usize]);
            let kind = match what {
                0 => switch_named(named(runs), named(next)),
                // The idle task runs no work items.
                1 | 2 if runs == 0 => continue,
                1 => WorkStart { work, function: Symbol::from(format!("work-{work}")) },
                2 => WorkEnd { work },
                _ => {
                    let (mut threads, mut works) = (0, 0);
                    for (key, count) in read_at(&mut tally, ts) {
                        match key {
                            Key::KernelThread { .. } => threads += count.ns,
                            Key::Work { .. } => works += count.ns,
                            _ => {}
                        }
                    }
                    prop_assert!(works <= threads, "{works} of {threads}");
                    continue;
                }
            };
            let pid = runs;
            if what == 0 {
                runs = next;
            }
            tally.take(&Event { ts, cpu: CPU, pid, within: Default::default(), kind });
        }
    }

    /// Whenever it is read, the turns of a window take as long as the window: none is shown in a later one.
    #[test]
    fn turns_fill_each_window(steps in prop::collection::vec((1u64..1000, 0i32..4, any::<bool>()), 1..60)) {
        let (mut tally, mut ts, mut runs, mut begin) = (tally(), 0, 0, 0);
        take(&mut tally, &[(0, switch(9, 0))]);
        for (passed, next, is_read) in steps {
            ts += passed;
            if is_read {
                let read: u64 = read_at(&mut tally, ts).values().map(|count| count.ns).sum();
                prop_assert_eq!(read, ts - begin);
                begin = ts;
            } else {
                take(&mut tally, &[(ts, switch(runs, next))]);
                runs = next;
            }
        }
    }
}
