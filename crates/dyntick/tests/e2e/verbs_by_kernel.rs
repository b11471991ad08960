// SPDX-License-Identifier: GPL-2.0-only
//! The live verbs on older and newer kernels, in guests: each works, and says what its kernel lacks. The table of the
//! book (`docs/src/kernel-support.md`) is made from these runs; `INSTA_UPDATE=always` writes it anew.
//!
//! `DYNTICK` names the binary under test, as in `lab.rs`.

use crate::harness::{documents, is_full};
use serde_json::Value;
use std::collections::BTreeMap;

/// The kernels of the table, of which every test run has the oldest: other tests run the verbs on the others. The
/// newest that Debian has changes: `make test-kernels`.
const KERNELS: [&str; 3] = ["debian:5.10", "debian:6.1", "debian:6.12"];
const NEWEST: &str = "debian:sid";

/// CPU 1 has one task, which runs, sleeps and faults. Each document ends with a line of its own.
const SCRIPT: &str = "
    busybox --install -s /bin
    cd /tmp
    busy='taskset 2 sh -c \"i=0; while [ \\$i -lt 5000 ]; do i=\\$((i+1)); done; sleep 0.1\"'
    print() { echo @$1; cat $1; echo; }
    dyntick check --json --fail-on never > check 2>/dev/null; print check
    eval dyntick stat -C 1 --source bpf --json -o stat -- $busy; print stat
    eval dyntick stat -C 1 --source tracefs --json -o traced -- $busy; print traced
    dyntick top -b -n 1 -d 0.3 --json > top; print top
    eval dyntick record -C 1 -o record -- $busy 2>/dev/null
    dyntick explain --json record > explain; print explain
    dyntick explain --json --of sh record > of; print of
    eval dyntick explain -C 1 --stacks --json -o stacks -- $busy 2>/dev/null; print stacks
    eval dyntick record -C 1 --last 60s -o ring -- $busy 2>/dev/null
    dyntick explain --json ring > last; print last
    dyntick latency -a1 -t1 -l 50 -i1000 -q --json=latency > /dev/null; print latency
    eval dyntick isolate -C 1 --json -o isolate -- $busy 2>/dev/null; print isolate
    echo @";

/// The output of each verb, by name.
fn printed(kernel: &str) -> BTreeMap<String, Value> {
    documents::printed(kernel, "isolcpus=domain,1", SCRIPT)
}

/// The number of times that something was counted on a CPU.
fn counted(cpu: &Value, name: &str) -> u64 {
    let groups = cpu["interruptions"].as_array().unwrap().iter();
    let rows = groups.flat_map(|group| std::iter::once(group).chain(group["parts"].as_array().unwrap()));
    rows.filter(|row| row["name"] == name).map(|row| row["count"].as_u64().unwrap()).sum()
}

/// Each verb did what it is for.
fn assert_works(kernel: &str, printed: &BTreeMap<String, Value>) {
    let of = |verb: &str| printed.get(verb).unwrap_or_else(|| panic!("{kernel}: no {verb}: {printed:?}"));
    assert_eq!(of("check")["isolated"], "1", "{kernel}");
    assert!(
        !of("check")["findings"].as_array().unwrap().is_empty(),
        "{kernel}: kernel threads are not moved"
    );
    for (verb, source) in [("stat", "bpf"), ("traced", "tracefs")] {
        let stat = of(verb);
        assert_eq!((&stat["counted"], &stat["source"]), (&true.into(), &source.into()), "{kernel}: {stat}");
        let cpu = &stat["cpus"][0];
        assert!(counted(cpu, "local timer interrupts (LOC)") > 0, "{kernel}: {stat}");
        assert!(cpu["ticks"].as_u64() > Some(0), "{kernel}: the task is busy for some ticks: {stat}");
    }
    let cpu = &of("top")["cpus"][0];
    assert!(cpu["local_timer_per_s"].as_f64() > Some(0.0), "{kernel}: {cpu}");
    let cpu = &of("explain")["cpus"][0];
    assert!(cpu["ticks"].as_u64() > Some(0), "{kernel}: {cpu}");
    assert!(cpu["unattributed"]["share"].as_f64() < Some(0.05), "{kernel}: {cpu}");
    let threads = &of("of")["threads"];
    assert!(
        threads["threads"].as_u64() > Some(0) && threads["ticks"].as_u64() > Some(0),
        "{kernel}: {threads}"
    );
    let causes = of("stacks")["cpus"][0]["causes"].as_array().unwrap().iter();
    assert!(
        causes.filter_map(|cause| cause["stacks"].as_array()).any(|stacks| !stacks.is_empty()),
        "{kernel}: {:?}",
        of("stacks")
    );
    let last = of("last");
    assert!(
        last["seconds"].as_f64() > Some(0.1) && last["cpus"][0]["ticks"].as_u64() > Some(0),
        "{kernel}: {last}"
    );
    assert_eq!(of("latency")["thread"]["0"]["cycles"], 50, "{kernel}");
    let isolate = of("isolate");
    assert_eq!(
        (&isolate["status"], &isolate["restored"]["failed"]),
        (&"exit status: 0".into(), &Value::Array(vec![])),
        "{isolate}"
    );
    assert!(isolate["proof"]["trace"].is_object(), "{kernel}: {isolate}");
}

/// The features that this kernel lacks, by a verb's document. Features that the machine lacks are left out.
fn lacks(verb: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let missing = verb["missing"].as_array().into_iter().flatten();
    let of_kernel = missing.filter(|one| text(&one["needs"]).contains("Linux "));
    let missing = of_kernel.map(|one| format!("{} ({})", text(&one["what"]), text(&one["needs"])));
    let notes = verb["notes"].as_array().into_iter().flatten().map(text);
    missing.chain(notes.filter(|note| note.contains("this kernel"))).collect()
}

/// The verbs of the table, each with the documents that it is made from.
const VERBS: [(&str, &[&str]); 9] = [
    ("check", &["check"]),
    ("stat", &["stat", "traced"]),
    ("top", &["top"]),
    ("record, explain", &["explain"]),
    ("explain --of", &["of"]),
    ("explain --stacks", &["stacks"]),
    ("record --last", &["last"]),
    ("latency", &["latency"]),
    ("isolate", &["isolate"]),
];

fn row(kernel: &str, printed: &BTreeMap<String, Value>) -> Vec<String> {
    let cell = |(verb, documents): &(&str, &[&str])| {
        let mut lacks: Vec<String> = documents.iter().flat_map(|name| lacks(&printed[*name])).collect();
        lacks.dedup();
        let lacks = if lacks.is_empty() { "nothing".to_owned() } else { lacks.join("; ") };
        format!("| {} | {verb} | {lacks} |", kernel.trim_start_matches("debian:"))
    };
    VERBS.iter().map(cell).collect()
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/kernel-support.md");
const HEAD: &str = "| kernel | verb | lacks |\n| --- | --- | --- |\n";

#[test]
fn the_live_verbs_on_each_kernel() {
    let is_written = std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always");
    let kernels = if is_full() || is_written { &KERNELS[..] } else { &KERNELS[..1] };
    let mut rows = Vec::new();
    for kernel in kernels {
        let printed = printed(kernel);
        assert_works(kernel, &printed);
        rows.extend(row(kernel, &printed));
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    if kernels.len() < KERNELS.len() {
        rows.iter().for_each(|row| assert!(page.contains(&format!("{row}\n")), "{row} is not on the page"));
        return;
    }
    let (before, rest) = page.split_once(HEAD).expect("the page has the table");
    let after: String =
        rest.lines().skip_while(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
    let made = format!("{before}{HEAD}{}\n{after}", rows.join("\n"));
    if is_written {
        std::fs::write(PAGE, made).unwrap();
    } else {
        assert_eq!(page, made, "write docs/src/kernel-support.md anew: INSTA_UPDATE=always");
    }
}

/// Kernels of one's own, as `dyntick lab build` prints them; the rows that they would have are printed.
#[test]
#[ignore = "kernels named in DYNTICK_KERNELS, with commas: make test-kernels"]
fn the_live_verbs_on_kernels_of_ones_own() {
    let kernels = std::env::var("DYNTICK_KERNELS").unwrap_or_default();
    for kernel in kernels.split(',').filter(|kernel| !kernel.is_empty()) {
        let printed = printed(kernel);
        assert_works(kernel, &printed);
        println!("{}", row(kernel, &printed).join("\n"));
    }
}

#[test]
#[ignore = "fetches the newest kernel that Debian has: make test-kernels"]
fn the_live_verbs_on_the_newest_kernel() {
    assert_works(NEWEST, &printed(NEWEST));
}
