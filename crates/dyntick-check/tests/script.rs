// SPDX-License-Identifier: GPL-2.0-only
//! Whatever names a machine's users give their tasks, groups and parameters, the script for root consists of comments
//! and of commands that the rules make.

use crate::good::{files, good};
use crate::lexer::{Token, words};
use dyntick_check::{Content, Machine, Report, Snapshot, script};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

/// Every command that a rule makes. `NUMBERS`: one or more numbers. `LIST`, `MASK`: CPUs. `GROUP`: a partition's
/// file, whatever its group's name. `QUOTA`: a quota's file. `QUEUE`: the file of a network card's queue. `INSTANCE`:
/// a trace instance's folder.
const SHAPES: &[&str] = &[
    "for c in NUMBERS; do echo NUMBER > /sys/devices/system/cpu/cpu$c/power/pm_qos_resume_latency_us; done",
    "for c in NUMBERS; do echo performance > /sys/devices/system/cpu/cpu$c/cpufreq/scaling_governor; done",
    "for c in NUMBERS; do echo 1 > /sys/devices/system/cpu/cpu$c/online; done",
    "for c in NUMBERS; do taskset -c $c sh -c 'while :; do :; done' & sleep 1; \
      echo 0 > /sys/kernel/debug/sched/fair_server/cpu$c/runtime; kill $!; done",
    "for i in NUMBERS; do echo LIST > /proc/irq/$i/smp_affinity_list; done",
    "for p in NUMBERS; do taskset -pc LIST $p; done",
    "(cd /sys/fs/cgroup && echo +cpuset > cgroup.subtree_control && mkdir -p quiet && \
      echo LIST > quiet/cpuset.cpus && echo isolated > quiet/cpuset.cpus.partition)",
    "echo root > GROUP",
    "echo isolated > GROUP",
    "echo max > QUOTA",
    "echo -1 > QUOTA",
    "echo MASK > QUEUE",
    "echo MASK > /proc/sys/net/core/rps_default_mask",
    "echo 1 > /sys/kernel/rcu_normal",
    "echo 0 > /sys/kernel/rcu_expedited",
    "rmdir INSTANCE",
    "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    "echo MASK > /sys/devices/virtual/workqueue/cpumask",
    "sysctl -w vm.stat_interval=60",
    "sysctl -w kernel.watchdog=0",
    "sysctl -w kernel.watchdog_cpumask=LIST",
    "sysctl -w kernel.nmi_watchdog=0",
];

fn is_list(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || ",-".contains(c))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Returns true if a text is the path of a file with this name somewhere in a folder.
fn is_in(folder: &str, file: &str, text: &str) -> bool {
    let inner = text.strip_prefix(folder).and_then(|rest| rest.strip_suffix(file));
    inner.is_some_and(|inner| !inner.split('/').any(|name| ["", ".", ".."].contains(&name)))
}

/// Returns true if a word matches the shape's word at its position.
fn fits(word: &Token, wanted: &Token) -> bool {
    let (Token::Word(text), Token::Word(shape)) = (word, wanted) else { return word == wanted };
    match shape.as_str() {
        "NUMBER" => is_number(text),
        "LIST" => is_list(text),
        "MASK" => text.chars().all(|c| c.is_ascii_hexdigit() || c == ',') && !text.is_empty(),
        "GROUP" => is_in("/sys/fs/cgroup/", "/cpuset.cpus.partition", text),
        "QUOTA" => ["/cpu.max", "/cpu.cfs_quota_us"].iter().any(|file| is_in("/sys/fs/cgroup/", file, text)),
        "QUEUE" => is_in("/sys/class/net/", "/rps_cpus", text),
        "INSTANCE" => text
            .strip_prefix("/sys/kernel/tracing/instances/dyntick-")
            .is_some_and(|name| !name.contains('/')),
        shape => match shape.strip_suffix("LIST") {
            Some(before) => text.strip_prefix(before).is_some_and(is_list),
            None => text == shape,
        },
    }
}

fn has_shape(line: &[Token], shape: &[Token]) -> bool {
    match shape.split_first() {
        None => line.is_empty(),
        Some((Token::Word(word), rest)) if word == "NUMBERS" => {
            let count = line.iter().take_while(|t| matches!(t, Token::Word(text) if is_number(text))).count();
            count > 0 && has_shape(&line[count..], rest)
        }
        Some((wanted, rest)) => {
            line.split_first().is_some_and(|(word, line)| fits(word, wanted) && has_shape(line, rest))
        }
    }
}

fn is_known(line: &str) -> bool {
    let tokens = words(line);
    tokens.is_some_and(|tokens| SHAPES.iter().any(|shape| has_shape(&tokens, &words(shape).unwrap())))
}

/// The commands of a script, after each line was checked.
fn commands(text: &str) -> Vec<&str> {
    let commands: Vec<&str> =
        text.split('\n').filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    for line in &commands {
        assert!(is_known(line), "no rule makes this command: {line:?}\nin {text}");
    }
    let control = |c: char| c != '\n' && c.is_control();
    assert!(!text.contains(control), "{text:?}");
    commands
}

/// The shell accepts it without complaint, and does nothing.
fn is_syntax(text: &str) -> bool {
    let mut shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    shell.wait().unwrap().success()
}

fn script_of(files: &Snapshot, named: Option<&str>) -> Option<String> {
    let named = named.map(|named| named.parse().unwrap());
    Some(script(&Report::of(&Machine::new(files, named.as_ref()).ok()?, files)))
}

fn with(changes: &[(&str, &str)]) -> Snapshot {
    let mut all = files();
    all.extend(changes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    good(&all)
}

#[test]
fn task_name_stays_a_comment() {
    let files = with(&[
        ("/proc/50/task/50/stat", "50 (a\nid>/own\n#) S 2 0 0 0 -1 2107392 0"),
        ("/proc/50/task/50/status", "Cpus_allowed_list: 0-3"),
    ]);
    let text = script_of(&files, None).unwrap();
    assert_eq!(commands(&text), ["for p in 50; do taskset -pc 0-1 $p; done"]);
    assert!(text.contains("a id>/own #"), "{text}");
}

#[test]
fn group_name_is_one_word() {
    let path = "/sys/fs/cgroup/a;touch ${HOME}PW2;b/cpuset.cpus.partition";
    let text = script_of(&with(&[(path, "isolated invalid (Cpu list in cpuset.cpus not exclusive)")]), None)
        .unwrap();
    let quoted = format!("echo isolated > '{path}'");
    assert!(commands(&text)[0].starts_with(&quoted), "{text}");
    let hidden = "/sys/fs/cgroup/a\rb/cpuset.cpus.partition";
    let text = script_of(&with(&[(hidden, "root invalid")]), None).unwrap();
    assert_eq!(commands(&text), [""; 0], "{text}");
    assert!(
        text.contains("no command can be given with this name: it contains a control character"),
        "{text}"
    );
    let elsewhere = "/sys/fs/cgroup/../../../cpuset.cpus.partition";
    assert_eq!(commands(&script_of(&with(&[(elsewhere, "root invalid")]), None).unwrap()), [""; 0]);
}

#[test]
fn parameter_with_a_newline_stays_a_comment() {
    let line = "nohz_full=2-3 isolcpus=\"managed_irq,2-3\nid>/own\" nohz=\"off\nid>/own\"";
    let text = script_of(&with(&[("/proc/cmdline", line)]), None).unwrap();
    commands(&text);
    assert!(text.contains("id>/own"), "{text}");
}

/// A fix that trades something of the complete machine for a little quiet is the owner's decision.
#[test]
fn notes_are_comments() {
    let changes = [
        ("/proc/swaps", "Filename\n/dev/sda2 partition 8388604 0 -2"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
        ("/sys/devices/system/machinecheck/machinecheck0/check_interval", "300"),
        ("/proc/sys/kernel/watchdog_cpumask", "0-3"),
    ];
    let text = script_of(&with(&changes), None).unwrap();
    assert_eq!(commands(&text), ["sysctl -w kernel.watchdog_cpumask=0-1"; 2], "{text}");
    for command in ["swapoff -a", "no_turbo", "check_interval"] {
        assert!(
            text.lines().any(|line| line.starts_with("# ") && line.contains(command)),
            "{command}: {text}"
        );
    }
}

/// A partition would give the kernel's own threads the CPUs of no partition, and make 6.12 refuse the fair server.
#[test]
fn finding_best_fixed_by_a_parameter_waits_for_the_reboot() {
    let changes = [
        ("/proc/cmdline", "nohz_full=1-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0"),
        ("/sys/devices/system/cpu/nohz_full", "1-3"),
        ("/sys/kernel/debug/sched/fair_server/cpu2/runtime", "50000000"),
    ];
    let text = script_of(&with(&changes), None).unwrap();
    let commands = commands(&text);
    assert!(!text.is_empty() && commands.iter().all(|command| !command.contains("cgroup")), "{text}");
    let boot = "# boot with nohz_full=1-3 isolcpus=domain,managed_irq,1-3 irqaffinity=0\n\n";
    assert!(
        text.contains(boot) && !text.contains("cgroup"),
        "where others are isolated there is no other way: {text}"
    );
    assert!(commands.iter().any(|command| command.contains("fair_server")), "{text}");

    let tickless =
        [("/proc/cmdline", "nohz_full=2-3 irqaffinity=0-1"), ("/sys/devices/system/cpu/isolated", "")];
    let text = script_of(&with(&tickless), None).unwrap();
    assert!(
        text.contains("# boot with nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1"),
        "{text}"
    );
    assert!(!text.contains("(cd /sys/fs/cgroup"), "it takes the CPUs away from the worker: {text}");

    let alone = [
        ("/proc/cmdline", "quiet"),
        ("/sys/devices/system/cpu/isolated", ""),
        ("/sys/devices/system/cpu/nohz_full", ""),
        ("/proc/901/task/901/status", "Cpus_allowed_list: 0-1"),
    ];
    let named = Some("2-3");
    let text = script_of(&with(&alone), named).unwrap();
    assert!(
        text.contains("# or, until then: (cd") && text.contains("echo 2-3 > quiet/cpuset.cpus"),
        "{text}"
    );
    // Control groups v1, or v2 without cpusets: a partition's files would be plain files in a tmpfs, or not exist.
    for controllers in ["", "cpu io memory pids"] {
        let v1 = [&alone[..], &[("/sys/fs/cgroup/cgroup.controllers", controllers)]].concat();
        assert!(!script_of(&with(&v1), named).unwrap().contains("cgroup"));
    }
}

#[test]
fn unchangeable_fair_server_of_6_12_has_no_command() {
    let partition = "isolated\n2-3";
    let changes = [
        ("/sys/kernel/debug/sched/fair_server/cpu2/runtime", "50000000"),
        ("/sys/fs/cgroup/quiet/cpuset.cpus.partition", partition),
    ];
    let text = script_of(&with(&changes), None).unwrap();
    assert!(text.contains("the fair server is armed on CPU 2") && commands(&text).is_empty(), "{text}");
    assert!(text.contains("# on 6.12 the kernel refuses to change it"), "{text}");
}

/// Names that try to be more than names.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a",
        "\n",
        "\r",
        ";",
        "touch ${HOME}PW",
        "`id`",
        "$(id)",
        "'",
        "\"",
        "\\",
        "#",
        " ",
        "|",
        "&",
        ">",
        "/",
        "..",
        "\x1b[2J",
        "\u{202e}",
        "\u{85}",
        "*",
        "~",
        "!",
        "(",
        ")",
        "{",
        "}",
        "=",
        "2-3",
        "0",
        ",",
        "-",
        "\t",
        "\0",
    ]);
    prop::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat())
}

fn hostile_machine() -> impl Strategy<Value = BTreeMap<String, String>> {
    let anything = prop::collection::vec((0usize..1000, hostile()), 0..6);
    let names = (hostile(), hostile(), hostile(), hostile(), prop::collection::vec(hostile(), 0..3));
    (names, anything, "(isolated|root|member)( invalid)?").prop_map(
        |((task, group, irq, value, words), anything, state)| {
            let mut all = files();
            let paths: Vec<String> = all.keys().cloned().collect();
            all.extend(
                anything.into_iter().map(|(number, text)| (paths[number % paths.len()].clone(), text)),
            );
            all.insert("/proc/50/task/50/stat".into(), format!("50 ({task}) S 2 0 0 0 -1 2107392 0"));
            all.insert("/proc/50/task/50/status".into(), "Cpus_allowed_list: 0-3".into());
            all.insert("/proc/77/fd".into(), "anon_inode:[perf_event]".into());
            all.insert(format!("/proc/{task}/fd"), "anon_inode:[perf_event]".into());
            all.insert(format!("/sys/fs/cgroup/{group}/cpuset.cpus.partition"), format!("{state} {value}"));
            let instance = format!("/sys/kernel/tracing/instances/dyntick-{group}-{irq}");
            all.insert(format!("{instance}/tracing_on"), "1".into());
            all.insert(format!("{instance}/current_tracer"), "function".into());
            all.insert("/sys/kernel/irq/24/actions".into(), irq.clone());
            all.insert("/proc/irq/24/effective_affinity_list".into(), "2".into());
            all.insert(format!("/proc/irq/{irq}/smp_affinity_list"), "2".into());
            all.insert(format!("/sys/kernel/irq/{irq}/actions"), "x".into());
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let line = format!(
                "nohz_full=2-3 isolcpus=\"managed_irq,2-3\" idle=\"{value}\" tsc=\"unstable\" {}",
                words.join(" ")
            );
            all.insert("/proc/cmdline".into(), line);
            all
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_line_is_a_comment_or_a_rules_own_command(all in hostile_machine(), named in prop::option::of("[0-3]|2-3|0-3")) {
        if let Some(text) = script_of(&good(&all), named.as_deref()) {
            commands(&text);
            prop_assert!(is_syntax(&text), "{}", text);
        }
    }

    /// A bundle may contain anything at any path.
    #[test]
    fn bundle_content_never_becomes_a_command(places in prop::collection::vec((0usize..60, hostile(), hostile()), 1..6)) {
        let mut files = good(&files());
        let patterns: Vec<&str> = dyntick_check::sources::SOURCES.iter().map(|source| source.pattern).collect();
        for (number, name, text) in places {
            let path = patterns[number % patterns.len()].replace('*', &name);
            files.insert(path, Content::Text(text));
        }
        if let Some(text) = script_of(&files, Some("2-3")) {
            commands(&text);
        }
    }
}
