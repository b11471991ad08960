// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick latency` beside the real cyclictest on this machine: what both print has the same shape.

use dyntick_formats::cyclictest;
use std::process::{Command, Output, Stdio};

fn dyntick(words: &[&str]) -> Output {
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    Command::new(binary).arg("latency").args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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

/// What cyclictest prints, if this user may run it.
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
            skeleton(&lines.join("\n"))
        };
        assert_eq!(shape(&ours), shape(&theirs));
        let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&ours).unwrap()).unwrap();
        let thread = &value["thread"]["0"];
        if let Some(histogram) = thread["histogram"].as_object().filter(|histogram| !histogram.is_empty()) {
            let total: u64 = histogram.values().map(|count| count.as_u64().unwrap()).sum();
            assert_eq!(total, thread["cycles"].as_u64().unwrap(), "each latency is in the histogram");
        }
    }
}

#[test]
fn ctrl_c_prints_the_summary_and_usr1_the_figures_so_far() {
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    let mut command = Command::new(binary);
    command.args(["latency", "-q", "-i", "10000000"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let task = format!("/proc/{}/task", child.id());
    while std::fs::read_dir(&task).unwrap().count() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    for signal in ["-USR1", "-INT"] {
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        std::thread::sleep(std::time::Duration::from_millis(100));
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
fn what_is_not_supported_is_refused_by_name() {
    for (words, told) in
        [(&["-F", "/tmp/x"][..], "--fifo=/tmp/x is not supported"), (&["-a", "8000"], "CPU 8000")]
    {
        let output = dyntick(words);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(told), "{}", text(&output.stderr));
    }
}
