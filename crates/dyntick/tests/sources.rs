// SPDX-License-Identifier: GPL-2.0-only
//! Both ways to count at once, eBPF and trace events: the same events, so the same counts.
//!
//! In guests this test program runs itself. `DYNTICK` names the binary under test, as in `lab.rs`.

use dyntick_model::CpuList;
use dyntick_observe::live::{Choice, Count, Key, Kind, Snapshot, Source, Traced, Wanted};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

fn dyntick() -> Command {
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    Command::new(binary)
}

fn works(arguments: &[&str]) {
    let status = dyntick().args(arguments).status().unwrap();
    assert!(status.success(), "dyntick {arguments:?}: {status}");
}

/// What was counted of the same work. The window of the trace events lies between those of the others.
struct Seen {
    inner: Snapshot,
    traced: Snapshot,
    outer: Snapshot,
}

/// Counts by both while some work is done; the trace buffer as large as is sensible, or of so many KiB.
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
    let begin = read();
    work();
    let end = read();
    Ok(Seen {
        inner: end[0].since(&begin[2]),
        traced: end[1].since(&begin[1]),
        outer: end[2].since(&begin[0]),
    })
}

/// The last CPU of this machine: in guests the one that is set aside.
fn last_cpu() -> u32 {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    online.parse::<CpuList>().unwrap().iter().last().unwrap()
}

/// The counts of the only CPU. Names of tasks are left out: eBPF keeps the first that it sees on a CPU.
fn counts(snapshot: &Snapshot) -> BTreeMap<Key, Count> {
    assert_eq!(snapshot.cpus.len(), 1);
    let mut counts: BTreeMap<Key, Count> = BTreeMap::new();
    for (key, count) in snapshot.cpus.values().flatten() {
        let key = match key.clone() {
            Key::Task { pid, .. } => Key::Task { pid, comm: "".into() },
            key => key,
        };
        counts.entry(key).or_default().add(count);
    }
    counts
}

/// At each end of the window one event may have met the one program and not yet the other.
const BETWEEN: u64 = 2;

/// The counts by trace events are within those by eBPF; the keys that were compared are returned.
fn assert_same_counts(seen: &Seen) -> BTreeSet<Key> {
    let (inner, traced, outer) = (counts(&seen.inner), counts(&seen.traced), counts(&seen.outer));
    assert_eq!(seen.traced.lost, Default::default());
    let keys: BTreeSet<Key> = inner.keys().chain(traced.keys()).cloned().collect();
    for key in &keys {
        let of = |counts: &BTreeMap<Key, Count>| counts.get(key).map_or((0, 0), |c| (c.count, c.ended()));
        let ((least, ended_least), (count, ended), (most, ended_most)) = (of(&inner), of(&traced), of(&outer));
        let what = format!("{key:?}: eBPF {least} to {most}, trace events {count}");
        assert!(least <= count + BETWEEN && count <= most + BETWEEN, "{what}");
        assert!(ended_least <= ended + BETWEEN && ended <= ended_most + BETWEEN, "{what}, {ended} ended");
    }
    keys
}

/// How much longer one of something may last by the one than by the other, ns of virtual time: the work of
/// the other at one event, some hundred instructions, lies within it or not. So does the work of a page fault
/// or switch that both count, at most 4000 instructions; see the costs in the book's page on `stat`.
const APART_NS: f64 = 2000.0;

fn assert_same_durations(seen: &Seen, keys: &BTreeSet<Key>) {
    let (inner, traced, outer) = (counts(&seen.inner), counts(&seen.traced), counts(&seen.outer));
    let mut most: (f64, Option<&Key>) = (0.0, None);
    for key in keys {
        let (Some(by_bpf), Some(by_trace)) = (inner.get(key), traced.get(key)) else { continue };
        // Where the windows differ by an event its duration tells nothing.
        let same = outer.get(key).is_some_and(|outer| outer == by_bpf) && by_bpf.ended() == by_trace.ended();
        if same && by_bpf.ended() > 0 {
            let apart = (by_bpf.ns as f64 - by_trace.ns as f64) / by_bpf.ended() as f64;
            println!("{key:?}: {} of {} ns, {apart:.0} ns apart", by_bpf.count, by_bpf.ns);
            if apart.abs() > most.0 {
                most = (apart.abs(), Some(key));
            }
        }
    }
    assert!(most.0 <= APART_NS, "{} ns apart: {:?}", most.0, most.1);
}

fn everything(cpu: u32) -> Wanted {
    Wanted { cpus: CpuList::from_iter([cpu]), kinds: Kind::ALL.into() }
}

const LOST_OF: &str = "300000";

/// With a buffer that holds almost nothing, what is counted and what was lost are together what happened.
fn assert_losses_are_exact() -> Result<(), String> {
    let cpu = last_cpu();
    let wanted = Wanted { cpus: CpuList::from_iter([cpu]), kinds: [Kind::Faults].into() };
    let cpu = cpu.to_string();
    let seen = watch(&wanted, Some(8), || works(&["guest-probe", "page-fault", "-C", &cpu, "-n", LOST_OF]))?;
    let all = |snapshot: &Snapshot| -> u64 { counts(snapshot).values().map(|count| count.count).sum() };
    let (least, counted, most) = (all(&seen.inner), all(&seen.traced), all(&seen.outer));
    let lost = seen.traced.lost.overrun;
    println!("{counted} counted, {lost} lost, {least} to {most} happened");
    assert!(lost > 0 && least >= LOST_OF.parse().unwrap());
    assert!(least <= counted + lost + BETWEEN && counted + lost <= most + BETWEEN);
    Ok(())
}

#[test]
fn same_counts_on_this_machine() {
    let cpu = last_cpu();
    let seen = watch(&everything(cpu), None, || {
        works(&["guest-probe", "all", "-C", &cpu.to_string(), "-n", "200"]);
    });
    match seen {
        Ok(seen) => println!("{} keys", assert_same_counts(&seen).len()),
        Err(why) => eprintln!("skipped: {why}"),
    }
}

#[test]
fn losses_are_exact_on_this_machine() {
    if let Err(why) = assert_losses_are_exact() {
        eprintln!("skipped: {why}");
    }
}

/// What the tests below run in a guest.
#[test]
#[ignore = "disturbs the machine in ways that stay: for guests"]
fn in_a_guest() {
    let cpu = last_cpu();
    let seen = watch(&everything(cpu), None, || {
        works(&["guest-probe", "all", "-C", &cpu.to_string(), "-n", "200"]);
        works(&["guest-disturb", "-C", &cpu.to_string(), "--ms", "30"]);
    });
    let seen = seen.unwrap();
    let keys = assert_same_counts(&seen);
    assert_same_durations(&seen, &keys);
    let families: BTreeSet<String> =
        keys.iter().map(|key| serde_json::to_value(key).unwrap()["what"].to_string()).collect();
    println!("{} keys of {families:?}", keys.len());
    assert_losses_are_exact().unwrap();
}

fn same_in_a_guest(kernel: &str) {
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let script = format!("DYNTICK=dyntick {own} --ignored --exact in_a_guest --nocapture");
    let output = dyntick()
        .args(["lab", "shell", "--virtual", "--memory", "2G", "--kernel", kernel])
        .args(["--append", "isolcpus=domain,1 nohz_full=1", "--tool", own, "--", "sh", "-c", &script])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    println!("{printed}");
    for family in ["vector", "tick", "hrtimer", "softirq", "task", "kernel-thread", "idle", "page-fault"] {
        assert!(printed.contains(&format!("\\\"{family}\\\"")), "no {family} was compared: {printed}");
    }
}

#[test]
fn same_counts_on_6_12() {
    same_in_a_guest("debian:6.12");
}

#[test]
fn same_counts_on_6_1() {
    same_in_a_guest("debian:6.1");
}
