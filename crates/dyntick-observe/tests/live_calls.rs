// SPDX-License-Identifier: GPL-2.0-only
//! Calls of functions of the machine at hand, timed while the test makes them.

use dyntick_model::CpuList;
use dyntick_observe::live::{CallCount, Calls, CallsError, FunctionCalls, LiveError};
use std::time::Duration;

fn online() -> CpuList {
    std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().parse().unwrap()
}

/// None where this machine does not let us, which is said.
fn timed(functions: &[&str]) -> Option<Calls> {
    let functions: Vec<_> = functions.iter().map(|name| name.parse().unwrap()).collect();
    match Calls::start(&functions, &online()) {
        Ok(calls) => Some(calls),
        Err(error @ (CallsError::Live(LiveError::NotPermitted) | CallsError::Refused { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn counted(calls: &mut Calls, work: impl FnOnce()) -> Vec<CallCount> {
    calls.forget();
    work();
    calls.read().iter().map(FunctionCalls::together).collect()
}

/// Other processes may call it too, but hardly as often.
#[test]
fn both_pairs_time_each_call() {
    const CALLS: u64 = 20_000;
    let functions = ["fentry:__do_sys_getppid", "kprobe:__do_sys_getppid"];
    let Some(mut calls) = timed(&functions) else { return };
    let counts = counted(&mut calls, || (0..CALLS).for_each(|_| _ = rustix::process::getppid()));
    for (count, function) in counts.iter().zip(functions) {
        let ended = count.ended();
        assert!((CALLS..CALLS + CALLS / 10).contains(&ended), "{function}: {count:?}");
        assert_eq!((count.unpaired, count.no_room), (0, 0), "{function}: {count:?}");
        let bounds = (count.shortest_ns.unwrap() as f64, count.longest_ns.unwrap() as f64);
        let mean = count.mean_ns().unwrap();
        assert!(bounds.0 <= mean && mean <= bounds.1, "{function}: {count:?}");
    }
    let costs = calls.costs();
    assert_eq!(costs.len(), 2);
    for cost in costs {
        let measured = cost.measured.as_ref().unwrap();
        eprintln!("{}: {measured:?}", cost.pair.name());
        assert!(measured.added_ns > 0.0 && measured.calls >= 10_000, "{cost:?}");
        // The other pair, and what the test attached, were not there yet.
        let shortest = counts.iter().filter_map(|count| count.shortest_ns).max().unwrap();
        assert!(measured.inside_ns < shortest, "{cost:?}, {counts:?}");
    }
}

/// Two tasks sleep in one function at the same time, wherever they run: each gets its own duration.
#[test]
fn calls_that_sleep_and_move_have_their_own_begin() {
    const SHORT: Duration = Duration::from_millis(30);
    const LONG: Duration = Duration::from_millis(90);
    for pair in ["fentry", "kprobe"] {
        let Some(mut calls) = timed(&[&format!("{pair}:hrtimer_nanosleep")]) else { return };
        let counts = counted(&mut calls, || {
            let threads =
                [LONG, SHORT, LONG, SHORT].map(|time| std::thread::spawn(move || std::thread::sleep(time)));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        // Others sleep too: at least ours are there.
        let from = |time: Duration| -> u64 {
            let octave = |(from, _, _): &(u64, Option<u64>, u64)| *from >= time.as_nanos() as u64 / 2;
            counts[0].octaves().filter(octave).map(|(.., count)| count).sum()
        };
        assert!(from(SHORT) >= 4 && from(LONG) >= 2, "{pair}: {counts:?}");
        assert!(counts[0].ns >= 2 * (SHORT + LONG).as_nanos() as u64, "{pair}: {counts:?}");
        assert!(counts[0].longest_ns.unwrap() >= LONG.as_nanos() as u64, "{pair}: {counts:?}");
    }
}

#[test]
fn what_cannot_be_timed_is_named_with_what_is_like_it() {
    let start = |name: &str| Calls::start(&[name.parse().unwrap()], &online()).err().unwrap().to_string();
    let misspelt = start("hrtimer_interupt");
    assert!(
        misspelt.contains("no function 'hrtimer_interupt'") && misspelt.contains("hrtimer_interrupt"),
        "{misspelt}"
    );
    // Tracing is made of it, so it is noinstr.
    let refused = start("exc_int3");
    eprintln!("{refused}");
    assert!(refused.contains("'exc_int3'") || refused.contains("needs root, or CAP_BPF"), "{refused}");
}
