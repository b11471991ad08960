// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick replay`: the choices of a real kernel's governor are those of its own source, replayed on the record.

use crate::harness::{dyntick, in_guest, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Records two periodic tasks in a guest with idle states, and writes the record to `path`.
fn record(path: &Path) {
    let script = "
        dyntick record --idle -C 1 -o /x.dt -- sh -c '
            cyclictest -q --laptop -p 90 -i 3700 -l 150 -t 1 -a 1 > /dev/null &
            cyclictest -q --laptop -p 80 -i 130 -l 1500 -t 1 -a 1 > /dev/null
            wait' 2>/dev/null >/dev/null
        echo @record; busybox base64 /x.dt; echo @";
    let options = ["--machine", "sapphire-rapids", "--governor", "menu", "--tool", "cyclictest"];
    let console = in_guest(&options, &["sh", "-c", script]);
    let base64 = console.split_once("@record\n").and_then(|(_, rest)| rest.split_once("\n@"));
    let base64 = base64.unwrap_or_else(|| panic!("{console}")).0;
    let encoded = path.with_extension("base64");
    std::fs::write(&encoded, base64).unwrap();
    let decoded = Command::new("busybox").args(["base64", "-d"]).arg(&encoded).output().unwrap();
    assert!(decoded.status.success(), "{}", text(&decoded.stderr));
    std::fs::write(path, decoded.stdout).unwrap();
}

fn replay(record: &Path, arguments: &[&str]) -> String {
    let output = dyntick().arg("replay").arg(record).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn row<'r>(replay: &'r Value, name: &str) -> &'r Value {
    let rows = replay["results"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {replay:#}"))
}

#[test]
fn the_recorded_kernel_chose_as_its_source_does() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.dt");
    record(&file);
    let arguments = ["--governor", "menu@6.12", "--governor", "ladder@6.12", "--machine", "sapphire-rapids"];
    let json: Value = serde_json::from_str(&replay(&file, &[&arguments[..], &["--json"]].concat())).unwrap();
    assert_eq!(json["recorded_governor"], "menu");
    let (menu, ladder, oracle) = (row(&json, "menu@6.12"), row(&json, "ladder@6.12"), row(&json, "oracle"));
    let share = |row: &Value, key: &str| row["agreement"][key].as_u64().unwrap();
    let (same, of) = (share(menu, "same"), share(menu, "of"));
    eprintln!("menu chose {same} of {of} as recorded, ladder {}", share(ladder, "same"));
    assert!(of > 1000, "the record has sleeps: {of}");
    assert!(same as f64 > 0.97 * of as f64, "menu chose {same} of {of} as recorded: {json:#}");
    assert!(share(ladder, "same") < same, "another governor chooses otherwise");
    let energy = |row: &Value| row["energy"]["value"].as_f64().unwrap();
    assert!(energy(oracle) > 0.0 && energy(oracle) < energy(ladder), "{json:#}");
    assert_eq!(oracle["right"], oracle["sleeps"]);

    let page = replay(&file, &arguments);
    for words in ["Least energy, modelled for sapphire-rapids", "recorded (menu)", "oracle", "best state"] {
        assert!(page.contains(words), "{words} is missing: {page}");
    }
    sleeps_have_their_ends(&file);
}

/// The tasks of the record sleep by timers.
fn sleeps_have_their_ends(record: &Path) {
    let output = dyntick().arg("idle").arg(record).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let idle: Value = serde_json::from_slice(&output.stdout).unwrap();
    let entries = idle["judged"]["entries"].as_u64().unwrap();
    let sum = |key: &str| -> u64 {
        idle[key].as_array().unwrap().iter().map(|one| one["sleeps"].as_u64().unwrap()).sum()
    };
    assert!(entries > 1000, "{idle:#}");
    assert_eq!((sum("woken"), sum("lengths")), (entries, entries), "{idle:#}");
    let first = &idle["woken"][0];
    assert_eq!(
        (&first["by"], &first["cause"]),
        (&"timer".into(), &"hrtimer:hrtimer_wakeup".into()),
        "{first:#}"
    );
    assert_eq!((&idle["governor"], &idle["cpus"][0]["states"][1]["name"]), (&"menu".into(), &"C1".into()));
}

/// A trace of ftrace, of a CPU that sleeps for 2 ms and 20 µs by turns, with `more` events after each sleep.
fn ftrace(path: &Path, more: &str) {
    let mut text = String::from("# tracer: nop\n");
    let mut at_us = 1_000_000;
    for number in 0..400 {
        let (state, idle_us) = if number % 2 == 0 { (3, 2000) } else { (1, 20) };
        let mut line = |at_us: u64, event: &str| {
            let (seconds, micros) = (at_us / 1_000_000, at_us % 1_000_000);
            text += &format!("          <idle>-0       [001] d..1.  {seconds}.{micros:06}: {event}\n");
        };
        line(at_us, &format!("cpu_idle: state={state} cpu_id=1"));
        line(at_us + idle_us, "cpu_idle: state=4294967295 cpu_id=1");
        if !more.is_empty() {
            line(at_us + idle_us + 1, more);
        }
        at_us += idle_us + 30;
    }
    std::fs::write(path, text).unwrap();
}

/// Without events of timers the next one lies between the wake-up and never, and so do the figures.
#[test]
fn a_trace_without_timers_has_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.txt");
    ftrace(&file, "local_timer_entry: vector=236");
    let arguments = ["--governor", "menu@6.12", "--governor", "teo@6.12", "--machine", "sapphire-rapids"];
    let json: Value = serde_json::from_str(&replay(&file, &[&arguments[..], &["--json"]].concat())).unwrap();
    let notes = json["notes"].as_array().unwrap();
    let said = |words: &str| notes.iter().any(|note| note.as_str().unwrap().contains(words));
    assert!(said("without timer:hrtimer_start, the next timer is the one that woke the CPU"), "{notes:?}");
    assert_eq!(json["assumed"]["timer"], 400);
    let menu = row(&json, "menu@6.12");
    let bounds = &menu["bounds"]["mean_latency_ns"];
    let (least, most) = (bounds["least"].as_f64().unwrap(), bounds["most"].as_f64().unwrap());
    let mean = menu["latency"]["mean_ns"].as_f64().unwrap();
    assert!(least <= mean && mean <= most && least < most, "{menu:#}");
    // The timer woke it each time: seen is the same as the earliest.
    assert_eq!(menu["agreement"]["of"], 400);
    let page = replay(&file, &arguments);
    assert!(page.contains("With the earliest and the latest timers that the trace allows"), "{page}");

    let other = folder.path().join("other.txt");
    std::fs::write(&other, "# tracer: nop\n app-7 [001] d..2. 1.000001: softirq_raise: vec=9 [action=RCU]\n")
        .unwrap();
    let refused = dyntick().arg("replay").arg(&other).args(arguments).output().unwrap();
    let error = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{error}");
    for words in ["it has no event power:cpu_idle", "dyntick record --idle --print trace-cmd"] {
        assert!(error.contains(words), "{error}");
    }
    let printed = dyntick().args(["record", "--idle", "--print", "trace-cmd"]).output().unwrap();
    assert!(text(&printed.stdout).contains("power:cpu_idle "), "{}", text(&printed.stdout));
    let nameless = dyntick().arg("replay").arg(&file).args(["--governor", "menu@6.12"]).output().unwrap();
    assert!(text(&nameless.stderr).contains("name a machine with --machine"), "{}", text(&nameless.stderr));
}

/// A limit of 20 µs excludes C6, for each variant of a sweep.
#[test]
fn a_sweep_is_replayed_under_each_limit() {
    let folder = tempfile::tempdir().unwrap();
    let (file, own) = (folder.path().join("x.dt"), folder.path().join("own.c"));
    record(&file);
    std::fs::write(&own, OWN).unwrap();
    let sweep = format!("{} -DDEEPEST=1..3", own.display());
    let json: Value =
        serde_json::from_str(&replay(&file, &["--sweep", &sweep, "--qos", "none,20us", "--json"])).unwrap();
    for deepest in 1..=3 {
        let name = format!("{} -DDEEPEST={deepest}", own.display());
        let rows: Vec<&Value> =
            json["results"].as_array().unwrap().iter().filter(|row| row["name"] == *name).collect();
        let states = |row: &Value| -> Vec<u64> {
            row["states"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect()
        };
        let only =
            |state: usize, states: &[u64]| states.iter().sum::<u64>() == states[state] && states[state] > 0;
        assert!(only(deepest, &states(rows[0])), "{:#}", rows[0]);
        assert!(only(deepest.min(2), &states(rows[1])), "{:#}", rows[1]);
    }
    let refused = dyntick().arg("replay").arg(&file).args(["--governor", "none@6.12"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("has no drivers/cpuidle/governors/none.c"),
        "{}",
        text(&refused.stderr)
    );
}

/// Always one state, or the deepest within the limit.
const OWN: &str = "
#include <linux/cpuidle.h>
static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	int state = DEEPEST;

	while (state > 0 && drv->states[state].exit_latency_ns > cpuidle_governor_latency_req(dev->cpu))
		state--;
	return state;
}
static struct cpuidle_governor own = { .name = \"own\", .select = pick };
static int __init start(void) { return cpuidle_register_governor(&own); }
postcore_initcall(start);
";
