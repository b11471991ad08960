// SPDX-License-Identifier: GPL-2.0-only
//! Counts on the machine at hand, by eBPF and by trace events, compared with the kernel's own counts.

use dyntick_model::{CpuList, Interrupt};
use dyntick_observe::interrupts::Interrupts;
use dyntick_observe::live::{Choice, Key, Kind, LiveError, Snapshot, Source, Wanted, Whose};
use std::time::Duration;

fn interrupts() -> Interrupts {
    Interrupts::parse(&std::fs::read_to_string("/proc/interrupts").unwrap())
}

fn online() -> CpuList {
    std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().parse().unwrap()
}

fn wanted(kinds: &[Kind]) -> Wanted {
    Wanted {
        cpus: online(),
        kinds: kinds.iter().copied().collect(),
        details_over_ns: None,
        longest_idle_exit_ns: None,
    }
}

/// None where this machine does not let us, which is said.
fn source(choice: Choice, kinds: &[Kind]) -> Option<Source> {
    let error = match Source::start(&wanted(kinds), choice) {
        Ok(source) => return Some(source),
        Err(error) => error,
    };
    match error.bpf.as_ref().or(error.tracefs.as_ref()) {
        Some(LiveError::NotPermitted | LiveError::NoBtf(_) | LiveError::Session(_)) => {
            eprintln!("skipped: {error}");
            None
        }
        _ => panic!("{error}"),
    }
}

/// Both ways to count.
const BOTH: [Choice; 2] = [Choice::Bpf, Choice::Tracefs];

fn count(snapshot: &Snapshot, cpu: u32, wanted: impl Fn(&Key) -> bool) -> u64 {
    snapshot.cpus[&cpu].iter().filter(|(key, _)| wanted(key)).map(|(_, count)| count.count).sum()
}

fn is_vector(key: &Key, wanted: Interrupt) -> bool {
    matches!(key, Key::Interrupt { source: vector } if *vector == wanted)
}

/// The number of short windows, and how many of them must agree. Some virtual machines run no eBPF
/// program while a thread of their own supervision has the CPU, of which the kernel keeps no account: now and
/// then an interrupt in a window is missing then.
const WINDOWS: usize = 10;
const AGREE: usize = 6;

#[test]
fn as_many_as_the_kernel_counts() {
    for choice in BOTH {
        eprintln!("by {choice:?}");
        if let Some(mut source) = source(choice, &[Kind::Timers, Kind::Ipis]) {
            let windows: Vec<Vec<String>> = (0..WINDOWS).map(|_| differences(&mut source)).collect();
            let agree = windows.iter().filter(|window| window.is_empty()).count();
            let enough = if choice == Choice::Tracefs { WINDOWS } else { AGREE };
            assert!(agree >= enough, "{agree} of {WINDOWS} windows: {windows:#?}");
        }
    }
}

/// The differences between the counts of a window and the kernel's. The kernel's counts over a window within and over
/// one around it are the bounds.
fn differences(source: &mut Source) -> Vec<String> {
    let outer = interrupts();
    source.read().unwrap();
    let inner = interrupts();
    std::thread::sleep(Duration::from_millis(100));
    let inner = interrupts().since(&inner);
    let counted = source.read().unwrap();
    let outer = interrupts().since(&outer);
    assert_eq!(counted.lost, Default::default());

    let bound = |rows: &[(String, u32, u64)], row: &str, cpu: u32| {
        rows.iter().find(|(name, of, _)| name == row && *of == cpu).map_or(0, |(_, _, count)| *count)
    };
    let mut differences = Vec::new();
    for cpu in online().iter() {
        for (row, vectors) in [
            ("LOC", vec![Interrupt::Timer]),
            ("RES", vec![Interrupt::Reschedule]),
            ("CAL", vec![Interrupt::FunctionCall, Interrupt::FunctionCallSingle]),
            ("IWI", vec![Interrupt::IrqWork]),
        ] {
            let count = count(&counted, cpu, |key| vectors.iter().any(|vector| is_vector(key, *vector)));
            let (least, most) = (bound(&inner, row, cpu), bound(&outer, row, cpu));
            if !(least..=most).contains(&count) {
                differences.push(format!("{row} of CPU {cpu}: {least} to {most}, not {count}"));
            }
        }
    }
    differences
}

/// The turns of tasks by trace events are compared in guests (`crates/dyntick/tests/sources.rs`), whose kernels leave
/// out none.
#[test]
fn a_task_with_its_turns_and_its_sleep() {
    let Some(mut source) = source(Choice::Bpf, &[Kind::Timers, Kind::Tasks]) else { return };
    source.read().unwrap();
    const NAME: &str = "sleeps-50-times";
    let sleep = || (0..50).for_each(|_| std::thread::sleep(Duration::from_millis(2)));
    std::thread::Builder::new().name(NAME.to_owned()).spawn(sleep).unwrap().join().unwrap();
    let own = Key::Task { comm: Some(NAME.into()), whose: Whose::Observer };
    let counted = source.read().unwrap();
    let turns: u64 = online().iter().map(|cpu| count(&counted, cpu, |key| *key == own)).sum();
    // A turn whose begin fell to a thread as above is missing.
    assert!(turns >= 45, "each sleep is followed by a turn, but there were {turns}");
    let timers: u64 = online()
        .iter()
        .map(|cpu| {
            count(
                &counted,
                cpu,
                |key| matches!(key, Key::Hrtimer { function } if &**function == "hrtimer_wakeup"),
            )
        })
        .sum();
    assert!(timers >= 45, "an hrtimer ended each sleep, but {timers} were counted");
}

#[test]
fn nothing_else_than_what_was_wanted() {
    for choice in BOTH {
        eprintln!("by {choice:?}");
        if let Some(source) = source(choice, &[Kind::Softirqs]) {
            nothing_else_than_what_was_wanted_by(source);
        }
    }
}

fn nothing_else_than_what_was_wanted_by(mut source: Source) {
    source.read().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let counted = source.read().unwrap();
    let keys = counted.cpus.values().flatten().map(|(key, _)| key);
    assert!(keys.into_iter().all(|key| matches!(key, Key::Softirq { .. })), "{counted:?}");
}

#[test]
fn who_started_whom() {
    for choice in BOTH {
        eprintln!("by {choice:?}");
        if let Some(source) = source(choice, &[Kind::Tasks]) {
            who_started_whom_by(source);
        }
    }
}

fn who_started_whom_by(mut source: Source) {
    let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str| {
        let program = folder.path().join(name);
        // A copy could still be open for writing in what another test is just starting.
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        program
    };
    let (shell, child, stranger) = (named("shell-of-us"), named("child-of-us"), named("stranger"));
    source.follow(own).unwrap();
    let run = |program: &std::path::Path, script: &str| {
        assert!(std::process::Command::new(program).args(["-c", script]).status().unwrap().success());
    };
    run(&shell, &format!("(true; {} -c true); true", child.display()));
    source.unfollow(own).unwrap();
    run(&stranger, "true; true");
    // Who has ended may still have to leave its CPU, and its turn is counted then.
    let mut counted = vec![source.read().unwrap()];
    let turns = |counted: &[Snapshot], name: &str, whose| -> u64 {
        let key = Key::Task { comm: Some(name.into()), whose };
        let of = |counted| online().iter().map(|cpu| count(counted, cpu, |one| *one == key)).sum::<u64>();
        counted.iter().map(of).sum()
    };
    while turns(&counted, "stranger", Whose::Other) == 0 && counted.len() < 100 {
        std::thread::sleep(Duration::from_millis(10));
        counted.push(source.read().unwrap());
    }
    for (name, whose, not) in [
        ("shell-of-us", Whose::Command, Whose::Other),
        ("child-of-us", Whose::Command, Whose::Other),
        ("stranger", Whose::Other, Whose::Command),
    ] {
        let [of_its_owner, of_another] = [whose, not].map(|whose| turns(&counted, name, whose));
        assert!(of_its_owner > 0 && of_another == 0, "{name}: {counted:?}");
    }
    assert_eq!(source.unfollowed().unwrap(), 0);
}

/// A command that is started inherits none of the buffers: its closing them would interrupt the CPU that it
/// is to run on.
#[test]
fn the_buffers_are_open_in_no_other_thread() {
    let Some(_source) = source(Choice::Tracefs, &[Kind::Faults]) else { return };
    let files = |folder: String| {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let targets = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        targets.filter(|target| target.ends_with("trace_pipe_raw")).count()
    };
    assert_eq!(files("/proc/thread-self/fd".to_owned()), 0);
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    // Those of other tests may have more.
    let open = threads.map(|thread| files(format!("{}/fd", thread.path().display()))).max();
    assert!(open >= Some(online().len()), "{open:?}");
}
