// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick stat --calls` in guests, against the kernel's own counts, and what it refuses.
//!
//! `DYNTICK` names the binary under test, as in `lab.rs`.

use crate::harness::{dyntick, in_guest, is_full, text};
use serde_json::Value;
use std::process::{Command, Output};

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

/// Needs no right but to read the kernel's names, which everybody has.
#[test]
fn a_function_that_is_not_there_is_named_with_its_like() {
    let output = run(dyntick().args(["stat", "-C", "0", "--calls", "hrtimer_interupt", "touch"]));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("no function 'hrtimer_interupt'") && told.contains("hrtimer_interrupt"), "{told}");
}

#[test]
fn wrong_names_and_too_many_are_refused() {
    let nine = ["do_idle"; 9].join(",");
    for (functions, words) in
        [(nine.as_str(), "9 functions"), ("do idle", "not a kernel function name as in /proc/kallsyms")]
    {
        let output = run(dyntick().args(["stat", "-C", "0", "--calls", functions, "touch"]));
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}

/// The output of a guest in virtual time, in which CPU 1 is isolated. Its timers stay there: by default one that a
/// task of an isolated CPU sets is another CPU's, unless that would have to wake up for it sooner than it does anyway
/// (6.12 `kernel/time/hrtimer.c: switch_hrtimer_base`).
fn guest(kernel: &str, script: &str) -> String {
    let line = ["--append", "isolcpus=domain,1 nohz_full=1", "--tool", "tr", "--tool", "sleep"];
    in_guest(&[&["--memory", "1G", "--kernel", kernel][..], &line].concat(), &["sh", "-c", script])
}

const SCRIPT: &str = r#"
json() { dyntick stat -C 1 --json -o /tmp/o "$@" && tr -d '\n' < /tmp/o && echo; }
both() { echo "fentry:$1,kprobe:$1"; }
echo 0 > /proc/sys/kernel/timer_migration
json -e timers --calls $(both hrtimer_interrupt) dyntick guest-probe timer -C 1 -n 50
json -e none --calls $(both hrtimer_nanosleep) --pin sh -c 'sleep 0.3 & sleep 0.1; wait'
dyntick stat -C 1 --calls exc_int3 echo ran 2>&1; echo "status $?"
dyntick stat -C 1 -e none -x ';' --calls hrtimer_interrupt dyntick guest-probe timer -C 1 -n 5 2>&1
dyntick stat -C 1 -e none -I 100 --timeout 250 --calls hrtimer_interrupt 2>&1
"#;

fn calls_are_timed(kernel: &str) {
    let printed = guest(kernel, SCRIPT);
    let mut lines = printed.lines();
    let mut json =
        || -> Value { serde_json::from_str(lines.next().unwrap()).unwrap_or_else(|_| panic!("{printed}")) };
    timer_interrupts(&json(), kernel);
    two_that_sleep(&json());
    let rest: Vec<&str> = lines.collect();
    assert!(rest[0].contains("the kernel function 'exc_int3' cannot be traced"), "{printed}");
    assert_eq!(rest[1], "status 2", "{printed}");
    assert!(rest.iter().any(|line| line.contains(";1;calls;hrtimer_interrupt;")), "{printed}");
    assert!(rest.iter().any(|line| line.contains(";;probe;fentry/fexit;10000;")), "{printed}");
    let intervals = rest.iter().filter(|line| line.starts_with("Calls of hrtimer_interrupt()")).count();
    let probes = rest.iter().filter(|line| line.starts_with("Probe: fentry/fexit; it adds")).count();
    assert_eq!((intervals, probes), (3, 1), "{printed}");
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Every local timer interrupt calls hrtimer_interrupt() once. Calls are read after all else at the begin and
/// before all else at the end, so there are no more of them than the kernel counts interrupts, but for one that
/// had begun. No fewer than timers of the command expired, of which there is never more than one.
fn timer_interrupts(json: &Value, kernel: &str) {
    let cpu = &json["cpus"][0];
    let rows = cpu["interruptions"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == "local timer interrupts (LOC)").unwrap();
    let parts = row["parts"].as_array().unwrap();
    let own = parts.iter().find(|part| part["name"] == "hrtimer timerfd_tmrproc").unwrap();
    let (own, interrupts) = (number(&own["count"]), number(&cpu["machine"]["interrupts"]["LOC"]));
    let functions = json["calls"]["functions"].as_array().unwrap();
    let names: Vec<_> = functions.iter().map(|function| &function["probe"]).collect();
    assert_eq!(names, ["fentry/fexit", "kprobe/kretprobe"]);
    for function in functions {
        let here = &function["cpus"][0];
        let calls = number(&here["calls"]);
        eprintln!("{kernel}: {own} timers, {calls} calls by {}, LOC {interrupts}", function["probe"]);
        assert!(own >= 40 && own <= calls && calls <= interrupts + 1, "{json:#}");
        assert_eq!(
            (&function["missed"], &here["no_room"], &here["unpaired"]),
            (&0.into(), &0.into(), &0.into())
        );
        assert!(number(&here["began"]).abs_diff(calls) <= 1, "{here:#}");
        consistent(here);
        // Each call is within its interrupt.
        assert!(
            number(&here["total_ns"]) <= number(&row["total_ns"]) + number(&here["longest_ns"]),
            "{json:#}"
        );
    }
    let costs: Vec<f64> = probes(json).iter().map(|probe| probe["added_ns"].as_f64().unwrap()).collect();
    eprintln!("{kernel}: {:#}", json["calls"]["probes"]);
    assert!(0.0 < costs[0] && costs[0] < costs[1], "in instructions the trampoline costs less: {costs:?}");
    for probe in probes(json) {
        assert!(number(&probe["inside_ns"]) > 0 && probe["measured_calls"] == 10_000, "{probe:#}");
    }
}

fn probes(json: &Value) -> &Vec<Value> {
    json["calls"]["probes"].as_array().unwrap()
}

fn consistent(count: &Value) {
    let octaves = count["histogram"].as_array().unwrap();
    let sum: u64 = octaves.iter().map(|octave| number(&octave["count"])).sum();
    let least: u64 = octaves.iter().map(|octave| number(&octave["count"]) * number(&octave["from_ns"])).sum();
    assert_eq!(sum, number(&count["calls"]), "{count:#}");
    let (total, longest) = (number(&count["total_ns"]), number(&count["longest_ns"]));
    assert!(least <= total && total <= sum * longest, "{count:#}");
    assert!(longest < number(&octaves.last().unwrap()["below_ns"]), "{count:#}");
    assert!(number(&count["shortest_ns"]) >= number(&octaves[0]["from_ns"]), "{count:#}");
}

/// Two tasks sleep on one CPU at the same time: the second begins and ends within the first one's sleep.
fn two_that_sleep(json: &Value) {
    assert_eq!(json["counted"], false, "no kind was asked for");
    for function in json["calls"]["functions"].as_array().unwrap() {
        let here = &function["cpus"][0];
        assert_eq!(
            (&here["calls"], &here["began"], &here["unpaired"]),
            (&2.into(), &2.into(), &0.into()),
            "{here:#}"
        );
        assert!(number(&here["shortest_ns"]) >= 100_000_000, "{here:#}");
        assert!(number(&here["longest_ns"]) >= 300_000_000, "{here:#}");
        consistent(here);
    }
}

#[test]
fn calls_are_timed_on_6_12() {
    calls_are_timed("debian:6.12");
}

#[test]
fn calls_are_timed_on_6_1() {
    if is_full() {
        calls_are_timed("debian:6.1");
    }
}
