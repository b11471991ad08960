// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick explain --of`: what interrupted a thread that goes from CPU to CPU, on this machine. `DYNTICK` names the
//! binary under test.

use crate::harness::dyntick;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// A shell that is busy on one CPU after the other, and waits in between; it has a name that nothing else has but what
/// it starts, and writes its number into a file.
const SCRIPT: &str = "echo $$ > $0; printf wanderer > /proc/$$/comm
    for turn in 1 2 3; do for cpu in 0 1; do
        taskset -p -c $cpu $$ > /dev/null; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.01
    done; done";

fn record(file: &Path) -> Output {
    let mut command = dyntick();
    command
        .args(["record", "-C", "0-1", "-o"])
        .arg(file)
        .args(["--", "sh", "-c", SCRIPT])
        .arg(file.with_extension("pid"));
    command.output().unwrap()
}

fn explain(file: &Path, more: &[&str]) -> Output {
    dyntick().args(["explain", "--json"]).args(more).arg(file).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_thread_is_followed_over_the_cpus() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.dt");
    let recorded = record(&file);
    let said = String::from_utf8_lossy(&recorded.stderr);
    if !recorded.status.success() {
        assert!(said.contains("recording needs root") || said.contains("not online"), "{said}");
        eprintln!("skipped: {said}");
        return;
    }
    let complete = json(&explain(&file, &[]));
    let pid = std::fs::read_to_string(file.with_extension("pid")).unwrap();
    let own = json(&explain(&file, &["--of", pid.trim()]));
    assert_eq!(own["cpus"].as_array().unwrap().len(), 0);
    assert!(complete.get("threads").is_none());
    let threads = &own["threads"];
    assert_eq!((&threads["threads"], &threads["cpus"]), (&1.into(), &"0-1".into()));
    let number = |value: &Value| value.as_u64().unwrap();
    let causes = threads["causes"].as_array().unwrap();
    assert!(!causes.is_empty());
    assert_eq!(
        causes.iter().map(|cause| number(&cause["interruptions"])).sum::<u64>(),
        number(&threads["interruptions"])
    );
    // What it has is a part of what the CPUs have, cause by cause.
    let of_cpus = |name: &Value| -> u64 {
        let all = complete["cpus"].as_array().unwrap().iter();
        let causes = all.flat_map(|cpu| cpu["causes"].as_array().unwrap());
        causes.filter(|cause| cause["cause"] == *name).map(|cause| number(&cause["count"])).sum()
    };
    for cause in causes {
        assert!(number(&cause["count"]) <= of_cpus(&cause["cause"]), "{cause}");
    }
    // It had one CPU at a time.
    let ns = (own["seconds"].as_f64().unwrap() * 1e9) as u64;
    assert!(number(&threads["ran_ns"]) > 0 && number(&threads["ran_ns"]) <= ns, "{threads}");
    let named = json(&explain(&file, &["--of", "wanderer"]));
    // Most of its time: before it named itself it was called otherwise. Its children inherit the name for a moment.
    let ran_ns = |of: &Value| number(&of["threads"]["ran_ns"]);
    assert!(ran_ns(&named) * 2 > ran_ns(&own), "{named}");
    let html = folder.path().join("x.html");
    assert!(explain(&file, &["--of", "wanderer", "--html", html.to_str().unwrap()]).status.success());
    assert!(std::fs::read_to_string(html).unwrap().contains("What interrupted wanderer"));
}

#[test]
fn who_was_not_there_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.dt");
    if record(&file).status.success() {
        let output = explain(&file, &["--of", "no-such-command"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2));
        assert!(said.contains("no-such-command was not seen to run on CPU 0-1"), "{said}");
    }
    assert!(!explain(&file, &["--of", "0"]).status.success());
}
