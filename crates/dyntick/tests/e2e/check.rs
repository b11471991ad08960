// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick check` on real kernels: it finds what is wrong, and its own commands fix it.

use crate::harness::{dyntick, in_guest, text};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// The output of `dyntick check` for a bundle or folder.
fn check(from: &Path, arguments: &[&str]) -> Output {
    dyntick().arg("check").arg("--from").arg(from).args(arguments).output().unwrap()
}

fn rules(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

/// The first list is refused by the kernel, for CPUs 4 and 5 do not exist; the second one holds.
const BAD_LINE: &str = "nohz_full=1-5 nohz_full=2-3 isolcpu=2 isolcpus=managed_irq,2-3 rcu_nocbs=3 nmi_watchdog=off \
                        irqaffinity=0-3 kthread_cpus=0";

/// Wrong as well, and set while the guest runs.
const BAD_SETTINGS: &str = "sysctl -w kernel.timer_migration=0 kernel.watchdog_cpumask=0-3 >/dev/null
    echo f > /sys/devices/virtual/workqueue/cpumask";

/// `fs/debugfs/file.c: debugfs_locked_down`: files that may be written are then closed to reading too.
#[test]
fn what_lockdown_refuses_to_root_is_no_missing_right() {
    let script =
        "mount -t securityfs none /sys/kernel/security && echo integrity > /sys/kernel/security/lockdown
        dyntick check --fail-on never";
    // Also the guest's way out needs a right that such a kernel no longer gives.
    let console = in_guest(&["--append", "nohz_full=1"], &["sh", "-c", script]);
    let told = console.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "fair_server/cpu*/runtime (the kernel refuses it even to root: lockdown=integrity;";
    assert!(told.contains(expected) && !told.contains("needs root"), "{told}");
    assert!(!told.contains("Restarting system"), "{told}");
}

#[test]
fn what_is_wrong_is_found_and_its_commands_fix_it() {
    let script = format!(
        "busybox --install -s /bin
         {BAD_SETTINGS}
         dyntick check --json --fail-on never --bundle /bundle > /before 2>/dev/null
         dyntick check --format script --fail-on never > /fix
         sh -e /fix >/dev/null && echo fixed
         dyntick check --json --fail-on never > /after
         for part in before after; do echo @$part; cat /$part; done
         echo @bundle; base64 /bundle; echo @"
    );
    let console = in_guest(&["--cpus", "4", "--append", BAD_LINE], &["busybox", "sh", "-c", &script]);
    let part = |name: &str| {
        let begin = console.split_once(&format!("@{name}\n")).unwrap_or_else(|| panic!("{console}")).1;
        begin.split_once("\n@").unwrap().0.to_owned()
    };
    assert!(console.contains("fixed\n"), "each command succeeds: {console}");
    let before: Value = serde_json::from_str(&part("before")).unwrap();
    let after: Value = serde_json::from_str(&part("after")).unwrap();

    let by_boot = [
        "refused-parameter",
        "parameter-typo",
        "unknown-value",
        "isolcpus-without-domain",
        "foreign-parameter",
        "irqaffinity-overlap",
        "redundant-parameter",
    ];
    let by_command = ["fair-server", "kernel-threads", "workqueue-cpumask", "device-irqs", "soft-watchdog"];
    // Notes: their commands are for the owner to choose, and stand in the script as comments.
    let by_choice = ["timer-migration", "irq-default", "machine-check-poll"];
    let (found, left) = (rules(&before), rules(&after));
    for rule in by_boot.iter().chain(&by_command).chain(&by_choice) {
        assert!(found.contains(rule), "{rule} is not found: {found:?}");
    }
    for rule in by_command {
        assert!(!left.contains(&rule), "{rule} is not fixed: {:#}", after["findings"]);
    }
    for rule in by_boot.into_iter().chain(by_choice) {
        assert!(left.contains(&rule), "{rule} takes a reboot or a decision: {left:?}");
    }
    assert_eq!(before["unread"], Value::Array(vec![]), "root reads everything");

    the_bundle_tells_the_same(&part("bundle"), &before);
}

fn the_bundle_tells_the_same(base64: &str, before: &Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle.tar.gz");
    let decoded = Command::new("busybox")
        .args(["sh", "-c", "echo \"$1\" | busybox base64 -d > \"$2\"", "sh", base64])
        .arg(&path)
        .status()
        .unwrap();
    assert!(decoded.success());
    let output = check(&path, &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let elsewhere: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(&elsewhere, before, "the bundle gives the identical report");
}

/// A machine's files, `path = text` each.
fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

fn quiet_machine(cmdline: &str) -> tempfile::TempDir {
    machine(&[
        ("proc/cmdline", cmdline),
        ("proc/sys/kernel/osrelease", "6.12.117-test\n"),
        ("boot/config-6.12.117-test", "CONFIG_NO_HZ_COMMON=y\nCONFIG_NO_HZ_FULL=y\n"),
        ("sys/devices/system/cpu/possible", "0-3\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
    ])
}

#[test]
fn the_status_is_for_ci() {
    let status =
        |cmdline: &str, arguments: &[&str]| check(quiet_machine(cmdline).path(), arguments).status.code();
    assert_eq!(status("quiet", &[]), Some(0));
    assert_eq!(status("quiet nohz=off", &[]), Some(1), "a warning");
    assert_eq!(status("quiet nohz=off", &["--fail-on", "error"]), Some(0));
    assert_eq!(status("quiet nohz=on", &[]), Some(0), "a note");
    assert_eq!(status("quiet nohz_full=1-9", &["--fail-on", "error"]), Some(1));
    assert_eq!(status("quiet nohz_full=1-9", &["--fail-on", "never"]), Some(0));
}

#[test]
fn input_that_is_no_machine_is_refused() {
    let refused = |from: &Path, arguments: &[&str], word: &str| {
        let output = check(from, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(word), "'{word}' is missing in: {said}");
    };
    let empty = machine(&[("README", "hello")]);
    refused(empty.path(), &[], "osrelease is missing");
    refused(&empty.path().join("README"), &[], "is not a support bundle");
    refused(&empty.path().join("no-such-file"), &[], "no-such-file: No such file");
    refused(quiet_machine("quiet").path(), &["-C", "3-4"], "CPU 4 is not online");
}

#[test]
fn sarif_has_what_the_standard_asks_for() {
    let output = check(quiet_machine("isolcpu=2 nohz=off").path(), &["--format", "sarif"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    // SARIF 2.1.0, 3.13, 3.14, 3.19, 3.27: what must be there, and what must agree.
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "dyntick");
    let results = run["results"].as_array().unwrap();
    assert!(results.len() >= 2, "{log:#}");
    for result in results {
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(driver["rules"][index]["id"], result["ruleId"]);
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("file:///"), "{uri}");
    }
    let typo = results.iter().find(|result| result["ruleId"] == "parameter-typo").unwrap();
    assert_eq!(typo["locations"][0]["physicalLocation"]["region"]["snippet"]["text"], "isolcpu=2");
}

#[test]
fn this_machine_is_checked_without_a_fall_and_changed_in_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.tar.gz");
    let output = dyntick().args(["check", "--json", "-C", "0", "--bundle"]).arg(&path).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("tar tzf"));
    let here: Value = serde_json::from_slice(&output.stdout).unwrap();
    let there: Value = serde_json::from_slice(&check(&path, &["--json", "-C", "0"]).stdout).unwrap();
    assert_eq!(here, there);
}
