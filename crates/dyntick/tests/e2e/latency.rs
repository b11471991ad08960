// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick latency` beside the real cyclictest on this machine: what both print has the same shape.

use crate::harness::hog::hog;
use crate::harness::{self, in_guest, is_full, schema, text, tools};
use dyntick_formats::cyclictest;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

fn command(words: &[&str]) -> Command {
    let mut command = harness::dyntick();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn dyntick(words: &[&str]) -> Output {
    command(&[&["latency"], words].concat()).output().unwrap()
}

/// Each number with the blanks before it as one mark, and of lines that then are the same one.
fn skeleton(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(|line| masked(line, false)).collect();
    lines.dedup();
    lines
}

/// With marks of their own length, so that columns are compared too.
fn masked(line: &str, width: bool) -> String {
    let mut masked = String::new();
    let mut blanks = 0;
    let mut in_number = false;
    for letter in line.chars() {
        match letter {
            ' ' => (blanks, in_number) = (blanks + 1, false),
            digit if digit.is_ascii_digit() => {
                let marks = if width { blanks + 1 } else { usize::from(!in_number) };
                masked.extend(std::iter::repeat_n('#', marks));
                (blanks, in_number) = (0, true);
            }
            other => {
                masked.extend(std::iter::repeat_n(' ', blanks).chain([other]));
                (blanks, in_number) = (0, false);
            }
        }
    }
    masked.extend(std::iter::repeat_n(' ', blanks));
    masked
}

/// The output of cyclictest, if this user may run it.
fn original(words: &[&str]) -> Option<Output> {
    let output =
        Command::new("cyclictest").args(words).output().expect("cyclictest is installed by scripts/setup");
    let may = output.status.success() || text(&output.stderr).contains("not supported");
    if !may {
        eprintln!("skipped: {}", text(&output.stderr));
    }
    may.then_some(output)
}

#[test]
fn the_output_has_the_shape_of_cyclictests() {
    let lines = [
        "-q -l 40 -p 95",
        "-q -l 40 -p 95 -N -t 2",
        "-q -l 40 -p 95 -t 2 -d 0 -i 2000",
        "-q -l 40 -p 95 -h 4 -t 2",
        "-q -l 40 -p 95 -H 4 -t 2 -N",
        "-q -l 40 -p 95 -H 4",
        "-q -l 40 -p 95 -h 500000",
        "-a 0 -v -l 40 -p 95 -t 2 -d 0",
        "-v -l 40 -p 95 -o 4",
        "-q -v -l 40",
        "-q -l 40 -p 95 -b 1 -N --tracemark",
        "-q -l 40 -p 95 --spike=1",
        "-q -l 40 --policy=rr",
        "-q -l 40 -p 7 -x -r",
    ];
    for line in lines {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(theirs) = original(&words) else { return };
        let ours = dyntick(&words);
        assert!(ours.status.success(), "{line}: {}", text(&ours.stderr));
        let (ours, theirs) = (text(&ours.stdout), text(&theirs.stdout));
        // With -x -r cyclictest prints negative latencies, and a mean of -2⁶³, if it was late itself.
        if theirs.contains(":-") || theirs.contains(": -") {
            eprintln!("not compared, {line}: {theirs}");
            continue;
        }
        assert_eq!(skeleton(&ours), skeleton(&theirs), "{line}\n{ours}\n{theirs}");
        let columns = |text: &str| -> Vec<String> {
            text.lines().filter(|line| line.starts_with(['T', '0'])).map(|line| masked(line, true)).collect()
        };
        if !line.contains("--spike") {
            assert_eq!(columns(&ours), columns(&theirs), "{line}");
        }
        if !line.contains("-v") {
            cyclictest::parse(&ours).unwrap_or_else(|error| panic!("{line}: {error}\n{ours}"));
        }
    }
}

#[test]
fn without_quiet_the_last_block_is_cyclictests() {
    let words = ["-l", "40", "-p", "95", "-t", "2"];
    let Some(theirs) = original(&words) else { return };
    let theirs = text(&theirs.stdout);
    let last = &theirs[theirs.rfind("policy:").unwrap()..];
    let ours = text(&dyntick(&words).stdout);
    assert!(!ours.contains('\u{1b}'), "no codes for a terminal into a pipe: {ours}");
    assert_eq!(skeleton(&ours[ours.find("policy:").unwrap()..]), skeleton(last));
    assert_eq!(cyclictest::parse(&ours).unwrap()[&0].cycles, 40);
}

#[test]
fn the_json_file_has_its_lines_and_keys() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, theirs] = ["ours", "theirs"].map(|name| folder.path().join(name));
    for words in ["-q -l 60 -p 95 -h 1000000 -N -t 2 --json", "-q -l 20 -p 95 --json"] {
        let words: Vec<&str> = words.split_ascii_whitespace().collect();
        let with = |path: &std::path::Path| [&words[..], &[path.to_str().unwrap()]].concat().join(" ");
        if original(&with(&theirs).split(' ').collect::<Vec<_>>()).is_none() {
            return;
        }
        assert!(dyntick(&with(&ours).split(' ').collect::<Vec<_>>()).status.success());
        let shape = |path| {
            let text = std::fs::read_to_string(path).unwrap();
            let lines = text.lines().filter(|line| !line.contains("\"cmdline:\"")).collect::<Vec<_>>();
            assert_eq!(text.lines().count(), lines.len() + 1);
            // Of a thread without a CPU of its own rt-tests 2.4 says 0, as we do, and 2.6 says -1.
            skeleton(&lines.join("\n").replace("\"cpu\": -1", "\"cpu\": 0"))
        };
        assert_eq!(shape(&ours), shape(&theirs));
        let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&ours).unwrap()).unwrap();
        schema::assert_valid("dyntick-latency", &value);
        let thread = &value["thread"]["0"];
        if let Some(histogram) = thread["histogram"].as_object().filter(|histogram| !histogram.is_empty()) {
            let total: u64 = histogram.values().map(|count| count.as_u64().unwrap()).sum();
            // But for those beyond its end of 1 ms, which a busy host may cause.
            let [cycles, most] = ["cycles", "max"].map(|key| thread[key].as_u64().unwrap());
            assert!(total == cycles || most >= 1_000_000 && total < cycles, "{thread}");
        }
    }
}

#[test]
fn ctrl_c_prints_the_summary_and_usr1_the_figures_so_far() {
    let mut child = command(&["latency", "-q", "-i", "10000000"]).spawn().unwrap();
    let task = format!("/proc/{}/task", child.id());
    while std::fs::read_dir(&task).unwrap().count() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    for signal in ["-USR1", "-INT"] {
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(100));
    }
    let status = child.wait().unwrap();
    assert!(status.success());
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("T: 0 ("), "{}", text(&output.stdout));
    assert!(
        text(&output.stderr).contains("# cyclictest current status:\nT: 0 ("),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_late_wake_up_is_explained() {
    if !std::fs::exists("/sys/kernel/tracing/instances").unwrap_or(false) {
        return eprintln!("skipped: no tracing on this machine");
    }
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("json");
    let end = AtomicBool::new(false);
    // In full each cause is explained, also where another one was the worst.
    let line = "latency -q -a 0 -p 50 -l 400 --why 300 --why-max 8 --full --json";
    let words: Vec<&str> = line.split(' ').chain([json.to_str().unwrap()]).collect();
    let output = std::thread::scope(|scope| {
        let hog = scope.spawn(|| hog(0, &end));
        let child = command(&words).spawn().unwrap();
        let instance = format!("/sys/kernel/tracing/instances/dyntick-{}-0", child.id());
        let output = child.wait_with_output().unwrap();
        assert!(!std::fs::exists(instance).unwrap(), "no trace instance is left");
        end.store(true, Relaxed);
        hog.join().unwrap().then_some(output)
    });
    let Some(output) = output else { return eprintln!("skipped: no real-time priority for this user") };
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    schema::assert_valid("dyntick-latency", &json);
    let stories: Vec<&serde_json::Value> =
        json["late"].as_array().unwrap().iter().filter(|late| !late["story"].is_null()).collect();
    for late in &stories {
        let sum: u64 =
            late["story"]["steps"].as_array().unwrap().iter().map(|s| s["ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, late["latency_ns"].as_u64().unwrap(), "the steps fill the latency");
    }
    let first = |late: &serde_json::Value| late["story"]["causes"][0]["cause"].as_str().unwrap().to_owned();
    let named = stories.iter().filter(|late| first(late) == "other-task:the-hog").count();
    // A machine that is busy otherwise has late wake-ups of other causes too.
    assert!(named > 0, "{printed}");
    assert!(printed.contains("the-hog") && printed.contains("has priority 99, the thread 50"), "{printed}");
    // Readers of cyclictest's output take all of it for comments.
    cyclictest::parse(&printed).unwrap();
}

/// In virtual time on a real kernel: the same twice to the byte, as good as cyclictest, and a late wake-up of a
/// known cause.
#[test]
fn in_a_guest_it_repeats_and_measures_what_cyclictest_does() {
    const SCRIPT: &str = "
        L='-q -t 1 -a 1 -p 95 -i 1000 -l 1000 -N'
        dyntick latency $L -h 100
        for round in 1 2 3; do dyntick latency $L; cyclictest $L -m --mainaffinity 0; done
        chrt -f 99 taskset -c 1 busybox sh -c \"i=0; while :; do i=\\$((i+1)); [ \\$((i % 2000)) = 0 ] && busybox usleep 7300; done\" &
        busybox sleep 0.3
        dyntick latency -q -a 1 -p 95 -l 30 --why 100 --why-max 1";
    let options =
        [&["--append", "isolcpus=domain,1"][..], &tools(&["cyclictest", "chrt", "taskset"])].concat();
    let guest = || in_guest(&options, &["busybox", "sh", "-c", SCRIPT]);
    let printed = guest();
    if is_full() {
        assert_eq!(printed, guest(), "every byte");
    }
    let averages: Vec<i64> = printed
        .lines()
        .filter_map(|line| line.split_once("Avg:")?.1.split_ascii_whitespace().next()?.parse().ok())
        .collect();
    // By turns: what the guest does beside in one second, it need not do in the next.
    let least = |first: usize| averages[first..6].iter().step_by(2).min().unwrap();
    eprintln!("least average in instructions: dyntick {}, cyclictest {}", least(0), least(1));
    assert!((least(0) - least(1)).abs() < 300, "{printed}");
    let why = printed.split("By cause:").nth(1).unwrap_or_else(|| panic!("{printed}"));
    let first = why.lines().nth(1).unwrap();
    assert!(first.contains("Another task ran on the CPU: busybox"), "{printed}");
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    for (words, told) in
        [(&["-F", "/tmp/x"][..], "--fifo=/tmp/x is not supported"), (&["-a", "8000"], "CPU 8000")]
    {
        let output = dyntick(words);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(told), "{}", text(&output.stderr));
    }
}
