// SPDX-License-Identifier: GPL-2.0-only
//! What `dyntick check` says is done to the letter: the script is run, the machine is booted with the line
//! that is printed, and is checked again. Nothing is left but what is no command's to mend.

use dyntick_check::{Bounds, Isolation};
use dyntick_model::{CommandLine, CpuList};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// Wrong in many ways. CPUs 4 and 5 do not exist, so that the first list is refused as a whole.
const BAD_LINE: &str = "nohz_full=1-5 nohz_full=2-3 isolcpu=2 isolcpus=managed_irq,2-3 rcu_nocbs=3 \
                        nmi_watchdog=off irqaffinity=0-3 kthread_cpus=0 nohz=off highres=off rcu_nocb_poll";

/// Wrong as well, and set while the guest runs.
const BAD_SETTINGS: &str = "sysctl -w kernel.timer_migration=0 kernel.watchdog_cpumask=0-3 >/dev/null
    echo f > /sys/devices/virtual/workqueue/cpumask
    echo f > /sys/class/net/lo/queues/rx-0/rps_cpus
    echo 1 > /sys/kernel/mm/ksm/run
    taskset f sleep 1000000 &";

/// What the booted and mended machine still has, and why no command of the script mends it.
const LEFT: &[(&str, &str)] = &[
    ("timer-migration", "a note: who pinned timers has a reason"),
    ("irq-default", "a note: interrupts that are set up later"),
    ("machine-check-poll", "a note: it gives up reports of hardware errors"),
    ("ksm", "a note: it gives up memory"),
    ("thp", "a note: it gives up speed"),
    ("compaction", "a note: it gives up huge pages"),
    ("foreign-parameter", "a note: it does no harm"),
    ("redundant-parameter", "a note: it does no harm"),
    ("rcu-nocb-poll", "a note: a choice"),
    ("skew-tick", "a note: a choice"),
];

/// A guest of four CPUs before and after the script.
struct Guest {
    line: CommandLine,
    before: Value,
    script: String,
    after: Value,
}

/// Boots with a line, sets what is wrong, and does what the script says that a bundle of it yields.
fn guest(append: &str) -> Guest {
    let script = format!(
        "busybox --install -s /bin
         {BAD_SETTINGS}
         dyntick check --json --fail-on never --bundle /bundle > /before 2>/dev/null
         dyntick check --from /bundle --format script --fail-on never > /script
         sh -e /script >/dev/null && echo mended
         dyntick check --json --fail-on never > /after
         for part in proc/cmdline before script after; do echo @$part; cat /$part; done
         echo @"
    );
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    let output = Command::new(binary)
        .args(["lab", "shell", "--virtual", "--cpus", "4", "--append", append, "--"])
        .args(["busybox", "sh", "-c", &script])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let console = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(output.status.success(), "{console}{}", String::from_utf8_lossy(&output.stderr));
    assert!(console.contains("mended\n"), "each command succeeds: {console}");
    let part = |name: &str| {
        let begin = console.split_once(&format!("@{name}\n")).unwrap_or_else(|| panic!("{console}")).1;
        begin.split_once("\n@").unwrap().0.to_owned()
    };
    let json = |name: &str| serde_json::from_str(&part(name)).unwrap();
    Guest {
        line: CommandLine::parse(&part("proc/cmdline")),
        before: json("before"),
        script: part("script"),
        after: json("after"),
    }
}

/// Rule and severity of each finding.
fn found(report: &Value) -> BTreeSet<(&str, &str)> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|one| (one["rule"].as_str().unwrap(), one["severity"].as_str().unwrap())).collect()
}

fn asked(line: &CommandLine) -> Isolation {
    Isolation::replay(line, &Bounds { possible: 4, present: &CpuList::first(4) })
}

#[test]
#[ignore = "a command of the second script is refused: Device or resource busy"]
fn script_and_reboot_leave_nothing_but_what_no_command_mends() {
    let first = guest(BAD_LINE);
    let rules: BTreeSet<&str> = found(&first.before).into_iter().map(|(rule, _)| rule).collect();
    assert!(rules.len() >= 15, "it is wrong in many ways: {rules:?}");

    let printed = first.before["reboot"]["line"].as_str().expect("a line is composed");
    assert!(first.script.contains(&format!("boot with: {printed}")), "{}", first.script);
    let composed = CommandLine::parse(printed);
    let (before, after) = (asked(&first.line), asked(&composed));
    assert!(before.tick.is_subset(&after.tick), "{} -> {composed}", first.line);
    assert!(before.domain.is_subset(&after.domain), "{} -> {composed}", first.line);
    assert!(before.managed_irq.is_subset(&after.managed_irq), "{} -> {composed}", first.line);

    let second = guest(&without_own(&first.line, &composed));
    assert_eq!(second.line.to_string(), composed.to_string(), "it was booted with what was printed");
    let allowed: BTreeSet<&str> = LEFT.iter().map(|(rule, _)| *rule).collect();
    let left: Vec<_> = found(&second.after)
        .into_iter()
        .filter(|(rule, severity)| *severity != "note" || !allowed.contains(rule))
        .collect();
    assert!(left.is_empty(), "{left:?} of {:#}", second.after);
    assert_eq!(second.after["reboot"], Value::Null, "nothing is left to boot with");
}

/// The part of a line that the guest does not get from the laboratory.
fn without_own(line: &CommandLine, composed: &CommandLine) -> String {
    let asked: BTreeSet<&str> = BAD_LINE.split_ascii_whitespace().collect();
    let own: BTreeSet<&str> = line.iter().filter(|word| !asked.contains(word)).collect();
    composed.iter().filter(|word| !own.contains(word)).collect::<Vec<_>>().join(" ")
}
