// SPDX-License-Identifier: GPL-2.0-only
//! A kernel made to order, from its source to a study that runs on it. It takes minutes the first
//! time, so it is not part of `make test`: run it by `make test-kernels`.

use crate::harness::{dyntick_in as dyntick, text};

const STUDY: &str = r#"
title    = "A kernel of its own"
question = "Does the tick stop?"

[kernels.full]
source  = "debian:6.12"
config  = ["lab", "no-hz-full"]
patches = ["tick-stop-fast-path"]

[kernels.check]
source  = "debian:6.12"
config  = ["lab", "no-hz-full"]
patches = ["tick-stop-fast-path", "tick-stop-fast-path-busy", "tick-stop-fast-path-check"]

[kernels.lab]
source = "debian:6.12"
config = "lab"

[kernels.disk]
source = "debian:6.12"
config = ["lab", "virtio-disk"]

[defaults]
kernel  = "full"
measure = "2s"
task    = [{ cpu = 1, run = "spin" }]

[[case]]
name = "ticking"

[[case]]
name   = "quiet"
append = "nohz_full=1"

# Idle, but for two tasks that wake each in its own time and now and then together.
[[case]]
name   = "checked"
kernel = "check"
append = "nohz_full=1"
sysctl = { "kernel.timer_migration" = 0 }
read   = ["/sys/kernel/debug/tick_stop_fast_path"]
task   = [
  { cpu = 1, run = ["cyclictest", "-q", "-t", "1", "-a", "1", "--policy=other", "-i", "10000", "-D", "60"] },
  { cpu = 1, run = ["cyclictest", "-q", "-t", "1", "-a", "1", "--policy=other", "-i", "7000", "-D", "60"] },
]

[[case]]
name    = "disk"
kernel  = "disk"
clock   = "wall"
disk    = "64M"
memory  = "1G"
measure = "100ms"
script  = { cpu = 0, run = ["dd", "if=/dev/zero", "of=/mnt/disk/file", "bs=1M", "count=8", "oflag=direct"] }

[[case]]
name   = "impossible"
kernel = "lab"
append = "nohz_full=1"
"#;

/// Local timer interrupts a second on the measured CPU.
fn timers(json: &serde_json::Value, case: &str) -> f64 {
    let runs = json["runs"].as_array().unwrap();
    let run = runs.iter().find(|run| run["case"] == case).unwrap();
    assert!(run["failure"].is_null(), "{run}");
    let rows = run["observations"].as_array().unwrap();
    let row = rows.iter().find(|row| row["figure"] == "local_timer_per_s" && row["cpu"] == 1).unwrap();
    row["value"].as_f64().unwrap()
}

#[test]
#[ignore = "builds a kernel: make test-kernels"]
fn a_kernel_is_built_and_its_tick_stops() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    let built = dyntick(folder.path(), &["lab", "build", "study.toml", "full"]);
    assert!(built.status.success(), "{}", text(&built.stderr));
    eprintln!("{}", text(&built.stdout));

    let run = dyntick(
        folder.path(),
        &["lab", "run", "study.toml", "--json", "--case", "ticking", "--case", "quiet"],
    );
    assert!(run.status.success(), "{}", text(&run.stderr));
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let (ticking, quiet) = (timers(&json, "ticking"), timers(&json, "quiet"));
    assert!(ticking > 245.0 && quiet < 5.0, "HZ=250: {ticking} ticking, {quiet} with nohz_full");

    let again = text(&dyntick(folder.path(), &["lab", "build", "study.toml", "full"]).stdout);
    assert!(again.contains("there already, nothing was built"), "{again}");
    for format in ["terminal", "mail", "html"] {
        let words =
            ["lab", "report", "study.toml", "--case", "ticking", "--case", "quiet", "--format", format];
        let told = text(&dyntick(folder.path(), &words).stdout);
        assert!(told.contains("no-hz-full") && told.contains("linux-source-6.12"), "{told}");
        assert!(told.contains("tick-stop-fast-path (") && told.contains("built as "), "{told}");
    }
    let list = dyntick(folder.path(), &["lab", "kernels", "--json"]);
    assert!(text(&list.stdout).contains("tick-stop-fast-path"), "{}", text(&list.stdout));
    let same = dyntick(folder.path(), &["lab", "kernels", "diff", "study.toml:full", "study.toml:full"]);
    assert_eq!((same.status.code(), text(&same.stdout)), (Some(0), String::new()));
}

/// The patch claims that it changes no decision: in the kernel each is made both ways and compared.
#[test]
#[ignore = "builds a kernel: make test-kernels"]
fn the_fast_path_and_the_four_checks_never_disagree() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    let run = dyntick(folder.path(), &["lab", "run", "study.toml", "--json", "--case", "checked"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let rows = json["runs"][0]["observations"].as_array().unwrap();
    let count = |name: &str| {
        let key = format!("tick_stop_fast_path:{name}");
        let row = rows.iter().find(|row| row["figure"] == "file" && row["key"] == *key && row["cpu"] == 1);
        row.unwrap_or_else(|| panic!("there is no {key}"))["value"].as_f64().unwrap()
    };
    assert!(count("decisions") > 100.0 && count("idle") > 0.0, "{rows:?}");
    assert!(count("hits") > 0.0);
    assert_eq!(count("decisions"), count("hits") + count("misses"));
    assert_eq!(count("disagreements"), 0.0);
}

#[test]
#[ignore = "builds a kernel: make test-kernels"]
fn a_kernel_with_all_that_a_disk_needs_has_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    let run = dyntick(folder.path(), &["lab", "run", "study.toml", "--case", "disk", "--full"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("64 MiB, virtio-blk with ext4"), "{}", text(&run.stdout));
}

#[test]
#[ignore = "unpacks a kernel's source: make test-kernels"]
fn what_a_kernel_cannot_be_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let fragment = "CONFIG_NO_SUCH_THING=y\n# CONFIG_RCU_NOCB_CPU is not set\n";
    std::fs::write(folder.path().join("mine.config"), fragment).unwrap();
    let patch = "--- a/kernel/fork.c\n+++ b/kernel/fork.c\n@@ -1,3 +1,3 @@\n no\n-such\n+line\n here\n";
    std::fs::write(folder.path().join("mine.patch"), patch).unwrap();
    let refused = |arguments: &[&str], words: &[&str]| {
        let all = [&["lab", "build", "--source", "debian:6.12"], arguments].concat();
        let output = dyntick(folder.path(), &all);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        for word in words {
            assert!(told.contains(word), "'{word}' is missing in: {told}");
        }
    };
    refused(
        &["--config", "lab,no-hz-full,mine.config"],
        &["mine.config:1: CONFIG_NO_SUCH_THING=y became n", "no such option", "it is selected by NO_HZ_FULL"],
    );
    refused(&["--patch", "mine.patch"], &["mine.patch", "kernel/fork.c: Hunk #1 FAILED"]);

    std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    let impossible = dyntick(folder.path(), &["lab", "run", "study.toml", "--case", "impossible"]);
    let told = text(&impossible.stderr);
    assert_eq!(impossible.status.code(), Some(2), "{told}");
    assert!(told.contains("add \"no-hz-full\" to the config of [kernels.lab]"), "{told}");
    assert!(!told.contains("compiling"), "it is refused before it is compiled: {told}");
}
