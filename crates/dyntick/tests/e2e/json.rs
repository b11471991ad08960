// SPDX-License-Identifier: GPL-2.0-only
//! The documents of `--json` have the names, versions and keys that the book gives them, and match their schemas.
//! Verbs that need a guest or root are validated by the tests that run them.

use crate::harness::{self, binary, in_guest, schema::assert_valid};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/src/json.md");

/// The rows of the book's table: format, version, and all keys.
fn rows() -> Vec<(&'static str, u64, BTreeSet<&'static str>)> {
    let cells = |line: &'static str| line.split('|').map(str::trim).collect::<Vec<_>>();
    let rows = PAGE.lines().filter(|line| line.contains("| [`dyntick-")).map(cells);
    let names = |text: &'static str| text.split('`').skip(1).step_by(2);
    rows.map(|row| {
        let keys = names(row[4]).chain(["format", "version"]).collect();
        (names(row[2]).next().unwrap(), row[3].parse().unwrap(), keys)
    })
    .collect()
}

/// Asserts that what was printed is of the format.
fn assert_is(format: &str, text: &[u8]) -> Value {
    let text = String::from_utf8_lossy(text);
    let value: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{format}: {error}: {text}"));
    assert!(text.starts_with("{\n  \"format\":"), "the first key: {text}");
    let (_, version, keys) = rows().into_iter().find(|(name, ..)| *name == format).unwrap();
    assert_eq!((value["format"].as_str(), value["version"].as_u64()), (Some(format), Some(version)));
    let printed: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    // A key that is not always there, as that of an option, is not among the schema's required ones.
    assert!(printed.is_subset(&keys), "{format}: {printed:?}, in the book {keys:?}");
    assert_valid(format, &value);
    value
}

fn dyntick(words: &[&str]) -> Command {
    let mut command = harness::dyntick();
    command.args(words);
    command
}

fn printed(words: &[&str]) -> Vec<u8> {
    let output = dyntick(words).output().unwrap();
    assert!(!output.stdout.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn keys_are_those_of_the_book() {
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../dyntick-formats/tests/fixtures/hyperfine.json");
    assert_is("dyntick-compare", &printed(&["compare", "--json", tool, &format!("b={tool}")]));
    assert_is("dyntick-check", &printed(&["check", "--json", "--fail-on", "never"]));
    let machines = assert_is("dyntick-lab-machines", &printed(&["lab", "machines", "--json"]));
    assert_is("dyntick-lab-studies", &printed(&["lab", "studies", "--json"]));
    let name = machines["machines"][0]["name"].as_str().unwrap();
    assert_is("dyntick-lab-machine", &printed(&["lab", "machines", name, "--json"]));
}

#[test]
fn what_was_counted_and_planned_here_is_as_its_schema_says() {
    // Without root it is less, and of the same format.
    assert_is("dyntick-stat", &printed(&["stat", "--json", "--allow-partial", "-o", "-", "--", "true"]));
    let top = printed(&["top", "-b", "-n", "1", "-d", "0.2", "--json"]);
    assert_valid("dyntick-top", &serde_json::from_slice(&top).unwrap());
    assert_is("dyntick-isolate-changes", &printed(&["isolate", "-C", "0", "--dry-run", "--json"]));
}

/// Each verb that takes -o writes into the file what it would print, and prints nothing then.
#[test]
fn what_is_printed_can_go_into_a_file() {
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../dyntick-formats/tests/fixtures/hyperfine.json");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let name = file.to_str().unwrap();
    let bundle = folder.path().join("bundle");
    let bundled = ["check", "--fail-on", "never", "--bundle", bundle.to_str().unwrap()];
    assert!(dyntick(&bundled).output().unwrap().status.success());
    for words in [
        &["compare", tool, tool][..],
        &["compare", "--json", tool, tool],
        &["lab", "machines"],
        &["lab", "machines", "--json"],
        &["check", "--from", "BUNDLE", "--fail-on", "never"],
        &["check", "--from", "BUNDLE", "--fail-on", "never", "--format", "script"],
        &["check", "--from", "BUNDLE", "--fail-on", "never", "--format", "sarif"],
        &["isolate", "-C", "0", "--dry-run", "--json"],
    ] {
        let words: Vec<&str> = words
            .iter()
            .map(|word| if *word == "BUNDLE" { bundle.to_str().unwrap() } else { word })
            .collect();
        let expected = dyntick(&words).output().unwrap();
        let output = dyntick(&[&words[..], &["-o", name]].concat()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), expected.status.code(), "{words:?}: {errors}");
        assert!(output.stdout.is_empty(), "{words:?}");
        let written = std::fs::read(&file).unwrap();
        // The machine changes between two looks at it.
        if words[0] != "isolate" {
            assert_eq!(written, expected.stdout, "{words:?}");
        }
        assert!(!written.is_empty(), "{words:?}");
        let refused =
            dyntick(&[&words[..], &["-o", folder.path().to_str().unwrap()]].concat()).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("it is a folder"), "{words:?}");
    }
}

#[test]
fn cpus_are_named_by_either_flag() {
    for cpus in ["--cpus", "--cpu", "-C"] {
        assert_is("dyntick-check", &printed(&["check", "--json", "--fail-on", "never", cpus, "0"]));
    }
}

/// Each line of the page that is given to a shell there.
#[test]
fn examples_of_the_book_run() {
    let examples: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("dyntick ")).collect();
    assert!(examples.len() >= 3, "{examples:?}");
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(binary(), folder.path().join("dyntick")).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    for example in examples {
        let shell = format!("set -o pipefail; {example}");
        let mut bash = Command::new("bash");
        let output =
            bash.args(["-c", &shell]).env("PATH", &path).current_dir(folder.path()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !output.stdout.is_empty(), "{example}: {told}");
    }
}

/// The commands that need root and their own machine.
const IN_A_GUEST: &str = "
    busybox --install -s /bin
    dyntick stat --json --over 1 --calls hrtimer_interrupt -o /dyntick-stat -- sleep 0.2
    dyntick explain --json -o /dyntick-explain -C 1 -- sleep 0.2
    dyntick isolate -C 1 --dry-run --json > /dyntick-isolate-changes
    dyntick isolate -C 1 --json -o /dyntick-isolate -- sleep 0.2
    dyntick isolate --restore --json > /dyntick-isolate-restored
    dyntick explain --json -C 1 -- echo mine > /dyntick-stdout 2> /dyntick-stderr
    for part in /dyntick-*; do echo @${part#/}; cat $part; done; echo @";

#[test]
fn what_root_sees_in_a_guest_is_as_its_schema_says() {
    let console = in_guest(&["--cpus", "2"], &["busybox", "sh", "-c", IN_A_GUEST]);
    let raw = |name: &str| {
        let begin = console.split_once(&format!("@{name}\n")).unwrap_or_else(|| panic!("{console}")).1;
        begin.split_once("\n@").unwrap().0
    };
    let part = |name: &str| assert_is(name, raw(name).as_bytes());
    let stat = part("dyntick-stat");
    assert_eq!(stat["calls"]["functions"][0]["name"], "hrtimer_interrupt");
    assert!(stat["longest"].is_object(), "{stat}");
    assert!(!part("dyntick-explain")["cpus"][0]["causes"].as_array().unwrap().is_empty());
    assert!(!part("dyntick-isolate-changes")["changes"].as_array().unwrap().is_empty());
    assert!(part("dyntick-isolate")["proof"]["trace"].is_object());
    part("dyntick-isolate-restored");
    assert_eq!(raw("dyntick-stdout"), "mine", "standard output is the command's");
    assert_is("dyntick-explain", raw("dyntick-stderr").as_bytes());
}

#[test]
#[should_panic(expected = "unknown")]
fn a_key_that_the_schema_does_not_have_is_found() {
    let mut value: Value =
        serde_json::from_slice(&printed(&["check", "--json", "--fail-on", "never"])).unwrap();
    value["unknown"] = true.into();
    assert_valid("dyntick-check", &value);
}

#[test]
fn formats_of_the_book_are_those_of_the_code() {
    let of_code: BTreeSet<&str> = dyntick_contract::ALL.iter().map(|format| format.name).collect();
    let of_book: BTreeSet<&str> = rows().into_iter().map(|(name, ..)| name).collect();
    assert_eq!(of_code, of_book);
}

#[test]
fn a_schema_is_printed_by_its_name() {
    let text = printed(&["schema", "stat"]);
    let kept = include_str!("../../../../docs/src/schemas/dyntick-stat.json");
    assert_eq!(String::from_utf8(text).unwrap(), kept);
    let list = String::from_utf8(printed(&["schema"])).unwrap();
    assert!(rows().iter().all(|(name, ..)| list.contains(name)), "{list}");
}
