// SPDX-License-Identifier: GPL-2.0-only
//! An answer before a commit, for `make quick`: one guest in which the live verbs run, and one study of two cases.

use crate::harness::{documents, dyntick, text};

const SCRIPT: &str = "
echo @check; dyntick check --json
echo @stat; dyntick stat -C 1 --json -o /tmp/o dyntick guest-probe all -C 1 -n 20 && cat /tmp/o; echo
echo @explain; dyntick explain -C 1 --json -- dyntick guest-probe all -C 1 -n 20
echo @";

#[test]
fn live_verbs_run_in_a_guest() {
    let printed = documents::printed("debian:6.12", "isolcpus=domain,1 nohz_full=1", SCRIPT);
    assert!(printed["check"]["findings"].is_array(), "{:#}", printed["check"]);
    assert_eq!(printed["stat"]["source"], "bpf");
    assert!(printed["explain"]["cpus"][0]["interruptions"].as_u64() > Some(0), "{:#}", printed["explain"]);
}

const STUDY: &str = "
title = 'quick'
question = 'Does a CPU of nohz_full= tick?'
[defaults]
kernel = 'debian:6.12'
settle = '200ms'
measure = '300ms'
task = [{ cpu = '1', run = 'spin' }]
[[case]]
name = 'ticking'
append = 'isolcpus=domain,1'
[[case]]
name = 'quiet'
append = 'isolcpus=domain,1 nohz_full=1'
[[claim]]
text = 'nohz_full stops the tick'
check = [{ case = 'ticking', figure = 'ticks_share_of_hz', is = '> 0.9' }, { case = 'quiet', figure = 'ticks_share_of_hz', is = '< 0.1' }]
";

#[test]
fn a_study_of_two_cases_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quick.toml"), STUDY).unwrap();
    let output = dyntick()
        .args(["lab", "run", "quick.toml", "--jobs", "2", "--out", "out"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let shown = text(&output.stdout);
    assert!(
        output.status.success() && shown.contains("“nohz_full stops the tick” holds"),
        "{shown}{}",
        text(&output.stderr)
    );
}
