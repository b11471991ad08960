// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick stat` on where the time of a command's threads went: in guests, against the kernel's own counts and against
//! the ledger of `dyntick explain` for the same command.

use crate::harness::{documents, is_full, trials_program};
use serde_json::Value;
use std::collections::BTreeMap;

/// `timeout` is not in the group with the quota: cpu.stat has the throttled time of each of its queues, and that one
/// would be on another CPU.
const BEFORE: &str = r#"
busybox --install -s /bin; mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
echo +cpu > /sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/pod
echo '20000 100000' > /sys/fs/cgroup/pod/cpu.max
ln -s TRIALS /tmp/rival
of() { name=$1; shift; echo; echo "@$name"; rm -f /tmp/o; "$@" >/dev/null 2>&1; cat /tmp/o; }
stat() { name=$1; shift; of $name dyntick stat -C 1 --json -o /tmp/o "$@"; }
explain() { name=$1; shift; of $name dyntick explain -C 1 --json -o /tmp/o -- "$@"; }
busy="taskset 2 sh -c 'exec yes > /dev/null'"
loop="taskset 2 TRIALS spin"
limited="echo \$\$ > /sys/fs/cgroup/pod/cgroup.procs; exec $busy"
stopped='taskset 2 yes > /dev/null & sleep 0.2; kill -STOP $!; sleep 0.2; kill -CONT $!; sleep 0.2; kill $!'
"#;

const SCRIPT: &str = r#"
stat quota -- timeout 1 sh -c "$limited"
stat stopped -- sh -c "$stopped"
flock /tmp/lock sh -c 'while [ ! -e /tmp/go ]; do sleep 0.01; done; sleep 0.2' & sleep 0.1
stat file-lock -- sh -c '> /tmp/go; exec flock /tmp/lock true'
mkdir /sys/fs/cgroup/ice; (until [ "$(cat /sys/fs/cgroup/ice/cgroup.procs)" ]; do usleep 1000; done; usleep 50000
echo 1 > /sys/fs/cgroup/ice/cgroup.freeze; sleep 0.2
echo 0 > /sys/fs/cgroup/ice/cgroup.freeze) &
stat frozen -- sh -c 'echo $$ > /sys/fs/cgroup/ice/cgroup.procs; exec timeout 0.4 TRIALS spin'
taskset 2 /tmp/rival spin & rival=$!; sleep 0.1
stat rival -- sh -c "timeout 0.5 $loop"
stat rival-quota -- timeout 1 sh -c "$limited"
stat process -p $rival --timeout 300
"#;

/// The same by other ways to say what is counted.
const WIDER: &str = r#"
stat tracefs --source tracefs -- true
stat ticks -e ticks -- true
stat repeated -r 3 -- sleep 0.1
stat exec -- TRIALS exec sleep 0.2
sleep 100 & stat sleeper -p $! --timeout 300; kill $!
dyntick stat -C 1 --json -o /tmp/o -I 100 --timeout 350 -p $rival
number=0; while read -r line; do number=$((number+1)); echo; echo "@interval$number"; echo "$line"; done < /tmp/o
"#;

const EXPLAINED: &str = "explain rival-explained sh -c \"timeout 0.5 $loop\"\n";

const LIMITED: &str = "kill $rival; stat limited -- timeout 2 taskset 2 chrt -f 50 TRIALS spin\n";

fn parts(document: &Value) -> &Vec<Value> {
    document["command_time"]["parts"].as_array().unwrap_or_else(|| panic!("no command_time: {document:#}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The sum of the parts of this name in ms, by a task if one is given.
fn ms(document: &Value, name: &str, by: Option<&str>) -> f64 {
    let of_task = |part: &&Value| by.is_none_or(|by| part["by"] == by);
    let parts = parts(document).iter().filter(|part| part["part"] == name).filter(of_task);
    parts.map(|part| number(&part["ns"])).sum::<u64>() as f64 / 1e6
}

/// The same of the ledger of `explain`, by title if a task is given.
fn explained_ms(document: &Value, name: &str, by: &str) -> f64 {
    let parts = document["ledger"]["parts"].as_array().unwrap();
    let named = |part: &&Value| part["part"] == name && part["title"].as_str().unwrap().contains(by);
    parts.iter().filter(named).filter_map(|part| part["ns"].as_u64()).sum::<u64>() as f64 / 1e6
}

/// Each nanosecond of the threads' lives is in one part.
fn adds_up(name: &str, document: &Value) {
    let time = &document["command_time"];
    let sum = |of: fn(&Value) -> bool| -> u64 {
        parts(document).iter().filter(|part| of(part)).map(|part| number(&part["ns"])).sum()
    };
    assert_eq!(sum(|_| true), number(&time["lived_ns"]), "{name}: {time:#}");
    assert_eq!(sum(|part| part["lost"] == true), number(&time["lost_ns"]), "{name}: {time:#}");
    assert_eq!(sum(|part| part["part"] != "slept"), number(&time["awake_ns"]), "{name}: {time:#}");
    for part in parts(document) {
        let (ns, longest, count) = (number(&part["ns"]), number(&part["longest_ns"]), number(&part["count"]));
        assert!(0 < longest && longest <= ns && ns <= longest.saturating_mul(count), "{name}: {part:#}");
    }
    assert_eq!((&time["more_threads"], &time["lost_events"]), (&0.into(), &0.into()), "{name}: {time:#}");
}

fn near(ours: f64, theirs: f64, share: f64, of: &str) {
    eprintln!("{of}: {ours} ms and {theirs} ms");
    assert!((ours / theirs - 1.0).abs() < share, "{of}: {ours} and {theirs}");
}

fn time_is_accounted_for(kernel: &str, explained: &str) -> BTreeMap<String, Value> {
    let trials = trials_program();
    let wider = if is_full() { WIDER } else { "" };
    let script = [BEFORE, SCRIPT, wider, explained, "kill $rival 2>/dev/null; echo; echo @"].concat();
    let script = script.replace("TRIALS", &trials);
    let documents =
        documents::printed_with(&["chrt", "flock", &trials], kernel, "isolcpus=domain,1", &script);
    let untimed = ["tracefs", "ticks"];
    for (name, document) in documents.iter().filter(|(_, document)| document["format"] == "dyntick-stat") {
        if !untimed.contains(&name.as_str()) {
            adds_up(name, document);
        }
    }

    let quota = &documents["quota"];
    let throttled = ms(quota, "quota", None);
    let kernels = &quota["command_time"]["quotas"][0];
    assert_eq!(kernels["group"], "pod", "{quota:#}");
    near(throttled, number(&kernels["throttled_ns"]) as f64 / 1e6, 0.05, "throttled, and by cpu.stat");
    let largest = &parts(quota)[0];
    assert_eq!((&largest["part"], &largest["after"]), (&"quota".into(), &"preemption".into()), "{largest:#}");
    assert_eq!(largest["fixes"][0], "echo max > /sys/fs/cgroup/pod/cpu.max");
    assert!(largest["title"].as_str().unwrap().contains("20000 µs in 100000 µs"), "{largest:#}");

    // Its move into the group waits for a grace period of RCU.
    assert!(ms(quota, "blocked", None) > 1.0, "{quota:#}");
    near(ms(&documents["stopped"], "stopped", None), 200.0, 0.05, "stopped by SIGSTOP");

    // Neither is a sleep by its own will, here as in explain. The lock is held for 200 ms more.
    let locked = ms(&documents["file-lock"], "blocked", None);
    assert!((150.0..250.0).contains(&locked), "{:#}", documents["file-lock"]);
    let frozen = ms(&documents["frozen"], "blocked", None);
    assert!(frozen > 150.0, "{:#}", documents["frozen"]);

    let beside = &documents["rival-quota"];
    let kernels = number(&beside["command_time"]["quotas"][0]["throttled_ns"]) as f64 / 1e6;
    near(ms(beside, "quota", None), kernels, 0.05, "throttled beside a busy task, and by cpu.stat");
    assert!(
        parts(beside)[0]["part"] == "quota" && ms(beside, "preempted", Some("rival")) > 0.0,
        "{beside:#}"
    );

    let rival = &documents["rival"];
    assert!(ms(rival, "preempted", Some("rival")) > 150.0, "{rival:#}");
    assert!(ms(rival, "quota", None) == 0.0 && rival["command_time"]["quotas"] == Value::Array(vec![]));

    one_thing(&documents["process"], "ran");
    if is_full() {
        so_is_what_is_said_otherwise(&documents);
    }
    documents
}

fn so_is_what_is_said_otherwise(documents: &BTreeMap<String, Value>) {
    let tracefs = &documents["tracefs"];
    assert!(tracefs["command_time"].is_null(), "{tracefs:#}");
    let missing = tracefs["missing"].as_array().unwrap();
    assert!(missing.iter().any(|missing| missing["what"] == "where the command's time went"), "{tracefs:#}");
    assert!(documents["ticks"]["command_time"].is_null(), "no switches are counted");

    let repeated = &documents["repeated"];
    assert_eq!(repeated["command_time"]["threads"], 3, "{repeated:#}");
    near(ms(repeated, "slept", None), 300.0, 0.05, "three sleeps");

    // A thread executes it, which takes the number of the first one, and so counts twice.
    let exec = &documents["exec"];
    assert_eq!(exec["command_time"]["threads"], 3, "{exec:#}");
    near(ms(exec, "slept", None), 200.0, 0.05, "the sleep of a program that a thread executed");

    one_thing(&documents["sleeper"], "slept");
    (1..=4).for_each(|number| one_thing(&documents[&format!("interval{number}")], "ran"));
}

/// A thread that did one thing before the begin and until the end, but for threads of the kernel.
fn one_thing(document: &Value, doing: &str) {
    let (time, measured) = (&document["command_time"], number(&document["measured_ns"]) as f64 / 1e6);
    assert_eq!(time["threads"], 1, "{document:#}");
    let lived = number(&time["lived_ns"]) as f64 / 1e6;
    // The counters of CPUs are read before and after, which takes some ms here.
    assert!((lived - measured).abs() < 25.0, "a life of {lived} ms in {measured} ms: {document:#}");
    near(ms(document, doing, None), lived, 0.05, "what it did, and its life");
}

#[test]
fn time_is_accounted_for_on_6_12_as_by_explain() {
    let documents = time_is_accounted_for("debian:6.12", EXPLAINED);
    let had = explained_ms(&documents["rival-explained"], "preempted", "rival");
    near(
        ms(&documents["rival"], "preempted", Some("rival")),
        had,
        0.05,
        "another task had the CPU, and by explain",
    );
}

#[test]
fn time_is_accounted_for_on_6_1() {
    if !is_full() {
        // Its verifier refuses programs that later ones accept.
        let script = BEFORE.to_owned() + "stat short -- true; echo; echo @";
        return adds_up("short", &documents::printed_with(&[], "debian:6.1", "", &script)["short"]);
    }
    let documents = time_is_accounted_for("debian:6.1", LIMITED);
    // 50 ms of each second. From 6.12 on tasks of other classes have a server of their own instead.
    let limited = ms(&documents["limited"], "real-time-limit", None);
    assert!((40.0..160.0).contains(&limited), "{:#}", documents["limited"]);
}
