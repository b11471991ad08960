// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use dyntick_model::{EventKind, Interrupt, Softirq};
use proptest::prelude::*;

const CPU: u32 = 3;
const TID: i32 = 100;
const DUE: u64 = 1_000_000;

fn event(ts: u64, pid: i32, kind: EventKind) -> Event {
    Event { ts, cpu: CPU, pid, within: Default::default(), kind }
}

fn switch(ts: u64, prev: i32, next: i32) -> Event {
    let (prev_comm, next_comm) = ("a".into(), "b".into());
    event(ts, prev, EventKind::SchedSwitch { prev, prev_comm, prev_state: 1, next, next_comm })
}

fn woken(ts: u64, pid: i32) -> Event {
    event(ts, pid, EventKind::SchedWakeup { pid: TID, comm: "t".into(), target: CPU })
}

/// The timer interrupt that wakes the thread.
fn timer(ts: u64, pid: i32) -> [Event; 5] {
    let function: Symbol = "hrtimer_wakeup".into();
    [
        event(ts, pid, EventKind::InterruptEntry { source: Interrupt::Timer }),
        event(ts + 100, pid, EventKind::HrtimerEntry { timer: 1, function, now: 0 }),
        woken(ts + 300, pid),
        event(ts + 400, pid, EventKind::HrtimerExit { timer: 1 }),
        event(ts + 500, pid, EventKind::InterruptExit { source: Interrupt::Timer }),
    ]
}

fn story_of(woke_ns: u64, priority: u32, events: &[Event]) -> Option<Story> {
    let other = |comm: &str, priority| Other { comm: comm.into(), priority };
    let threads = BTreeMap::from([(7, other("hog", 99)), (8, other("meek", 0))]);
    Story::of(&Question {
        cpu: CPU,
        tid: TID,
        priority,
        due_ns: DUE,
        woke_ns,
        events,
        interruptions: &[],
        idle_states: &[("POLL".into(), 0), ("C6".into(), 290)],
        limits: &[3],
        no_real_time_limit: false,
        throttles_threads: false,
        threads: &threads,
    })
}

fn shares(story: &Story) -> Vec<(String, u64)> {
    story.causes.iter().map(|share| (share.cause.to_string(), share.ns)).collect()
}

fn owned<const N: usize>(expected: [(&str, u64); N]) -> [(String, u64); N] {
    expected.map(|(cause, ns)| (cause.to_owned(), ns))
}

#[test]
fn idle_state_with_a_long_exit_latency_is_named() {
    let mut events =
        vec![switch(DUE - 9000, TID, 0), event(DUE - 8000, 0, EventKind::CpuIdle { state: Some(1) })];
    events.push(event(DUE + 290_000, 0, EventKind::CpuIdle { state: None }));
    events.extend(timer(DUE + 290_200, 0));
    events.push(switch(DUE + 291_500, 0, TID));
    let story = story_of(DUE + 292_000, 95, &events).unwrap();
    assert_eq!(shares(&story), owned([("late-idle", 290_200), ("late-path", 1800)]));
    assert_eq!(story.spans[0].text, "idle in C6 (exit latency 290 µs)");
    assert_eq!(story.top().unwrap().ns, 290_200);
    assert_eq!(story.unattributed_ns(), 0);
}

#[test]
fn time_that_no_idle_state_takes_is_not_its_exit() {
    let mut events =
        vec![switch(DUE - 9000, TID, 0), event(DUE - 8000, 0, EventKind::CpuIdle { state: Some(0) })];
    events.extend(timer(DUE + 5_000_000, 0));
    events.push(switch(DUE + 5_001_500, 0, TID));
    let story = story_of(DUE + 5_002_000, 95, &events).unwrap();
    assert_eq!(shares(&story), owned([("late-nothing", 5_000_000), ("late-path", 2000)]));
    assert_eq!(story.unattributed_ns(), 5_000_000);
}

#[test]
fn gap_within_the_interrupt_that_wakes_is_no_part_of_the_way() {
    let mut events = vec![switch(DUE - 9000, TID, 0)];
    let [entry, timer @ ..] = timer(DUE + 500, 0);
    events.push(entry);
    events.extend(timer.into_iter().map(|event| Event { ts: event.ts + 1_700_000, ..event }));
    events.push(switch(DUE + 1_702_000, 0, TID));
    let story = story_of(DUE + 1_703_000, 95, &events).unwrap();
    assert_eq!(story.top().unwrap().cause, "late-nothing");
    assert_eq!(story.unattributed_ns(), 1_700_100);
}

#[test]
fn real_time_limit_is_told_by_the_timer_of_its_period() {
    let waiting = |function: &str| {
        let mut events = vec![switch(DUE - 9000, TID, 0)];
        events.extend(timer(DUE + 500, 0));
        events.push(event(DUE + 50_000_000, 0, EventKind::InterruptEntry { source: Interrupt::Timer }));
        let function: Symbol = function.into();
        events.push(event(DUE + 50_000_100, 0, EventKind::HrtimerEntry { timer: 2, function, now: 0 }));
        events.push(switch(DUE + 50_002_000, 0, TID));
        let story = story_of(DUE + 50_003_000, 95, &events).unwrap();
        story.top().unwrap().cause.to_string()
    };
    assert_eq!(waiting("sched_rt_period_timer"), "late-real-time-limit");
    assert_eq!(waiting("tick_nohz_handler"), "late-nothing");
}

#[test]
fn higher_priority_task_and_softirq_are_named() {
    let mut events = vec![switch(DUE - 9000, TID, 0)];
    events.extend(timer(DUE + 500, 0));
    events.push(event(DUE + 1100, 0, EventKind::SoftirqEntry { softirq: Softirq::NetRx }));
    events.push(event(DUE + 41_100, 0, EventKind::SoftirqExit { softirq: Softirq::NetRx }));
    events.push(switch(DUE + 42_000, 0, 7));
    events.push(switch(DUE + 242_000, 7, TID));
    let story = story_of(DUE + 243_000, 95, &events).unwrap();
    let expected =
        [("other-task:hog", 200_000), ("softirq:NET_RX", 40_000), ("late-idle", 500), ("late-path", 2500)];
    assert_eq!(shares(&story), owned(expected));
    assert_eq!(story.top().unwrap().chain.texts(), ["hog [7] has priority 99, the thread 95"]);
}

#[test]
fn lower_task_that_runs_on_had_preemption_disabled() {
    let mut events = vec![switch(DUE - 9000, TID, 8)];
    events.extend(timer(DUE + 500, 8));
    events.push(switch(DUE + 81_000, 8, TID));
    let story = story_of(DUE + 82_000, 95, &events).unwrap();
    assert_eq!(
        shares(&story),
        owned([("late-preemption-off", 80_000), ("late-interrupts-off", 500), ("late-path", 1500)])
    );
    assert_eq!(story.unattributed_ns(), 500, "no event says why the interrupt was late");
    events.pop();
    events.push(switch(DUE + 3000, 8, TID));
    assert_eq!(
        shares(&story_of(DUE + 4000, 95, &events).unwrap()),
        owned([("late-interrupts-off", 500), ("late-path", 3500)])
    );
}

#[test]
fn unknown_task_that_got_the_cpu_first_is_named() {
    let mut events = vec![switch(DUE - 9000, TID, 0)];
    events.extend(timer(DUE + 500, 0));
    events.extend([switch(DUE + 2000, 0, 55), switch(DUE + 62_000, 55, TID)]);
    let story = story_of(DUE + 63_000, 95, &events).unwrap();
    assert_eq!(shares(&story), owned([("other-task", 60_000), ("late-idle", 500), ("late-path", 2500)]));
    assert_eq!(story.top().unwrap().chain.texts(), ["thread 55 was scheduled first"]);
}

/// The timer may expire up to its slack later, and expires before in another timer's interrupt.
#[test]
fn timer_slack_ends_with_the_first_timer_interrupt() {
    let due = DUE as i64;
    let set = EventKind::HrtimerStart {
        timer: 1,
        function: "hrtimer_wakeup".into(),
        expires: due + 50_000,
        soft: due,
    };
    let story = |interrupt: u64| {
        let mut events = vec![event(DUE - 9500, TID, set.clone()), switch(DUE - 9000, TID, 0)];
        events.extend(timer(DUE + interrupt, 0));
        events.push(switch(DUE + interrupt + 1000, 0, TID));
        shares(&story_of(DUE + interrupt + 1500, 0, &events).unwrap())
    };
    assert_eq!(story(30_000), owned([("late-slack", 30_000), ("late-path", 1500)]));
    assert_eq!(story(53_000), owned([("late-slack", 50_000), ("late-idle", 3000), ("late-path", 1500)]));
}

#[test]
fn thread_that_did_not_sleep_is_an_overrun() {
    let events = [switch(DUE - 9000, 0, TID), switch(DUE + 500_000, TID, 0)];
    let story = story_of(DUE + 400_000, 95, &events);
    assert!(story.is_none(), "no event of the time between");
    let events = [switch(DUE - 9000, 0, TID), event(DUE + 5, TID, EventKind::HrtimerCancel { timer: 1 })];
    assert_eq!(shares(&story_of(DUE + 400_000, 95, &events).unwrap()), owned([("late-own", 400_000)]));
}

#[test]
fn time_without_events_is_unattributed() {
    let events: Vec<Event> = timer(DUE + 50_000, 0).into_iter().collect();
    let story = story_of(DUE + 51_000, 95, &events).unwrap();
    assert_eq!(story.top().unwrap().cause, "late-unseen");
    assert_eq!(story.unattributed_ns(), 50_000);
    assert!(story_of(DUE + 51_000, 95, &[]).is_none());
}

#[test]
fn nmi_is_reported_at_its_end() {
    let mut events = vec![switch(DUE - 9000, TID, 0)];
    events.extend(timer(DUE + 500, 0));
    events.push(event(DUE + 31_000, 0, EventKind::Nmi { handler: "h".into(), duration_ns: 30_000 }));
    events.push(switch(DUE + 32_000, 0, TID));
    assert_eq!(shares(&story_of(DUE + 33_000, 95, &events).unwrap())[0], ("nmi".to_owned(), 30_000));
}

proptest! {
    #[test]
    fn the_steps_fill_the_time_without_gap_or_overlap(
        kinds in prop::collection::vec((0u64..3000, 0u8..8, 0i32..3), 1..60), length in 1u64..100_000,
    ) {
        let mut ts = DUE - 20_000;
        let pids = [0, 7, TID];
        let events: Vec<Event> = kinds.iter().map(|(gap, kind, who)| {
            ts += gap;
            let pid = pids[*who as usize];
            match kind {
                0 => event(ts, pid, EventKind::InterruptEntry { source: Interrupt::Timer }),
                1 => event(ts, pid, EventKind::InterruptExit { source: Interrupt::Timer }),
                2 => event(ts, pid, EventKind::SoftirqEntry { softirq: Softirq::Rcu }),
                3 => event(ts, pid, EventKind::SoftirqExit { softirq: Softirq::Rcu }),
                4 => woken(ts, pid),
                5 => event(ts, 0, EventKind::CpuIdle { state: Some(1) }),
                6 => event(ts, pid, EventKind::Nmi { handler: "h".into(), duration_ns: 2500 }),
                _ => switch(ts, 7, pid),
            }
        }).collect();
        if let Some(story) = story_of(DUE + length, 95, &events) {
            let mut at = 0;
            for step in &story.spans {
                prop_assert_eq!(step.at_ns, at);
                at += step.ns;
            }
            prop_assert_eq!(at, length);
            prop_assert_eq!(story.causes.iter().map(|share| share.ns).sum::<u64>(), length);
        }
    }
}
