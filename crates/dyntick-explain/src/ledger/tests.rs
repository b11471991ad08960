// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use crate::Known;
use proptest::prelude::*;

const BEGIN: u64 = 1_000_000;
const END: u64 = 100_000_000;

fn context() -> Context {
    let known = Known {
        classes: [(5, crate::Class::RealTime), (6, crate::Class::Fair)].into(),
        quotas: [(7, "5000 in 100000".into())].into(),
        ..Known::default()
    };
    Context { window: (BEGIN, END), cpus: "0-1".parse().unwrap(), known, ..Context::unknown() }
}

/// All threads from 5 on.
struct All;

impl Whose for All {
    fn is_one(&self, thread: i32, _comm: &str) -> bool {
        thread >= 5
    }

    fn fork(&mut self, _parent: i32, _child: i32) {}
}

fn event(ts: u64, cpu: u32, pid: i32, kind: EventKind) -> Event {
    Event { ts, cpu, pid, within: Within::Task, kind }
}

fn switch(ts: u64, cpu: u32, prev: i32, prev_state: u64, next: i32) -> Event {
    let comm = |pid: i32| Symbol::from(format!("t{pid}"));
    let kind =
        EventKind::SchedSwitch { prev, prev_comm: comm(prev), prev_state, next, next_comm: comm(next) };
    event(ts, cpu, prev, kind)
}

fn wakeup(ts: u64, cpu: u32, by: i32, pid: i32) -> Event {
    event(ts, cpu, by, EventKind::SchedWakeup { pid, comm: format!("t{pid}").into(), target: 1 })
}

fn stack(ts: u64, pid: i32, frames: &[&str]) -> Event {
    let frames = frames.iter().map(|frame| Symbol::from(*frame)).collect();
    event(ts, 1, pid, EventKind::KernelStack { frames })
}

/// The account of one thread after these events.
fn of(events: &[Event], thread: i32) -> ThreadAccount {
    in_context(&context(), events, thread)
}

fn in_context(context: &Context, events: &[Event], thread: i32) -> ThreadAccount {
    let mut ledger = Ledger::new(context, All);
    events.iter().for_each(|event| ledger.event(event));
    let (accounts, _) = ledger.finish();
    accounts.into_iter().find(|account| account.task.pid == thread).unwrap()
}

fn ns(account: &ThreadAccount, name: &str) -> u64 {
    account.spent.iter().filter(|(spent, _)| spent.name() == name).map(|(_, amount)| amount.ns).sum()
}

#[test]
fn real_time_thread_is_throttled_while_nothing_runs() {
    let account = of(&[switch(2_000_000, 1, 5, 0, 0), switch(52_000_000, 1, 0, 0, 5)], 5);
    assert_eq!(account.spent[&Spent::RealTimeLimit].ns, 50_000_000);
    assert_eq!((ns(&account, "ran"), account.lived_ns), (1_000_000 + 48_000_000, END - BEGIN));
}

#[test]
fn real_time_thread_preempts_a_normal_one_within_the_time_of_a_switch() {
    let events = [switch(1_100_000, 1, 0, 0, 6), switch(1_200_000, 0, 5, 1, 0), wakeup(2_000_000, 0, 3, 5)];
    let account = of(&[&events[..], &[switch(2_008_000, 1, 6, 0, 5)]].concat(), 5);
    assert_eq!(ns(&account, "real-time-limit"), 0);
    assert_eq!(account.spent[&Spent::Preempted("t6".into())].ns, 8_000);
}

#[test]
fn thread_waits_for_its_quota_or_another_task() {
    let quota = of(&[switch(2_000_000, 1, 7, 0, 0), switch(5_000_000, 1, 0, 0, 7)], 7);
    assert_eq!(quota.spent[&Spent::Quota].ns, 3_000_000);
    let other = of(&[switch(2_000_000, 1, 6, 0, 9), switch(5_000_000, 1, 9, 1, 6)], 6);
    assert_eq!(other.spent[&Spent::Preempted("t9".into())].ns, 3_000_000);
}

/// Some kernels of virtual machines trace no switch when a CPU leaves idle: the thread's own events show that it has
/// the CPU.
#[test]
fn thread_runs_without_the_switch_from_idle() {
    let own = |ts| event(ts, 1, 6, EventKind::PageFaultEnd);
    let idle = |ts| event(ts, 1, 0, EventKind::PageFaultEnd);
    let asleep = [switch(2_000_000, 1, 6, 1, 0), wakeup(5_000_000, 0, 3, 6)];
    let account = of(&[&asleep[..], &[idle(5_020_000), own(9_000_000), own(90_000_000)]].concat(), 6);
    assert_eq!((ns(&account, "waking-up"), ns(&account, "nothing-ran")), (20_000, 0));
    assert_eq!(ns(&account, "ran"), 1_000_000 + (END - 5_020_000));
    let beside_its_switch = [asleep[0].clone(), own(2_000_900), asleep[1].clone(), idle(5_020_000)];
    let account = of(&[&beside_its_switch[..], &[own(9_000_000)]].concat(), 6);
    assert_eq!(ns(&account, "slept"), 3_000_000, "an event that follows its switch is not its next turn");
    let unseen = of(&[&asleep[..], &[own(9_000_000)]].concat(), 6);
    assert_eq!(ns(&unseen, "nothing-ran"), 0, "the idle CPU had no event after the wake-up");
    assert_eq!(unseen.spent.values().map(|amount| amount.ns).sum::<u64>(), END - BEGIN);
}

#[test]
fn moved_thread_waits_for_the_other_cpu_by_the_will_of_the_stoppers_waker() {
    let mut context = context();
    context.comms.insert(20, "migration/1".into());
    context.cpus = "1-2".parse().unwrap();
    let moves = EventKind::SchedMigrate { pid: 6, comm: "t6".into(), from: 1, to: 2 };
    let waking = EventKind::SchedWaking { pid: 20, target: 1 };
    let events = [
        event(1_500_000, 2, 0, EventKind::PageFaultEnd),
        event(2_000_000, 0, 44, waking),
        switch(2_010_000, 1, 6, 0, 20),
        event(2_020_000, 1, 20, moves),
        switch(2_030_000, 1, 20, 1, 0),
        switch(2_060_000, 2, 0, 0, 6),
    ];
    let account = in_context(&context, &events, 6);
    assert_eq!(ns(&account, "moved"), 40_000);
    let by: Vec<String> = account.spent[&Spent::Moved].by.keys().map(|by| format!("{by:?}")).collect();
    assert!(by.len() == 1 && by[0].contains("44"), "{by:?}");
    assert_eq!(account.spent.values().map(|amount| amount.ns).sum::<u64>(), END - BEGIN);
}

#[test]
fn frozen_thread_does_not_sleep_by_its_own_will() {
    let stack = stack(2_000_500, 6, &["schedule", "get_signal", "arch_do_signal_or_restart"]);
    let account = of(&[switch(2_000_000, 1, 6, 1, 0), stack, wakeup(5_000_000, 0, 3, 6)], 6);
    assert_eq!((ns(&account, "blocked"), ns(&account, "slept")), (3_000_000, 0));
}

#[test]
fn tracer_and_signal_stop_a_thread() {
    let traced =
        of(&[switch(2_000_000, 1, 6, 8, 0), wakeup(5_000_000, 0, 3, 6), switch(5_100_000, 1, 0, 0, 6)], 6);
    let tracer = &traced.spent[&Spent::Traced];
    assert_eq!((tracer.ns, tracer.by.len()), (3_000_000, 1));
    assert_eq!(traced.spent[&Spent::WakingUp].ns, 100_000);
    let sent = event(1_900_000, 0, 3, EventKind::SignalSent { signal: 19, pid: 6 });
    let stopped = of(&[switch(1_100_000, 1, 0, 0, 6), sent, switch(2_000_000, 1, 6, 4, 0)], 6);
    assert_eq!(stopped.spent[&Spent::Stopped(Some(19))].ns, END - 2_000_000);
}

#[test]
fn lock_is_waited_for_by_spinning_and_sleeping() {
    let lock = |ts, kind| event(ts, 1, 6, kind);
    let frames = ["rwsem_down_write_slowpath", "down_write_killable", "vm_mmap_pgoff", "__x64_sys_mmap"];
    let events = [
        lock(2_000_000, EventKind::LockWait { lock: 1 }),
        stack(2_000_000, 6, &frames),
        switch(2_500_000, 1, 6, 2, 0),
        wakeup(5_000_000, 0, 3, 6),
        switch(5_100_000, 1, 0, 0, 6),
        lock(5_200_000, EventKind::LockWaitEnd { lock: 1 }),
    ];
    let account = of(&events, 6);
    let (place, amount) = account
        .spent
        .iter()
        .find_map(|(spent, amount)| match spent {
            Spent::Blocked(Some(place)) => Some((place, amount)),
            _ => None,
        })
        .unwrap();
    assert_eq!((place.waits, amount.count, amount.ns), (Waits::MemoryMap, 1, 500_000 + 2_500_000 + 100_000));
}

#[test]
fn thread_that_waits_for_a_kept_one_is_told_who_kept_it() {
    let futex = ["futex_wait_queue", "futex_wait", "do_futex", "__x64_sys_futex"];
    let events = [
        switch(1_100_000, 0, 0, 0, 8),
        switch(2_000_000, 1, 6, 1, 0),
        stack(2_000_000, 6, &futex),
        switch(3_000_000, 0, 8, 0, 9), // 9 takes the CPU of 8
        switch(7_000_000, 0, 9, 1, 8),
        wakeup(8_000_000, 0, 8, 6),
        switch(8_010_000, 1, 0, 0, 6),
    ];
    let account = of(&events, 6);
    assert_eq!(account.spent[&Spent::Kept("t8".into(), "t9".into())].ns, 4_000_000);
    assert_eq!(ns(&account, "slept"), 2_000_000);
}

#[test]
fn page_faults_have_kinds_and_times() {
    let fault = |ts, error| event(ts, 1, 6, EventKind::PageFault { user: true, address: 0, ip: 0, error });
    let end = |ts| event(ts, 1, 6, EventKind::PageFaultEnd);
    let account = of(&[fault(2_000_000, 6), end(2_500_000), fault(3_000_000, 7), end(3_100_000)], 6);
    assert_eq!(account.spent[&Spent::Fault(Fault::Absent)].ns, 500_000);
    assert_eq!(account.spent[&Spent::Fault(Fault::Write)].ns, 100_000);
    assert_eq!(account.faults, [(Fault::Absent, 1), (Fault::Write, 1)].into());
}

#[test]
fn system_call_has_its_time_with_a_cpu_and_from_entry_to_exit() {
    let context = context();
    let mut ledger = Ledger::new(&context, All);
    let entry = |ts| event(ts, 1, 6, EventKind::CallEntry { number: 202 });
    let exit = |ts| event(ts, 1, 6, EventKind::CallExit { number: 202 });
    let begin = BEGIN + 1_000_000;
    let events = [
        switch(begin, 1, 5, 1, 6),
        entry(begin + 10_000),
        event(begin + 11_000, 1, 6, EventKind::PageFault { user: false, address: 0, ip: 0, error: 0 }),
        event(begin + 13_000, 1, 6, EventKind::PageFaultEnd),
        switch(begin + 20_000, 1, 6, 1, 5),
        wakeup(begin + 70_000, 1, 5, 6),
        switch(begin + 75_000, 1, 5, 0, 6),
        exit(begin + 80_000),
        switch(begin + 100_000, 1, 6, 0, 5),
    ];
    events.iter().for_each(|event| ledger.event(event));
    let account = ledger.finish().0.into_iter().find(|account| account.task.pid == 6).unwrap();
    let ns = |spent: &Spent| account.spent[spent].ns;
    assert_eq!(ns(&Spent::Called(202)), 10_000 - 2_000 + 5_000);
    assert_eq!(ns(&Spent::RanInUserMode), 10_000 + 20_000);
    assert_eq!(ns(&Spent::Fault(Fault::Absent)), 2_000);
    assert_eq!((account.calls[&202].count, account.calls[&202].ns), (1, 70_000));
    assert_eq!(super::words::call_name(202), "futex()");
}

fn kind() -> impl Strategy<Value = (i32, u8, u64)> {
    (
        0..10i32,
        any::<u8>(),
        prop_oneof![Just(0u64), Just(0x100), Just(1), Just(2), Just(4), Just(8), Just(0x10)],
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    /// The parts of each thread add up to its life, whatever the events are, lost ones included.
    #[test]
    fn parts_add_up_to_the_life(steps in prop::collection::vec((kind(), 0..3u32, 0..300_000u64, any::<bool>()), 0..200)) {
        let context = context();
        let mut ledger = Ledger::new(&context, All);
        let mut ts = BEGIN / 2;
        for ((pid, choice, state), cpu, step, in_interrupt) in steps {
            ts += step;
            let other = i32::from(choice % 10);
            let mut one = match choice % 11 {
                0..3 => switch(ts, cpu, pid, state, other),
                3 => wakeup(ts, cpu, pid, other),
                4 => event(ts, cpu, pid, EventKind::SchedMigrate { pid: other, comm: "x".into(), from: cpu, to: 1 + u32::from(choice % 2) }),
                5 => event(ts, cpu, pid, EventKind::SchedFork { parent: pid, child: other }),
                6 => event(ts, cpu, pid, EventKind::PageFault { user: true, address: 0, ip: 0, error: u64::from(choice % 8) }),
                7 => event(ts, cpu, pid, if state == 0 { EventKind::PageFaultEnd } else { EventKind::LockWait { lock: 1 } }),
                8 => event(ts, cpu, pid, EventKind::CallEntry { number: 1 }),
                9 => event(ts, cpu, pid, EventKind::CallExit { number: 1 }),
                _ => event(ts, cpu, pid, EventKind::LockWaitEnd { lock: 1 }),
            };
            if in_interrupt {
                one.within = Within::Interrupt;
            }
            ledger.event(&one);
        }
        for account in ledger.finish().0 {
            let sum: u64 = account.spent.values().map(|amount| amount.ns).sum();
            prop_assert_eq!(sum, account.lived_ns, "{:?}", account);
            prop_assert!(account.lived_ns <= END - BEGIN);
        }
    }
}

/// Threads by a name, whatever number they have.
struct Called(&'static str);

impl Whose for Called {
    fn is_one(&self, _thread: i32, comm: &str) -> bool {
        comm == self.0
    }

    fn fork(&mut self, _parent: i32, _child: i32) {}
}

/// A child of another name executes the program that is followed: its time as that program counts, and not the time
/// since the begin of the window, in which it was not born.
#[test]
fn thread_is_followed_from_its_name_on() {
    let context = context();
    let account = |renamed: bool| {
        let comm = |name: &str| Symbol::from(name);
        let ends = |prev_comm| EventKind::SchedSwitch {
            prev: 8,
            prev_comm,
            prev_state: 16,
            next: 0,
            next_comm: comm("idle"),
        };
        let mut events = vec![
            event(10_000_000, 0, 3, EventKind::SchedFork { parent: 3, child: 8 }),
            switch(12_000_000, 1, 0, 0, 8),
        ];
        if renamed {
            events.push(event(20_000_000, 1, 8, EventKind::TaskRename { pid: 8, comm: comm("sh") }));
        }
        events.push(event(30_000_000, 1, 8, ends(comm("sh"))));
        let mut ledger = Ledger::new(&context, Called("sh"));
        events.iter().for_each(|event| ledger.event(event));
        ledger.finish().0.remove(0)
    };
    for (renamed, lived) in [(true, 10_000_000), (false, 18_000_000)] {
        let account = account(renamed);
        assert_eq!((ns(&account, "ran"), account.lived_ns), (lived, lived), "renamed: {renamed}");
    }
}
