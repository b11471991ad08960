// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::{
    Basis, CpuList, Event, EventKind, IdleState, IdleTable, Interrupt, Machine, PackageState, Power,
    TickDependency,
};
use proptest::prelude::*;

const US: u64 = 1000;

/// Sapphire Rapids, as the kernel has it.
fn states() -> States {
    let table = [("POLL", 0, 0), ("C1", 1, 1), ("C1E", 2, 4), ("C6", 290, 800)];
    let state = |(name, latency, residency): &(&str, u64, u64)| State {
        name: (*name).into(),
        exit_latency_ns: latency * US,
        target_residency_ns: residency * US,
        leaving_ns: latency * US,
        polling: *name == "POLL",
        disabled: false,
    };
    States(table.iter().map(state).collect())
}

fn event(ts: u64, cpu: u32, pid: i32, kind: EventKind) -> Event {
    Event { ts, cpu, pid, within: Default::default(), kind }
}

fn idle(ts: u64, cpu: u32, state: Option<u32>) -> Event {
    event(ts, cpu, 0, EventKind::CpuIdle { state })
}

fn switch(ts: u64, cpu: u32, prev: i32, next: i32) -> Event {
    let comm = || "task".into();
    event(
        ts,
        cpu,
        prev,
        EventKind::SchedSwitch { prev, prev_comm: comm(), prev_state: 1, next, next_comm: comm() },
    )
}

/// `cpuidle_enter_state` in the kernel's own order of tests, with its signed numbers.
fn as_the_kernel_counts(states: &States, entered: usize, diff: i64) -> (u64, u64) {
    let enabled = |place: &usize| !states.0[*place].disabled;
    if diff < states.0[entered].target_residency_ns as i64 {
        let above = (0..entered).rev().any(|place| enabled(&place));
        return (u64::from(above), 0);
    }
    let delay = states.0[entered].exit_latency_ns as i64;
    if diff > delay {
        for place in entered + 1..states.0.len() {
            if enabled(&place) {
                return (0, u64::from(diff - delay >= states.0[place].target_residency_ns as i64));
            }
        }
    }
    (0, 0)
}

proptest! {
    /// Random sleeps of two CPUs, some states disabled: the accounts are the kernel's, and nothing is lost.
    #[test]
    fn accounts_are_the_kernels(
        sleeps in prop::collection::vec((0u32..2, 0usize..4, 0u64..2_000_000, 1u64..1000), 1..80),
        disabled in prop::collection::vec(any::<bool>(), 4),
        cost in 0u64..500,
    ) {
        let mut states = states();
        states.0.iter_mut().zip(disabled).for_each(|(state, disabled)| state.disabled = disabled);
        let mut events = Vec::new();
        let mut clock = [1_000u64; 2];
        let mut expected = vec![Account::default(); 4];
        for (cpu, state, duration, awake) in sleeps {
            let now = &mut clock[cpu as usize];
            events.push(idle(*now, cpu, Some(state as u32)));
            *now += duration + cost;
            events.push(idle(*now, cpu, None));
            *now += awake;
            let (above, below) = as_the_kernel_counts(&states, state, duration as i64);
            expected[state].usage += 1;
            expected[state].time_ns += duration;
            expected[state].above += above;
            expected[state].below += below;
            expected[state].residency.add(duration, 1);
        }
        events.sort_by_key(|event| event.ts);
        let observed = observe(&events, 1000);
        let mut sum = account(&states, &observed, 0, (0, u64::MAX), cost);
        for (sum, other) in sum.iter_mut().zip(account(&states, &observed, 1, (0, u64::MAX), cost)) {
            sum.usage += other.usage;
            sum.time_ns += other.time_ns;
            sum.resident_ns += other.resident_ns;
            sum.above += other.above;
            sum.below += other.below;
            sum.residency.merge(&other.residency);
        }
        // With all of time as the window both are the same, except for the cost of the trace points.
        expected.iter_mut().for_each(|one| one.resident_ns = one.time_ns + one.usage * cost);
        prop_assert_eq!(sum, expected);
        prop_assert!(observed.unfinished.is_empty());
    }

    /// Sleeps one after another have the energy that they have at once, wherever they are counted.
    #[test]
    fn a_meter_measures_as_at_once(
        sleeps in prop::collection::vec((0u32..3, 0usize..4, 0u64..2_000, 1u64..900), 1..120),
        at_once in 1usize..20,
        window in (0u64..30_000, 0u64..90_000),
    ) {
        let (machine, cpus) = (machine(), CpuList::first(3));
        let window = (window.0 * US, (window.0 + window.1) * US);
        let mut clock = [1_000u64; 3];
        let mut all = Vec::new();
        for (cpu, state, duration_us, awake_us) in sleeps {
            let now = &mut clock[cpu as usize];
            all.push((*now, cpu, state, *now + duration_us * US));
            *now += (duration_us + awake_us) * US;
        }
        all.sort_unstable();
        let mut events: Vec<Event> = all
            .iter()
            .flat_map(|(begin, cpu, state, end)| {
                [idle(*begin, *cpu, Some(*state as u32)), idle(*end, *cpu, None)]
            })
            .collect();
        events.sort_by_key(|event| event.ts);
        let expected = energy(&machine, &observe(&events, 250), &cpus, window);
        let mut meter = Meter::new(&machine, &cpus, window);
        meter.count_at_once(at_once);
        for (begin, cpu, state, end) in all {
            meter.reach(begin);
            meter.add(cpu, state, begin, end);
        }
        let measured = meter.finish();
        prop_assert_eq!(measured.window_ns, expected.window_ns);
        prop_assert_eq!(&measured.package_ns, &expected.package_ns);
        let of = |energy: &Energy| [energy.active, energy.transitions, energy.idle, energy.package];
        for (one, other) in of(&measured).into_iter().zip(of(&expected)) {
            prop_assert!((one.value - other.value).abs() < 1e-9 * (1.0 + other.value), "{:?} {:?}", one, other);
        }
    }

    /// Sleeps that are taken while events come are those of all events at once.
    #[test]
    fn sleeps_are_the_same_however_often_they_are_taken(
        steps in prop::collection::vec((0u8..6, 0u32..2, 0u64..4, 1u64..50), 0..200),
        every in 1usize..30,
    ) {
        let mut now = 0;
        let events: Vec<Event> = steps.into_iter().map(|(kind, cpu, timer, step)| {
            now += step;
            let kind = match kind {
                0 => EventKind::CpuIdle { state: Some(1) },
                1 => EventKind::CpuIdle { state: None },
                2 => EventKind::TimerStart { timer, function: "f".into(), expires: 1, flags: 0 },
                3 => EventKind::TimerEntry { timer, function: "f".into() },
                4 => EventKind::InterruptEntry { source: Interrupt::Timer },
                _ => return switch(now, cpu, 0, 7),
            };
            event(now, cpu, 0, kind)
        }).collect();
        let mut observer = Observer::new(250);
        let mut taken = Vec::new();
        for (number, event) in events.iter().enumerate() {
            observer.step(event);
            if number % every == 0 {
                taken.extend(observer.take().sleeps);
            }
        }
        taken.extend(observer.finish().sleeps);
        taken.sort_by_key(|sleep| sleep.cpu);
        prop_assert_eq!(taken, observe(&events, 250).sleeps);
    }

    /// Nothing that a kernel could say makes it fail.
    #[test]
    fn never_panics(kinds in prop::collection::vec((0u8..8, 0u32..3, 0u32..6, 0u64..50), 0..200)) {
        let mut now = 0;
        let events: Vec<Event> = kinds.into_iter().map(|(kind, cpu, number, step)| {
            now += step;
            let kind = match kind {
                0 => EventKind::CpuIdle { state: Some(number) },
                1 => EventKind::CpuIdle { state: None },
                2 => EventKind::CpuIdleMiss { state: number, below: true },
                3 => EventKind::InterruptEntry { source: Interrupt::Timer },
                4 => EventKind::HrtimerStart { timer: number.into(), function: "f".into(), expires: now as i64 - 20, soft: now as i64 - 20 },
                5 => EventKind::HrtimerEntry { timer: number.into(), function: "f".into(), now: 0 },
                6 => EventKind::SchedWaking { pid: number as i32, target: cpu },
                _ => return switch(now, cpu, 0, number as i32),
            };
            event(now, cpu, 0, kind)
        }).collect();
        let observed = observe(&events, 250);
        account(&states(), &observed, 0, (10, 100), 3);
        let model = energy(&machine(), &observed, &CpuList::first(3), (10, 100));
        let joules = model.total();
        prop_assert!(joules.low <= joules.value && joules.value <= joules.high);
        let stayed: u64 = model.package_ns.iter().sum();
        prop_assert!(stayed <= model.window_ns);
    }
}

#[test]
fn the_windows_sleeps_are_those_that_end_in_it() {
    let events = [
        idle(10, 0, Some(1)),
        idle(2000, 0, None),
        idle(3000, 0, Some(3)),
        idle(9000, 0, None),
        idle(10_000, 0, Some(3)),
    ];
    let observed = observe(&events, 1000);
    let accounts = |window| account(&states(), &observed, 0, window, 0);
    let usage = |window| accounts(window).iter().map(|a| a.usage).collect::<Vec<_>>();
    let resident = |window| accounts(window).iter().map(|a| a.resident_ns).collect::<Vec<_>>();
    assert_eq!(usage((1000, 9000)), [0, 1, 0, 0]);
    assert_eq!(usage((2000, 9001)), [0, 1, 0, 1]);
    assert_eq!(resident((1000, 20_000)), [0, 1000, 0, 6000 + 10_000]);
}

#[test]
fn what_would_have_been_right() {
    let mut states = states();
    assert_eq!(
        [0, 999, 1000, 4000, 799_999, 800_000].map(|ns| states.ideal(ns, None).unwrap()),
        [0, 0, 1, 2, 2, 3]
    );
    states.0[0].disabled = true;
    states.0[3].disabled = true;
    assert_eq!([0, 800_000].map(|ns| states.ideal(ns, None).unwrap()), [1, 2]);
}

#[test]
fn a_state_beyond_the_latency_limit_is_not_right() {
    let mut states = states();
    let within = |states: &States, limit_us: u64| states.ideal(10_000_000, Some(limit_us * 1000)).unwrap();
    let exits: Vec<u64> = states.0.iter().map(|state| state.exit_latency_ns / 1000).collect();
    assert_eq!(exits, [0, 1, 2, 290]);
    assert_eq!([0, 1, 20, 289, 290].map(|limit_us| within(&states, limit_us)), [0, 1, 2, 2, 3]);
    assert_eq!(states.ideal(0, Some(1000)), Some(0), "too short for what the limit allows");
    states.0[0].disabled = true;
    assert_eq!(within(&states, 0), 1, "the shallowest, where nothing is within it");
}

#[test]
fn a_timer_wakes_a_task() {
    let timer = |kind| event(0, 1, 0, kind);
    let at = |ts, event: Event| Event { ts, ..event };
    let events = [
        at(
            50,
            event(
                0,
                1,
                7,
                EventKind::HrtimerStart {
                    timer: 1,
                    function: "hrtimer_wakeup".into(),
                    expires: 1000,
                    soft: 1000,
                },
            ),
        ),
        switch(60, 1, 7, 0),
        idle(100, 1, Some(3)),
        idle(1300, 1, None),
        at(1310, timer(EventKind::InterruptEntry { source: Interrupt::Timer })),
        at(1320, timer(EventKind::HrtimerEntry { timer: 1, function: "hrtimer_wakeup".into(), now: 0 })),
        at(1330, timer(EventKind::SchedWaking { pid: 7, target: 1 })),
        at(1340, timer(EventKind::HrtimerExit { timer: 1 })),
        switch(1400, 1, 0, 7),
    ];
    let observed = observe(&events, 1000);
    let sleep = &observed.sleeps[0];
    assert_eq!(
        (sleep.next_timer_ns, sleep.wake.clone()),
        (Some(1000), Wake::Timer(Some("hrtimer_wakeup".into())))
    );
    let wakeup =
        Wakeup { cpu: 1, pid: 7, start_ns: 1000, latency_ns: 400, start: Start::Timer, state: Some(3) };
    assert_eq!(observed.wakeups, [wakeup]);
}

#[test]
fn another_cpu_wakes_a_task() {
    let events = [
        idle(100, 1, Some(2)),
        event(500, 0, 9, EventKind::SchedWaking { pid: 7, target: 1 }),
        idle(800, 1, None),
        event(810, 1, 0, EventKind::InterruptEntry { source: Interrupt::Reschedule }),
        switch(900, 1, 0, 7),
        // Awake: no idle state had to be left.
        event(950, 0, 9, EventKind::SchedWaking { pid: 8, target: 1 }),
        switch(990, 1, 7, 8),
    ];
    let observed = observe(&events, 1000);
    assert_eq!(observed.sleeps[0].wake, Wake::Interrupt(Interrupt::Reschedule));
    // Its interrupt comes before it is counted.
    assert_eq!(observed.sleeps[0].counted_ns, 900);
    let told: Vec<_> = observed.wakeups.iter().map(|w| (w.pid, w.latency_ns, w.start, w.state)).collect();
    assert_eq!(told, [(7, 400, Start::Waker, Some(2)), (8, 40, Start::Waker, None)]);
}

#[test]
fn the_tick_at_entry() {
    let tick = |ts, pid, expires| {
        event(
            ts,
            0,
            pid,
            EventKind::HrtimerStart {
                timer: 5,
                function: "tick_nohz_handler+0x0/0x1".into(),
                expires,
                soft: expires,
            },
        )
    };
    let stop = |ts| event(ts, 0, 0, EventKind::TickStop { success: true, dependency: TickDependency::None });
    let events = [
        idle(10, 0, Some(1)),
        idle(20, 0, None),
        stop(30),
        tick(31, 0, 90_000_000),
        idle(40, 0, Some(3)),
        idle(50, 0, None),
        // Woken for a timer of the wheel that is due soon: still stopped.
        tick(51, 0, 500_000),
        idle(60, 0, Some(3)),
        idle(70, 0, None),
        // Left: ticks again.
        tick(71, 0, 1_000_000),
        switch(80, 0, 0, 7),
        switch(90, 0, 7, 0),
        idle(100, 0, Some(1)),
        idle(110, 0, None),
    ];
    let observed = observe(&events, 1000);
    let ticks: Vec<Tick> = observed.sleeps.iter().map(|sleep| sleep.tick).collect();
    assert_eq!(ticks, [Tick::Unknown, Tick::Stopped, Tick::Stopped, Tick::Running]);
    let timers: Vec<_> = observed.sleeps.iter().map(|sleep| sleep.next_timer_ns).collect();
    assert_eq!(timers, [None, Some(90_000_000), Some(500_000), Some(1_000_000)]);
}

#[test]
fn a_clock_of_its_own_and_a_flag() {
    let realtime = EventKind::HrtimerStart {
        timer: 1,
        function: "f".into(),
        expires: 1_700_000_000_000_000_000,
        soft: 1_700_000_000_000_000_000,
    };
    let events = [
        event(5, 0, 3, realtime),
        idle(10, 0, Some(0)),
        idle(20, 0, None),
        switch(30, 0, 0, 4),
        idle(40, 0, Some(1)),
    ];
    let observed = observe(&events, 1000);
    assert_eq!((observed.sleeps[0].next_timer_ns, &observed.sleeps[0].wake), (None, &Wake::Flag));
    assert_eq!(observed.unfinished, [Unfinished { cpu: 0, state: 1, entry_ns: 40 }]);
}

fn watts(watts: f64) -> Power {
    let (source, remark) = Default::default();
    Power { watts, low: watts / 2.0, high: watts * 2.0, basis: Basis::Estimated, source, remark }
}

/// C1: 1 s to leave, 1 W. C6: 2 s to leave alone and 3 s with the package, 0 W. Active 10 W, uncore 100 W, in PC6 20 W.
fn machine() -> Machine {
    const S: u64 = 1_000_000_000;
    let state = |name: &str, exit: u64, power| IdleState {
        name: name.into(),
        description: String::new(),
        exit_latency_ns: exit * S,
        target_residency_ns: exit * S,
        entry_ns: 0,
        polling: false,
        tlb_flushed: false,
        irq_enable: false,
        unusable: false,
        off: false,
        power: watts(power),
        measured: None,
        source: String::new(),
    };
    let package = PackageState {
        name: "PC6".into(),
        needs: 1,
        exit_latency_ns: 3 * S,
        core_exit_latency_ns: 2 * S,
        power: watts(20.0),
        source: String::new(),
    };
    Machine {
        name: "m".into(),
        title: String::new(),
        description: String::new(),
        cores: 2,
        sources: Default::default(),
        idle: IdleTable {
            states: vec![state("C1", 1, 1.0), state("C6", 3, 0.0)],
            package_states: vec![package],
            ..IdleTable::default()
        },
        active: watts(10.0),
        uncore: watts(100.0),
    }
}

#[test]
fn energy_by_hand() {
    const S: u64 = 1_000_000_000;
    let events = [
        idle(0, 0, Some(0)),
        idle(5 * S, 1, Some(1)),
        idle(6 * S, 0, None), // C1: 5 s in it, 1 s to leave
        idle(10 * S, 0, Some(1)),
        idle(30 * S, 0, None), // C6, and CPU 1 is in it: the package is left for 3 s
        idle(40 * S, 1, None), // C6, CPU 0 is awake: 2 s
        idle(90 * S, 1, Some(0)),
    ];
    let observed = observe(&events, 1000);
    let model = energy(&machine(), &observed, &CpuList::first(2), (0, 100 * S));
    // CPU 0 sleeps 6 + 20 s, CPU 1 35 + 10 s and on.
    assert_eq!(model.active.value, (200.0 - 26.0 - 45.0) * 10.0);
    assert_eq!(model.transitions.value, (1.0 + 3.0 + 2.0) * 10.0);
    // CPU 0 5 s in C1, CPU 1 10 s without having begun to leave.
    assert_eq!(model.idle.value, 15.0);
    assert_eq!(model.package_ns, [17 * S]);
    assert_eq!(model.package.value, 17.0 * 20.0 + 83.0 * 100.0);
    let total = model.total();
    assert_eq!((total.low, total.high), (total.value / 2.0, total.value * 2.0));
    assert_eq!(total.mean_power(model.window_ns).value, total.value / 100.0);
}

#[test]
fn a_sleep_has_the_prediction_that_it_was_chosen_by() {
    let predict = |ts, next_timer_ns| {
        let (predicted_ns, used_ns, tick_stopped) = (500 * US, 10_000 * US, true);
        event(ts, 1, 0, EventKind::MenuPredict { predicted_ns, used_ns, next_timer_ns, tick_stopped })
    };
    // The choice after the second prediction was not entered, and none precedes the third sleep.
    let events = [
        predict(1, 10_000 * US),
        idle(2, 1, Some(3)),
        idle(9, 1, None),
        predict(10, 7 * US),
        predict(11, i64::MAX as u64),
        idle(12, 1, Some(2)),
        idle(13, 1, None),
        idle(14, 1, Some(2)),
        idle(15, 1, None),
    ];
    let timers: Vec<Option<Option<u64>>> = observe(&events, 250)
        .sleeps
        .iter()
        .map(|sleep| sleep.prediction.map(|prediction| prediction.next_timer_ns))
        .collect();
    assert_eq!(timers, [Some(Some(10_000 * US)), Some(None), None]);
}

/// A kernel with 250 ticks per second: a sleep for which the tick is stopped, one with it stopped, and one that the
/// running tick ends.
#[test]
fn the_inputs_of_a_choice() {
    const MS: u64 = 1_000_000;
    let (tick, other, wheel) = (1, 2, 3);
    let arm = |ts, timer, function: &str, expires: u64| {
        let kind = EventKind::HrtimerStart {
            timer,
            function: function.into(),
            expires: expires as i64,
            soft: expires as i64,
        };
        event(ts, 0, 0, kind)
    };
    let stop = EventKind::TickStop { success: true, dependency: TickDependency::None };
    let exit = |ts| event(ts, 0, 0, EventKind::InterruptExit { source: Interrupt::Timer });
    let ran = |ts, timer, function: &str| {
        event(ts, 0, 0, EventKind::HrtimerEntry { timer, function: function.into(), now: ts as i64 })
    };
    let set = EventKind::TimerStart { timer: wheel, function: "f".into(), expires: 1, flags: 0 };
    let events = [
        event(MS, 0, 7, set),
        arm(MS, tick, "tick_nohz_handler", 4 * MS),
        arm(MS, other, "hrtimer_wakeup", 40 * MS),
        switch(2 * MS, 0, 7, 0),
        event(2 * MS + 10, 0, 0, stop),
        arm(2 * MS + 20, tick, "tick_nohz_handler", 20 * MS),
        idle(2 * MS + 30, 0, Some(3)),
        idle(9 * MS, 0, None),
        exit(9 * MS + 50),
        idle(9 * MS + 60, 0, Some(2)),
        idle(10 * MS, 0, None),
        arm(10 * MS + 10, tick, "tick_nohz_handler", 12 * MS),
        switch(10 * MS + 20, 0, 0, 7),
        switch(11 * MS, 0, 7, 0),
        idle(11 * MS + 10, 0, Some(1)),
        idle(12 * MS, 0, None),
        event(12 * MS + 1, 0, 0, EventKind::InterruptEntry { source: Interrupt::Timer }),
        ran(12 * MS + 2, tick, "tick_nohz_handler"),
        event(12 * MS + 9, 0, 0, EventKind::TimerEntry { timer: wheel, function: "f".into() }),
    ];
    let sleeps = observe(&events, 250).sleeps;
    let seen: Vec<_> = sleeps.iter().map(|sleep| (sleep.tick, sleep.inputs)).collect();
    let wheel_ns = Some(12 * MS + 9);
    let other_timer_ns = Some(40 * MS);
    let first = Inputs {
        since_ns: 2 * MS,
        tick: Tick::Running,
        tick_due_ns: Some(4 * MS),
        tick_timer_ns: Some(20 * MS),
        other_timer_ns,
        wheel_ns,
        ticked: false,
    };
    let second = Inputs { since_ns: 9 * MS + 50, tick: Tick::Stopped, tick_due_ns: Some(20 * MS), ..first };
    let third = Inputs {
        since_ns: 11 * MS,
        tick_due_ns: Some(12 * MS),
        tick_timer_ns: Some(12 * MS),
        ticked: true,
        ..first
    };
    assert_eq!(seen, [(Tick::Stopped, first), (Tick::Stopped, second), (Tick::Running, third)]);
}
