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
        limits: [(7, [2].into()), (8, [2, 3].into())].into(),
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

/// Within a page fault and for a wait within it.
#[test]
fn memory_that_is_freed_is_a_part_of_its_own() {
    let own = |ts, kind| event(ts, 1, 6, kind);
    let events = [
        switch(2_000_000, 1, 0, 0, 6),
        own(3_000_000, EventKind::PageFault { user: true, address: 0, ip: 0, error: 6 }),
        own(3_010_000, EventKind::ReclaimBegin),
        switch(3_110_000, 1, 6, 2, 0),
        stack(
            3_110_001,
            6,
            &["__schedule", "io_schedule", "try_to_free_mem_cgroup_pages", "handle_mm_fault"],
        ),
        wakeup(3_500_000, 0, 3, 6),
        switch(3_510_000, 1, 0, 0, 6),
        own(3_600_000, EventKind::ReclaimEnd),
        own(3_640_000, EventKind::PageFaultEnd),
    ];
    let account = of(&events, 6);
    assert_eq!(account.spent[&Spent::Reclaimed].ns, 190_000);
    assert_eq!((ns(&account, "fault"), ns(&account, "blocked")), (50_000, 390_000));
    let blocked = account.spent.keys().find_map(|spent| match spent {
        Spent::Blocked(Some(place)) => Some(place.waits),
        _ => None,
    });
    assert_eq!(blocked, Some(Waits::MemoryLimit));
}

#[test]
fn thread_waits_for_its_quota_or_another_task() {
    let quota = of(&[switch(2_000_000, 1, 7, 0, 0), switch(5_000_000, 1, 0, 0, 7)], 7);
    assert_eq!(quota.spent[&Spent::Quota(None)].ns, 3_000_000);
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

/// The timer of a sleep expires when its slack ends, or in an earlier interrupt. A sleep that another timer ends has
/// none.
#[test]
fn timer_slack_is_the_end_of_a_sleep() {
    let slack = |timer: u64, now: i64| {
        let set =
            EventKind::HrtimerStart { timer: 7, function: "hrtimer_wakeup".into(), expires: 550, soft: 500 };
        let interrupt = |ts, kind| Event { within: Within::Interrupt, ..event(ts, 1, 0, kind) };
        let events = [
            event(1_900_000, 1, 6, set),
            switch(2_000_000, 1, 6, 1, 0),
            interrupt(3_000_000, EventKind::HrtimerEntry { timer, function: "hrtimer_wakeup".into(), now }),
            Event { within: Within::Interrupt, ..wakeup(3_000_000, 1, 0, 6) },
            interrupt(3_001_000, EventKind::HrtimerExit { timer }),
        ];
        let account = of(&events, 6);
        assert_eq!(ns(&account, "slept") + ns(&account, "timer-slack"), 1_000_000);
        ns(&account, "timer-slack")
    };
    assert_eq!((slack(7, 560), slack(7, 530), slack(8, 560)), (50, 30, 0));
    assert!(!Spent::Slack.is_lost(), "it is the default of every thread");
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
        // One within it, and the event of the same one after spinning.
        lock(2_100_000, EventKind::LockWait { lock: 2 }),
        lock(2_110_000, EventKind::LockWaitEnd { lock: Some(2) }),
        lock(2_490_000, EventKind::LockWait { lock: 1 }),
        stack(2_490_000, 6, &["rwsem_down_write_slowpath"]),
        switch(2_500_000, 1, 6, 2, 0),
        wakeup(5_000_000, 0, 3, 6),
        switch(5_100_000, 1, 0, 0, 6),
        lock(5_200_000, EventKind::LockWaitEnd { lock: Some(1) }),
        lock(5_200_100, EventKind::LockWaitEnd { lock: None }),
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
    let spun = [&events[..2], &[lock(2_300_000, EventKind::LockWaitEnd { lock: None })]].concat();
    assert_eq!(ns(&of(&spun, 6), "blocked"), 300_000, "it had the lock without sleeping");
}

/// On a CPU that is not recorded, but for the switches from and to real-time tasks.
#[test]
fn thread_is_told_who_kept_the_holder_of_its_lock_elsewhere() {
    const FUTEX: [&str; 5] = ["__schedule", "schedule", "futex_wait_queue", "futex_wait", "__x64_sys_futex"];
    let wake = event(9_500_000, 2, 8, EventKind::SchedWakeup { pid: 5, comm: "t5".into(), target: 1 });
    let events = [
        switch(2_000_000, 1, 0, 0, 5),
        switch(3_000_000, 2, 8, 0, 9),
        switch(4_000_000, 1, 5, 1, 0),
        stack(4_000_001, 5, &FUTEX),
        switch(9_000_000, 2, 9, 1, 8),
        wake,
        switch(9_510_000, 1, 0, 0, 5),
    ];
    let account = of(&events, 5);
    assert_eq!(account.spent[&Spent::Kept("t8".into(), "t9".into())].ns, 5_000_000);
    assert_eq!(ns(&account, "slept"), 500_000);
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

/// A group uses up its quota while its thread runs, and a neighbour has the CPU until the next one and after.
#[test]
fn quota_beside_a_busy_neighbour_has_its_own_time() {
    let context =
        Context { known: Known { limits: [(6, [3, 2].into())].into(), ..Known::default() }, ..context() };
    let begin = EventKind::Throttle { queue: 0xff, group: 2, cpu: 1 };
    let events = [
        switch(2_000_000, 1, 5, 1, 6),
        event(4_000_000, 1, 6, begin),
        event(4_000_000, 1, 6, EventKind::ThrottleEnd { done: true }),
        switch(4_000_000, 1, 6, 0, 5),
        event(9_000_000, 0, 0, EventKind::Unthrottle { queue: 0xff }),
        switch(10_000_000, 1, 5, 0, 6),
    ];
    let mut ledger = Ledger::new(&context, All);
    events.iter().for_each(|event| ledger.event(event));
    let account = ledger.finish().0.into_iter().find(|account| account.task.pid == 6).unwrap();
    assert_eq!(account.spent[&Spent::Quota(Some(2))].ns, 5_000_000);
    assert_eq!(account.spent[&Spent::Preempted("t5".into())].ns, 1_000_000);
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

/// CPUs 0 and 1 are recorded. What a thread does on another one is not known: it may run, and sleep again.
#[test]
fn thread_that_is_woken_on_an_unrecorded_cpu_does_not_wait_there() {
    let wake = |ts, target| event(ts, 0, 3, EventKind::SchedWakeup { pid: 6, comm: "t6".into(), target });
    let migrate =
        |ts, from, to| event(ts, 0, 3, EventKind::SchedMigrate { pid: 6, comm: "t6".into(), from, to });
    let slept = [switch(2_000_000, 1, 5, 0, 6), switch(3_000_000, 1, 6, 1, 5)];
    for away in [wake(4_000_000, 2), migrate(4_000_000, 1, 2)] {
        let back = [migrate(60_000_000, 2, 1), wake(60_000_000, 1), switch(60_500_000, 1, 5, 0, 6)];
        let account = of(&[&slept[..], &[away], &back].concat(), 6);
        let got = ["slept", "unseen", "preempted", "nothing-ran"].map(|name| ns(&account, name));
        assert_eq!(got, [1_000_000, 1_000_000 + 56_000_000, 500_000, 0], "{:?}", account.spent);
    }
}

#[test]
fn write_after_a_numa_hint_is_of_that() {
    let title = |kind, numa_hints, forked| {
        let amount = Amount { count: 100, ..Amount::default() };
        words::of(&Spent::Fault(kind), &amount, &words::Clues { numa_hints, forked, ..Default::default() })
            .title
    };
    assert_eq!(title(Fault::Write, 50, false), title(Fault::Absent, 50, true));
    assert!(title(Fault::Write, 49, false).contains("write-protected"));
    assert!(title(Fault::Write, 50, true).contains("write-protected"), "copies after a fork");
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
    assert_eq!(ns(&Spent::Called(FUTEX)), 10_000 - 2_000 + 5_000);
    assert_eq!(ns(&Spent::RanInUserMode), 10_000 + 20_000);
    assert_eq!(ns(&Spent::Fault(Fault::Absent)), 2_000);
    assert_eq!((account.calls[&FUTEX].count, account.calls[&FUTEX].ns), (1, 70_000));
}

const FUTEX: CallId = CallId { number: 202, compat: false };

/// A number means another system call in each table.
#[test]
fn system_call_has_the_name_of_its_table() {
    let name = |compat, architecture| super::words::call_name(CallId { compat, ..FUTEX }, architecture);
    assert_eq!([name(false, ""), name(false, "x86_64")], ["futex()", "futex()"]);
    assert_eq!(name(true, "x86_64"), "getegid32() of 32 bits");
    assert_eq!(name(false, "aarch64"), "accept()");
    assert_eq!(name(false, "s390x"), "system call 202 of s390x");
    let context = context();
    let mut ledger = Ledger::new(&context, All);
    let events =
        [EventKind::CallEntry { number: 202 }, EventKind::CompatCall, EventKind::CallExit { number: 202 }];
    ledger.event(&switch(BEGIN, 1, 5, 1, 6));
    (1..).zip(events).for_each(|(at, kind)| ledger.event(&event(BEGIN + at * 1000, 1, 6, kind)));
    let account = ledger.finish().0.into_iter().find(|account| account.task.pid == 6).unwrap();
    assert_eq!(account.calls.keys().copied().collect::<Vec<_>>(), [CallId { compat: true, ..FUTEX }]);
}

#[test]
fn journal_is_named_with_its_device_and_the_thread_that_wrote_it() {
    let title = |frames: &[&str], by: Ended| {
        let frames: Vec<Symbol> = frames.iter().map(|frame| Symbol::from(*frame)).collect();
        let amount = Amount { by: [(by, (1, 5_000))].into(), ..Amount::default() };
        super::words::of(&Spent::Blocked(Some(Place::of(&frames))), &amount, &Default::default()).title
    };
    let ext4 = ["schedule", "jbd2_log_wait_commit", "ext4_sync_file", "do_fsync", "__x64_sys_fdatasync"];
    let jbd2 = Ended::Task(Task { pid: 70, comm: "jbd2/vda1-8".into() });
    assert_eq!(
        title(&ext4, jbd2),
        "blocked by the journal of vda1, in fdatasync(), until jbd2/vda1-8 [70] ended it"
    );
    let xfs = ["schedule", "xlog_wait_on_iclog", "xfs_file_fsync", "__x64_sys_fsync"];
    let worker = Ended::Task(Task { pid: 9, comm: "kworker/1:1H".into() });
    assert_eq!(
        title(&xfs, worker),
        "blocked by the journal of its file system, in fsync(), until kworker/1:1H [9] ended it"
    );
    let page = ["io_schedule", "folio_wait_bit_common", "file_write_and_wait_range", "__x64_sys_fdatasync"];
    assert_eq!(
        title(&page, Ended::Interrupt),
        "blocked by a page or a disk, in fdatasync(), until an interrupt ended it"
    );
}

#[test]
fn fix_names_the_pool_of_a_kworker_and_not_its_number() {
    let fixes = |comm: &str| {
        let by = Ended::Task(Task { pid: 935, comm: comm.into() });
        let amount = Amount { by: [(by, (1, 5_000))].into(), ..Amount::default() };
        let lock = Place::of(&["schedule", "locks_lock_inode_wait", "__x64_sys_flock"].map(Symbol::from));
        [Spent::Moved, Spent::Stopped(None), Spent::Blocked(Some(lock))].map(|spent| {
            let fixes = super::words::of(&spent, &amount, &Default::default()).fixes;
            fixes.iter().map(ToString::to_string).collect::<String>()
        })
    };
    for fix in fixes("kworker/u8:2") {
        assert!(fix.contains("of kworker/u8 (its CPUs: /sys/devices/virtual/workqueue/cpumask"), "{fix}");
        assert!(!fix.contains("935") && !fix.contains("u8:2"), "{fix}");
    }
    for fix in fixes("kworker/1:0H") {
        assert!(
            fix.contains("the work that is queued for the CPU of kworker/1") && !fix.contains("935"),
            "{fix}"
        );
    }
    assert!(fixes("pinner").iter().all(|fix| fix.contains("pinner [935]")));
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
            let mut one = match choice % 14 {
                0..3 => switch(ts, cpu, pid, state, other),
                3 => wakeup(ts, cpu, pid, other),
                4 => event(ts, cpu, pid, EventKind::SchedMigrate { pid: other, comm: "x".into(), from: cpu, to: 1 + u32::from(choice % 2) }),
                5 => event(ts, cpu, pid, EventKind::SchedFork { parent: pid, child: other }),
                6 => event(ts, cpu, pid, EventKind::PageFault { user: true, address: 0, ip: 0, error: u64::from(choice % 8) }),
                7 => event(ts, cpu, pid, if state == 0 { EventKind::PageFaultEnd } else { EventKind::LockWait { lock: 1 } }),
                8 => event(ts, cpu, pid, EventKind::CallEntry { number: 1 }),
                9 => event(ts, cpu, pid, EventKind::CallExit { number: 1 }),
                10 if state == 0 => event(ts, cpu, pid, EventKind::Throttle { queue: u64::from(cpu), group: 2, cpu }),
                10 => event(ts, cpu, pid, EventKind::Unthrottle { queue: u64::from(cpu) }),
                11 => event(ts, cpu, pid, EventKind::ThrottleEnd { done: state == 0 }),
                12 => event(ts, cpu, pid, if state == 0 { EventKind::ReclaimBegin } else { EventKind::ReclaimEnd }),
                _ => event(ts, cpu, pid, EventKind::LockWaitEnd { lock: Some(1) }),
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
