// SPDX-License-Identifier: GPL-2.0-only
//! Limits for pipelines, and the comparison of a command as it is and isolated.

use crate::harness::{documents, dyntick, text, trials_program};
use serde_json::Value;

/// Measures CPU 0 of this machine, which always has interruptions; `None` if it does not let stat count.
fn gated(limits: &[&str], command: &[&str]) -> Option<(i32, Value, String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let [json, junit] = ["stat.json", "junit.xml"].map(|name| folder.path().join(name));
    let mut stat = dyntick();
    stat.args(["stat", "-C", "0", "--json", "-o"]).arg(&json).arg("--junit").arg(&junit);
    limits.iter().for_each(|limit| _ = stat.args(["--at-most", limit]));
    let output = stat.arg("--").args(command).output().unwrap();
    let document: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    if document["counted"] != true {
        assert_ne!(output.status.code(), Some(0), "what is not counted keeps no limit");
        eprintln!("skipped: {}", document["missing"]);
        return None;
    }
    let xml = std::fs::read_to_string(&junit).unwrap();
    Some((output.status.code().unwrap(), document, xml, text(&output.stderr)))
}

#[test]
fn exceeded_limit_is_told_in_every_form() {
    let limits = ["interruptions 0", "interruptions 10000000/s", "lost 100%"];
    let Some((status, document, xml, stderr)) = gated(&limits, &["sleep", "0.3"]) else { return };
    assert_eq!(status, 3, "{stderr}");
    let held: Vec<&Value> =
        document["gate"]["of"].as_array().unwrap().iter().map(|one| &one["held"]).collect();
    assert_eq!(held, [&Value::Bool(false), &Value::Bool(true), &Value::Bool(true)]);
    assert!(stderr.contains("CPU 0: interruptions 0 exceeded: "), "{stderr}");
    assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"0\""), "{xml}");
}

#[test]
fn kept_limits_pass_and_a_failed_command_keeps_its_status() {
    let Some((status, document, ..)) = gated(&["interruptions 10000000/s"], &["true"]) else { return };
    assert_eq!((status, &document["gate"]["held"]), (0, &Value::Bool(true)));
    let (status, ..) = gated(&["interruptions 0"], &["sh", "-c", "sleep 0.3; exit 7"]).unwrap();
    assert_eq!(status, 7);
}

/// Beside programs of its own name that want the same CPU, the command waits less once it is isolated. A gate is passed
/// neither by a CPU that is quiet because the command never ran there; one that sleeps only says how long to measure.
#[test]
fn isolated_command_waits_less_and_one_that_runs_elsewhere_passes_no_gate() {
    const WORK: &str = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo took 12.5 ms";
    let trials = trials_program();
    let long = WORK.replace("2000", "10000");
    let gates = format!(
        "stat() {{ dyntick stat -C 1 --at-most 'interruptions 10000000/s' -o /tmp/o -- \"$@\" >/dev/null 2>/tmp/e; status=$?; \
         echo; echo @$name; echo \"{{\\\"status\\\": $status, \\\"why\\\": $(grep -c 'but not on CPU 1: add --pin' /tmp/e)}}\"; }}; \
         name=elsewhere stat taskset 1 sh -c '{long}'; name=here stat taskset 2 sh -c '{long}'; name=asleep stat sleep 0.3; "
    );
    let script = format!(
        "busybox --install -s /bin; {gates} ln -s {trials} /tmp/sh; for n in 1 2 3 4; do /tmp/sh spin & done; \
         dyntick isolate -C 1 --compare 2 --metric 'took=took ([0-9.]+) ms' --json -o /tmp/o -- sh -c '{WORK}' 2>/dev/null; \
         mkdir /sys/fs/cgroup/pod; echo +cpu > /sys/fs/cgroup/cgroup.subtree_control; \
         echo 90000 100000 > /sys/fs/cgroup/pod/cpu.max; echo $$ > /sys/fs/cgroup/pod/cgroup.procs; \
         dyntick isolate -C 1 -- true 2>/tmp/e; echo $$ > /sys/fs/cgroup/cgroup.procs; \
         echo; echo @pairs; cat /tmp/o; echo; echo @left; \
         echo \"{{\\\"notes\\\": $(grep -c 'leaves its CPU quota, 90000' /tmp/e)}}\"; echo; echo @"
    );
    let documents = documents::printed_with(&[&trials], "debian:6.12", "", &script);
    for (name, status) in [("elsewhere", 2), ("here", 0), ("asleep", 0)] {
        let gate = &documents[name];
        assert_eq!(
            (&gate["status"], &gate["why"]),
            (&status.into(), &i32::from(status == 2).into()),
            "{name}"
        );
    }
    assert_eq!(documents["left"]["notes"], 1, "the partition has no quota");
    let rows = documents["pairs"]["rows"].as_array().expect("rows").clone();
    let names: Vec<&str> = rows.iter().filter_map(|row| row["metric"].as_str()).collect();
    for name in ["command/time", "command/waited for others", "took"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let waited = rows.iter().find(|row| row["metric"] == "command/waited for others").unwrap();
    // Two pairs are no proof, so there is no ruling.
    let [as_it_is, isolated] =
        [0, 1].map(|side| waited["outcome"]["runs"]["sides"][side]["value"]["value"].as_f64().unwrap());
    assert!(isolated < as_it_is / 2.0, "{waited:#}");
}
