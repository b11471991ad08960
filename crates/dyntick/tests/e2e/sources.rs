// SPDX-License-Identifier: GPL-2.0-only
//! Both ways to count at once, eBPF and trace events: the same events, so the same counts.
//!
//! In guests this test program runs itself. `DYNTICK` names the binary under test, as in `lab.rs`.

use crate::harness::{dyntick, in_guest, is_full, tools, trials_program};
use dyntick_model::CpuList;
use dyntick_observe::live::{Choice, Count, Key, Kind, Snapshot, Source, Traced, Wanted};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

fn works(arguments: &[&str]) {
    let status = dyntick().args(arguments).status().unwrap();
    assert!(status.success(), "dyntick {arguments:?}: {status}");
}

/// The counts of the same work. The window of the trace events lies between those of the others.
struct Seen {
    inner: Snapshot,
    traced: Snapshot,
    outer: Snapshot,
}

/// Counts with both sources while some work is done. The trace buffer has `buffer_kib` KiB, or a sensible size.
fn watch(wanted: &Wanted, buffer_kib: Option<u32>, work: impl FnOnce()) -> Result<Seen, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let mut bpf = Source::start(wanted, Choice::Bpf).map_err(|error| text(&error))?;
    let traced = match buffer_kib {
        Some(kib) => Traced::start_with(wanted, kib),
        None => Traced::start(wanted),
    };
    let mut traced = traced.map_err(|error| text(&error))?;
    bpf.forget().unwrap();
    traced.forget().unwrap();
    let mut read = || [bpf.read().unwrap(), traced.read().unwrap(), bpf.read().unwrap()];
    // Each reading has what came since the one before.
    let [_, _, mut outer] = read();
    work();
    let [inner, traced, last] = read();
    [&inner, &last].into_iter().for_each(|more| outer.add(more));
    Ok(Seen { inner, traced, outer })
}

/// The last CPU of this machine: in guests the one that is set aside.
fn last_cpu() -> u32 {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    online.parse::<CpuList>().unwrap().iter().last().unwrap()
}

/// The counts of the only CPU.
fn counts(snapshot: &Snapshot) -> BTreeMap<Key, Count> {
    assert_eq!(snapshot.cpus.len(), 1);
    snapshot.cpus.values().flatten().map(|(key, count)| (key.clone(), count.clone())).collect()
}

/// At each end of the window one event may have met the one program and not yet the other.
const BETWEEN: u64 = 2;

/// True for time slices. Some kernels of virtual machines record no switch from idle, so a time slice has no known end.
fn is_time_slice(key: &Key) -> bool {
    matches!(key, Key::Idle | Key::Task { .. } | Key::KernelThread { .. })
}

/// The counts by trace events are within those by eBPF; the keys that were compared are returned. `switches` is true if
/// the kernel is known to record each switch.
fn assert_same_counts(seen: &Seen, switches: bool) -> BTreeSet<Key> {
    let (inner, traced, outer) = (counts(&seen.inner), counts(&seen.traced), counts(&seen.outer));
    assert_eq!(seen.traced.lost, Default::default());
    let keys: BTreeSet<Key> = inner.keys().chain(traced.keys()).cloned().collect();
    for key in &keys {
        let of = |counts: &BTreeMap<Key, Count>| counts.get(key).map_or((0, 0), |c| (c.count, c.ended()));
        let ((least, ended_least), (count, ended), (most, ended_most)) =
            (of(&inner), of(&traced), of(&outer));
        let what = format!("{key:?}: eBPF {least} to {most}, trace events {count}");
        println!("{what}");
        assert!(least <= count + BETWEEN && count <= most + BETWEEN, "{what}");
        if switches || !is_time_slice(key) {
            assert!(ended_least <= ended + BETWEEN && ended <= ended_most + BETWEEN, "{what}, {ended} ended");
        }
    }
    keys
}

/// The most by which the durations of one event may differ between the sources, ns of virtual time. Each source takes
/// the time at its own moment of an event. Thus the duration includes one source's work at the start, and the other's
/// at the end. The time slice of another virtual CPU, some 10 000 ns, may come between these moments, but seldom: fewer
/// than one key of eight may be farther apart.
const APART_NS: u64 = 200;

/// True if this may be interrupted. It then lasts longer by the time by which its interrupts are shorter.
fn may_be_interrupted(key: &Key) -> bool {
    let vector =
        matches!(key, Key::Interrupt { .. } | Key::Called { .. } | Key::Tick { .. } | Key::EmptyTimer);
    !(vector || matches!(key, Key::Device { .. } | Key::Hrtimer { .. } | Key::Nmi { .. }))
}

fn assert_same_durations(seen: &Seen, keys: &BTreeSet<Key>) {
    let (inner, traced, outer) = (counts(&seen.inner), counts(&seen.traced), counts(&seen.outer));
    let interrupts = |(key, count): (&Key, &Count)| match key {
        Key::Interrupt { .. } | Key::Device { .. } | Key::Softirq { .. } => count.count,
        _ => 0,
    };
    let interrupts: u64 = outer.iter().map(interrupts).sum();
    let (mut compared, mut apart) = (0, Vec::new());
    for key in keys {
        let (Some(by_bpf), Some(by_trace)) = (inner.get(key), traced.get(key)) else { continue };
        // The duration says nothing if the windows differ by an event.
        if outer.get(key) != Some(by_bpf) || by_bpf.ended() != by_trace.ended() || by_bpf.ended() == 0 {
            continue;
        }
        let events = by_bpf.ended() + if may_be_interrupted(key) { interrupts } else { 0 };
        println!("{key:?}: {} in {} ns by eBPF, {} ns by trace events", by_bpf.count, by_bpf.ns, by_trace.ns);
        compared += 1;
        if by_trace.ns.abs_diff(by_bpf.ns) > APART_NS * events {
            apart.push(key);
        }
    }
    assert!(compared >= 24 && apart.len() * 8 < compared, "{compared} compared, apart are {apart:?}");
}

fn everything(cpu: u32) -> Wanted {
    Wanted {
        cpus: CpuList::from_iter([cpu]),
        kinds: Kind::ALL.into(),
        details_over_ns: None,
        longest_idle_exit_ns: None,
    }
}

const LOST_OF: &str = "100000";

/// With a buffer that holds almost nothing, what is counted and what was lost are together what happened.
fn assert_losses_are_exact() -> Result<(), String> {
    let cpu = last_cpu();
    let wanted = Wanted { kinds: [Kind::Faults].into(), ..everything(cpu) };
    let cpu = cpu.to_string();
    let seen = watch(&wanted, Some(8), || works(&["guest-probe", "page-fault", "-C", &cpu, "-n", LOST_OF]))?;
    let all = |snapshot: &Snapshot| -> u64 { counts(snapshot).values().map(|count| count.count).sum() };
    let (least, counted, most) = (all(&seen.inner), all(&seen.traced), all(&seen.outer));
    let lost = seen.traced.lost.events();
    println!("{counted} counted, lost: {:?}, {least} to {most} happened", seen.traced.lost);
    assert!(lost > 0 && least >= LOST_OF.parse().unwrap());
    assert!(least <= counted + lost + BETWEEN && counted + lost <= most + BETWEEN);
    Ok(())
}

/// One after the other: each asks much of a small machine.
#[test]
fn on_this_machine() {
    let cpu = last_cpu();
    let seen = watch(&everything(cpu), None, || {
        works(&["guest-probe", "all", "-C", &cpu.to_string(), "-n", "200"]);
    });
    match seen {
        Ok(seen) if seen.traced.lost.events() > 0 => {
            eprintln!("not compared: this machine has too much else to do: {:?}", seen.traced.lost);
        }
        Ok(seen) => println!("{} keys", assert_same_counts(&seen, false).len()),
        Err(why) => eprintln!("skipped: {why}"),
    }
    if let Err(why) = assert_losses_are_exact() {
        eprintln!("skipped: {why}");
    }
}

/// The disturbances: one for every kind of interruption, on all kernels from 6.1 on.
const DISTURBANCES: &[&str] = &[
    "second-task",
    "woken-task",
    "migration",
    "cpu-timer",
    "perf-frequency",
    "membarrier",
    "munmap",
    "page-faults",
    "stat-refresh",
    "jump-label",
    "device",
    "writeback",
    "drop-caches",
    "expedited-rcu",
    "backtrace",
];

/// The part of the tests below that runs in a guest.
#[test]
#[ignore = "disturbs the machine in ways that stay: for guests"]
fn in_a_guest() {
    let cpu = last_cpu();
    let number = cpu.to_string();
    let seen = watch(&everything(cpu), None, || {
        works(&["guest-probe", "all", "-C", &number, "-n", "200"]);
        let mut disturb = Command::new(trials_program());
        disturb.args(["disturb", "-C", &number, "--ms", "50"]).args(DISTURBANCES);
        assert!(disturb.status().unwrap().success());
    });
    let seen = seen.unwrap();
    let keys = assert_same_counts(&seen, true);
    assert_same_durations(&seen, &keys);
    let families: BTreeSet<String> =
        keys.iter().map(|key| serde_json::to_value(key).unwrap()["what"].to_string()).collect();
    println!("{} keys of {families:?}", keys.len());
    assert_losses_are_exact().unwrap();
}

fn same_in_a_guest(kernel: &str) {
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let script = format!("DYNTICK=dyntick {own} --ignored --exact sources::in_a_guest --nocapture");
    let machine = ["--memory", "2G", "--cpus", "3", "--kernel", kernel, "--module", "brd"];
    let line = ["--append", "isolcpus=domain,2 nohz_full=2"];
    let trials = trials_program();
    let options = [&machine[..], &line, &tools(&[own, &trials])].concat();
    let printed = in_guest(&options, &["sh", "-c", &script]);
    println!("{printed}");
    let families = [
        "vector",
        "tick",
        "hrtimer",
        "timer",
        "work",
        "device",
        "softirq",
        "task",
        "kernel-thread",
        "idle",
        "page-fault",
        "nmi",
        "tick-stopped",
        "tick-kept",
    ];
    for family in families {
        assert!(printed.contains(&format!("\\\"{family}\\\"")), "no {family} was compared: {printed}");
    }
}

#[test]
fn same_counts_on_6_12() {
    same_in_a_guest("debian:6.12");
}

#[test]
fn same_counts_on_6_1() {
    if is_full() {
        same_in_a_guest("debian:6.1");
    }
}
