// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick compare` on files of other tools.

use crate::harness::{dyntick, text};
use dyntick_contract::compare::Printed;
use dyntick_stats::compare::{Outcome, Verdict};
use std::fmt::Write;
use std::path::Path;
use std::process::Output;

fn compare(folder: &Path, arguments: &[&str]) -> Output {
    dyntick().arg("compare").args(arguments).current_dir(folder).output().unwrap()
}

/// Writes the output of ten hackbench runs, each to its own file.
fn hackbench(folder: &Path, seconds: impl Fn(u32) -> f64) {
    std::fs::create_dir(folder).unwrap();
    for run in 0..10 {
        std::fs::write(folder.join(format!("{run:02}")), format!("Time: {:.3}\n", seconds(run))).unwrap();
    }
}

/// Writes a histogram as cyclictest prints it, with these counts for the values from `first` µs on.
fn cyclictest(file: &Path, first: u64, counts: &[u64]) {
    let mut text = "# Histogram\n".to_owned();
    for (us, count) in (first..).zip(counts) {
        writeln!(text, "{us:06} {count:09}").unwrap();
    }
    let total: u64 = counts.iter().sum();
    let last = first + counts.len() as u64 - 1;
    write!(
        text,
        "# Total: {total:09}\n# Min Latencies: {first:05}\n# Avg Latencies: {first:05}\n# Max Latencies: {last:05}\n\
         # Histogram Overflows: 00000\n# Histogram Overflow at cycle number:\n# Thread 0:\n\n"
    )
    .unwrap();
    std::fs::write(file, text).unwrap();
}

#[test]
fn runs_in_a_folder_have_a_verdict_and_a_status() {
    let dir = tempfile::tempdir().unwrap();
    // No order in which they rise: that would be a drift.
    let order = [3, 8, 1, 9, 4, 0, 7, 2, 6, 5];
    hackbench(&dir.path().join("old"), |run| 0.250 + 0.001 * f64::from(order[run as usize]));
    hackbench(&dir.path().join("new"), |run| 0.230 + 0.001 * f64::from(order[9 - run as usize]));
    let faster = compare(dir.path(), &["old", "new"]);
    assert_eq!(faster.status.code(), Some(0), "{}", text(&faster.stderr));
    insta::assert_snapshot!(text(&faster.stdout));
    let slower = compare(dir.path(), &["base=new", "patched=old"]);
    assert_eq!(slower.status.code(), Some(1));
    assert!(text(&slower.stdout).contains("patched against base") && text(&slower.stdout).contains("worse"));
    assert_eq!(compare(dir.path(), &["new", "old", "--fail-on", "never"]).status.code(), Some(0));
    let margin = compare(dir.path(), &["new", "old", "--same-within", "20%"]);
    assert!(text(&margin.stdout).contains("the same within 20 %"), "{}", text(&margin.stdout));
    let printed: Printed =
        serde_json::from_slice(&compare(dir.path(), &["old", "new", "--json"]).stdout).unwrap();
    let Outcome::Runs(figure) = &printed.comparison.rows[0].outcome else { panic!("{printed:?}") };
    assert_eq!((figure.verdict, &printed.made_here[..]), (Verdict::Better, &[None, None][..]));
}

#[test]
fn histograms_are_compared_point_by_point() {
    let dir = tempfile::tempdir().unwrap();
    let counts = [1_000_000, 150_000_000, 60_000_000, 5_000_000, 10_000, 3, 1];
    cyclictest(&dir.path().join("old"), 2, &counts);
    cyclictest(&dir.path().join("new"), 3, &counts);
    let output = compare(dir.path(), &["old", "new", "--metric", "latency", "--above", "7us,8us"]);
    assert_eq!(output.status.code(), Some(0), "one run makes no side worse: {}", text(&output.stderr));
    assert!(text(&output.stderr).contains("old, new: cyclictest: its text does not state the unit"));
    insta::assert_snapshot!(text(&output.stdout));
    let nano = compare(dir.path(), &["old", "new", "--unit", "ns"]);
    assert!(nano.stderr.is_empty() && text(&nano.stdout).contains("ns"), "{}", text(&nano.stderr));
    let bare = compare(dir.path(), &["old", "new", "--above", "7000"]);
    assert!(text(&bare.stderr).contains("add the unit, as in 7000us"), "{}", text(&bare.stderr));
}

/// Many threads, with short and long pages.
#[test]
fn page_has_forty_lines_and_all_on_request() {
    let dir = tempfile::tempdir().unwrap();
    for (side, more) in [("old", 0), ("new", 2)] {
        std::fs::create_dir(dir.path().join(side)).unwrap();
        for run in 0..10u64 {
            let status = |thread: u64| {
                let (min, avg, max) =
                    (20 + run % 3, 40 + 20 * more + run % 4 + thread % 5, 90 + run * 7 % 10);
                format!(
                    "T:{thread:2} ( 4915) P:95 I:1000 C: 600000 Min:{min:7} Act:   65 Avg:{avg:5} Max:{max:8}\n"
                )
            };
            let lines: String = (0..30).map(status).collect();
            std::fs::write(dir.path().join(side).join(format!("run-{run}")), lines).unwrap();
        }
    }
    let page = compare(dir.path(), &["old", "new"]);
    assert_eq!(page.status.code(), Some(1), "{}", text(&page.stderr));
    let page = text(&page.stdout);
    assert!(page.contains("new is slower than old: cyclictest/T*/avg, all 30 threads,"), "{page}");
    assert!(page.contains("3 figures compared: 1 worse"), "{page}");
    assert!(page.lines().count() <= 40, "{page}");
    let full = compare(dir.path(), &["old", "new", "--full"]);
    assert!(text(&full.stdout).lines().any(|line| line.starts_with("T29 ")), "{}", text(&full.stdout));
}

#[test]
fn any_program_is_compared_by_a_pattern() {
    let dir = tempfile::tempdir().unwrap();
    let log = |name: &str, tps: &[u32]| {
        let lines: String = tps.iter().map(|tps| format!("tps = {tps} (all)\n")).collect();
        std::fs::write(dir.path().join(name), lines).unwrap();
    };
    log("old", &[812, 815, 809, 820, 811, 817]);
    log("new", &[912, 915, 909, 920, 911, 917]);
    let refused = compare(dir.path(), &["old", "new"]);
    assert!(text(&refused.stderr).contains("--pattern"), "{}", text(&refused.stderr));
    let by = ["old", "new", "--pattern", "tps=tps = ([0-9.]+)", "--unit", "1/s", "--better", "higher"];
    let output = compare(dir.path(), &by);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("new is faster than old: tps by +12"), "{}", text(&output.stdout));
}

/// hyperfine's export of commands, each with this mean.
fn hyperfine(file: &Path, commands: &[(&str, f64)]) {
    let result = |(command, mean): &(&str, f64)| {
        let times = (0..8).map(|run| (mean + 0.01 * f64::from(run * 5 % 8)).to_string()).collect::<Vec<_>>();
        format!("{{\"command\": \"{command}\", \"times\": [{}]}}", times.join(", "))
    };
    let results: Vec<String> = commands.iter().map(result).collect();
    std::fs::write(file, format!("{{\"results\": [{}]}}", results.join(", "))).unwrap();
}

#[test]
fn benchmarks_of_a_file_are_sides() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    hyperfine(&path("both"), &[("grep x", 1.0), ("rg x", 0.5)]);
    hyperfine(&path("one"), &[("grep x", 1.0)]);
    hyperfine(&path("other"), &[("grep -F x", 0.8)]);
    let says = |sides: &[&str], words: &str| {
        let output = compare(dir.path(), sides);
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(printed.contains(words), "{sides:?}: {printed}");
    };
    says(&["both"], "rg x is faster than grep x: hyperfine/time by -48.");
    says(&["both#2", "both#grep"], "both#grep is slower than both#2");
    says(&["one", "other"], "compared by their positions: grep x of one; grep -F x of other");
    says(&["one", "other"], "other is faster than one");
    says(&["one"], "one side is not enough");
    says(&["both#3", "one"], "it has no benchmark 3; it has grep x, rg x");
    says(&["both#x", "one"], "several of its benchmarks are like x");
}

#[test]
fn what_cannot_be_compared_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "Time: 0.25\n").unwrap();
    std::fs::write(dir.path().join("letter"), "Dear friend\n").unwrap();
    cyclictest(&dir.path().join("c"), 2, &[5, 7]);
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    for (sides, words) in [
        (["a", "letter"], "letter"),
        (["a", "nothing"], "nothing"),
        (["a", "empty"], "it has no output of a known tool"),
        (["a", "c"], "no metric in common: a has hackbench/time; c has cyclictest/T0/"),
    ] {
        let output = compare(dir.path(), &sides);
        assert_eq!(output.status.code(), Some(2), "{sides:?}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
    assert_eq!(compare(dir.path(), &["a"]).status.code(), Some(2), "one side is none");
}
