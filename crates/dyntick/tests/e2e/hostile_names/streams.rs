// SPDX-License-Identifier: GPL-2.0-only
//! Standard streams that are full, closed, or whose reader has left.

use super::*;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// Has the program start without these descriptors.
fn closed<'a>(command: &'a mut Command, numbers: &'static [i32]) -> &'a mut Command {
    // SAFETY: system calls between fork and exec; nothing else of this child uses the numbers.
    unsafe {
        command.pre_exec(move || {
            for number in numbers {
                libc::close(*number);
            }
            Ok(())
        })
    }
}

/// Verbs, each with the status that it has where all can be written.
fn verbs(file: &str) -> Vec<(Vec<String>, i32)> {
    let cpu = cpu();
    let verbs = [
        ("nonsense".to_owned(), 2),
        ("--help".to_owned(), 0),
        ("check --fail-on never".to_owned(), 0),
        (format!("check --fail-on never --bundle {file}"), 0),
        (format!("check --fail-on never --from {file}"), 0),
        ("explain /no/such/file".to_owned(), 2),
        (format!("stat -C {cpu} -- false"), 1),
        (format!("stat -C {cpu} --json -- false"), 1),
        (format!("stat -C {cpu} -I 50 -- false"), 1),
        (format!("stat -C {cpu} --json --timeout 50"), 0),
        (format!("top -C {cpu} -b -n 1 -d 0.1"), 0),
        (format!("latency -a {cpu} -q -l 20"), 0),
        (format!("isolate -C {cpu} --dry-run"), 0),
        ("lab report /no/such/study".to_owned(), 2),
        ("lab machines".to_owned(), 0),
    ];
    verbs.map(|(line, status)| (line.split(' ').map(str::to_owned).collect(), status)).into()
}

fn assert_status(words: &[String], status: ExitStatus, wanted: i32) {
    assert_eq!(status.code(), Some(wanted), "{words:?}: {status}");
}

#[test]
fn a_standard_error_that_cannot_be_written_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bundle");
    for (words, wanted) in verbs(file.to_str().unwrap()) {
        if words[0] == "isolate" && cpu() == "0" {
            continue;
        }
        let quiet = |command: &mut Command| command.args(&words).stdout(Stdio::null()).status().unwrap();
        assert_status(&words, quiet(dyntick().stderr(full())), wanted);
        assert_status(&words, quiet(closed(&mut dyntick(), &[2])), wanted);
    }
}

#[test]
fn the_status_of_a_recorded_command_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.dt");
    if let Err(why) = record(&file) {
        return println!("skipped: {why}");
    }
    for (verb, status) in [("record", 1), ("explain", 1)] {
        let words: Vec<String> = match verb {
            "record" => vec!["record".into(), "-o".into(), file.display().to_string()],
            _ => vec!["explain".into()],
        };
        let words: Vec<String> =
            words.into_iter().chain(["-C", cpu(), "--", "false"].map(str::to_owned)).collect();
        let mut command = dyntick();
        let ended = command.args(&words).stdout(Stdio::null()).stderr(full()).status().unwrap();
        assert_status(&words, ended, status);
        let mut command = dyntick();
        // Files that are opened now must not be taken for the standard streams.
        let ended = closed(command.args(&words), &[0, 1, 2]).status().unwrap();
        assert_status(&words, ended, status);
        let explained = run(&["explain", file.to_str().unwrap()]);
        assert!(explained.status.success(), "nothing was written into the record: {explained:?}");
    }
}

/// Another process may isolate CPUs at this moment. The command then fails with status 2, and is tried again.
#[test]
fn an_isolated_command_runs() {
    if cpu() == "0" {
        return println!("skipped: one CPU cannot be isolated");
    }
    let _alone = alone();
    let begin = Instant::now();
    for way in ["full", "closed"] {
        loop {
            let mut command = dyntick();
            command.args(["isolate", "-C", cpu(), "--", "sh", "-c", "echo it ran; exit 5"]);
            let output = match way {
                "full" => command.stderr(full()).stdout(Stdio::piped()).spawn(),
                _ => closed(&mut command, &[2]).stdout(Stdio::piped()).spawn(),
            };
            let output = output.unwrap().wait_with_output().unwrap();
            if output.status.code() == Some(2) && begin.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(200));
                continue;
            }
            assert_eq!(output.status.code(), Some(5), "standard error {way}: {output:?}");
            assert_eq!(text(&output.stdout), "it ran\n");
            break;
        }
    }
}

#[test]
fn a_full_standard_output_is_an_error_and_no_abort() {
    for words in [
        &["--help"][..],
        &["check", "--fail-on", "never"],
        &["check", "--json", "--fail-on", "never"],
        &["stat", "-C", cpu(), "--json", "--timeout", "50"],
        &["top", "-C", cpu(), "-b", "-n", "1", "-d", "0.1"],
        &["latency", "-a", cpu(), "-q", "-l", "20"],
        &["lab", "machines"],
    ] {
        let output = dyntick().args(words).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        assert!(text(&output.stderr).contains("standard output"), "{words:?}: {output:?}");
    }
}

/// As in `dyntick top -b | head -1`: the end comes in order, so that what was begun is taken back.
#[test]
fn a_reader_may_leave() {
    let mut command = dyntick();
    command.args(["top", "-C", cpu(), "-b", "-d", "0.1"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("Linux"), "{first}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141), "{output:?}");
    assert_eq!(text(&output.stderr), "", "nobody is told");
}
