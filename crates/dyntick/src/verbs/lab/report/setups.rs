// SPDX-License-Identifier: GPL-2.0-only
//! The setups of cases in words: kernel, machine, boot parameters, tasks and disks. A short report names once what all
//! cases share.

use super::idle;
use super::titles::Titled;
use crate::few::few;
use dyntick_check::shell;
use dyntick_guest::names::DISK_FOLDER;
use dyntick_guest::{Policy, Script, Task, Work};
use dyntick_model::NANOS_PER_SEC;
use dyntick_model::text::shortened;
use dyntick_study::Case;
use std::collections::{BTreeMap, BTreeSet};

/// The longest value of one case; a command may be longer than a mail.
const LONGEST: usize = 160;

/// The number of cases that are named for each value.
const MOST_NAMED: usize = 2;

type Setting = (&'static str, fn(&Titled<'_>) -> String);

/// The settings without which a run cannot be repeated, and the longest value of one where there is little room.
const NEEDED: [&str; 2] = ["append", "tasks"];
const SHORT: usize = 56;

/// Names with values; of each at most `most` different ones. Without room for any, one of each that is needed.
pub fn pairs(runs: &[Titled<'_>], most: usize) -> Vec<(String, String)> {
    let all: [Setting; 7] = [
        ("append", |run| run.plan.case.append.to_string()),
        ("machine", |run| run.plan.case.machine.as_ref().map_or(String::new(), |one| one.name.clone())),
        ("governor", |run| run.plan.case.governor.clone().unwrap_or_default()),
        ("latency limit", latency_limit),
        ("settings", |run| written(&run.plan.case)),
        ("tasks", |run| tasks(&run.plan.case)),
        ("script", |run| scripts(&run.plan.case)),
    ];
    let message = |(name, of): &Setting| {
        let of_runs = runs.iter().map(|run| (run.title_of_all().to_owned(), of(run)));
        let longest = if most == 0 { SHORT } else { LONGEST };
        Some(((*name).to_owned(), by_case(of_runs, most.max(1), longest)?))
    };
    all.iter().filter(|(name, _)| most > 0 || NEEDED.contains(name)).filter_map(message).collect()
}

/// Within which idle states were selected; empty where there was none.
fn latency_limit(run: &Titled<'_>) -> String {
    let measured = &run.plan.case.measured_cpus;
    let limit = run.analysis.idle.as_ref().map(|idle| idle::limit(idle, measured));
    limit.filter(|limit| limit != idle::NO_LIMIT).unwrap_or_default()
}

/// Each different value, with the cases that have it where there are several values. None where no case has any.
fn by_case(of_runs: impl Iterator<Item = (String, String)>, most: usize, longest: usize) -> Option<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (title, value) in of_runs {
        match all.iter_mut().find(|(other, _)| *other == value) {
            Some((_, titles)) if titles.contains(&title) => {}
            Some((_, titles)) => titles.push(title),
            None => all.push((value, vec![title])),
        }
    }
    let words = |value: &str| if value.is_empty() { "none".to_owned() } else { shortened(value, longest) };
    match &all[..] {
        [] => None,
        [(value, _)] => (!value.is_empty()).then(|| words(value)),
        _ => {
            let named = |(value, titles): &(String, Vec<String>)| {
                format!("{} ({})", words(value), few(titles.iter().cloned(), MOST_NAMED).join("; "))
            };
            Some(few(all.iter().map(named), most).join("; "))
        }
    }
}

/// The number of settings of one kind that are listed.
const MOST: usize = 32;

/// The guest of a case: what all cases of a study have in common, in general.
pub fn guest(case: &Case) -> String {
    let packages = match case.packages.len() {
        0 => String::new(),
        count => format!(" in {count} packages"),
    };
    format!("{} CPUs{packages}, {} MiB; measured: CPU {}", case.cpus, case.memory >> 20, case.measured_cpus)
}

/// The other settings of the case.
pub fn others(case: &Case) -> String {
    let boot = Some(case.append.to_string()).filter(|append| !append.is_empty());
    let mut all: Vec<String> = vec![boot.unwrap_or_else(|| "no boot parameter".to_owned())];
    all.extend(assignments("sysctl", &case.sysctl));
    all.extend(assignments("write", &case.write));
    all.extend(case.machine.iter().map(|machine| format!("machine {}", machine.name)));
    all.extend(case.governor.iter().map(|governor| format!("governor {governor}")));
    all.extend((!case.modules.is_empty()).then(|| format!("modules {}", case.modules.join(" "))));
    all.extend(few(case.tasks.iter().map(task), MOST));
    all.extend(case.script.iter().map(script));
    all.join("; ")
}

/// The values that the case writes into sysctl and other files of the kernel; empty if none.
pub fn written(case: &Case) -> String {
    let all = [assignments("sysctl", &case.sysctl), assignments("write", &case.write)];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The tasks; empty if there are none.
pub fn tasks(case: &Case) -> String {
    few(case.tasks.iter().map(task), MOST).join("; ")
}

/// The script; empty if there is none.
pub fn scripts(case: &Case) -> String {
    case.script.as_ref().map_or(String::new(), script)
}

fn assignments(what: &str, settings: &BTreeMap<String, String>) -> Option<String> {
    let each = settings.iter().map(|(name, value)| format!("{name}={}", value.trim()));
    (!settings.is_empty()).then(|| format!("{what} {}", few(each, MOST).join(" ")))
}

fn task(task: &Task) -> String {
    let policy = match task.policy {
        Policy::Other => String::new(),
        Policy::Fifo(priority) => format!(", fifo:{priority}"),
        Policy::Deadline { runtime_ns, period_ns } => {
            let ms = |ns: u64| ns as f64 / (NANOS_PER_SEC / 1000) as f64;
            format!(", deadline:{}ms/{}ms", ms(runtime_ns), ms(period_ns))
        }
    };
    let partition =
        task.partition.map_or(String::new(), |kind| format!(", {} partition", kind.kernel_name()));
    let work = match &task.work {
        Work::Tool(words) => shell::command(words),
        own => own.name().to_owned(),
    };
    format!("task on CPU {}{policy}{partition}: {work}", task.cpus)
}

fn script(script: &Script) -> String {
    let place = if script.in_window { "in the window" } else { "after the window" };
    format!("script on CPU {}, {place}: {}", script.cpus, shell::command(&script.run))
}

/// The number of cases that are named with their disk.
const MOST_CASES: usize = 32;

/// The disks of these cases, by their ids, in bytes: in words, and with the cases where not all have the same.
pub fn disks<'c>(sizes: impl Iterator<Item = (&'c str, Option<u64>)>) -> Option<String> {
    let mut by_size: BTreeMap<Option<u64>, BTreeSet<&str>> = BTreeMap::new();
    for (case, bytes) in sizes {
        by_size.entry(bytes).or_default().insert(case);
    }
    let alike = by_size.len() == 1;
    let words = |(bytes, cases): (Option<u64>, BTreeSet<&str>)| {
        let cases = few(cases.into_iter().map(str::to_owned), MOST_CASES).join(", ");
        let of = if alike { String::new() } else { format!(" of {cases}") };
        Some(format!("{} MiB{of}", bytes? >> 20))
    };
    let sizes: Vec<String> = by_size.into_iter().filter_map(words).collect();
    (!sizes.is_empty()).then(|| {
        format!(
            "{}, virtio-blk with ext4 on {DISK_FOLDER}, backed by a file in this machine's page cache",
            sizes.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_study::Study;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn what_all_share_is_said_once() {
        let message = |all: &[(&str, &str)], most| {
            by_case(
                all.iter().map(|(title, value)| ((*title).to_owned(), (*value).to_owned())),
                most,
                LONGEST,
            )
        };
        assert_eq!(message(&[("a", "quiet"), ("b", "quiet")], 2).as_deref(), Some("quiet"));
        assert_eq!(message(&[("a", ""), ("b", "")], 2), None);
        let differ = [("a", ""), ("a", ""), ("b", "nohz_full=1"), ("c", "nohz=off"), ("d", "quiet")];
        assert_eq!(message(&differ, 2).as_deref(), Some("none (a); nohz_full=1 (b); and 2 others"));
        assert_eq!(
            message(&differ, 3).as_deref(),
            Some("none (a); nohz_full=1 (b); nohz=off (c); quiet (d)")
        );
    }

    #[test]
    fn different_cases_are_distinguished() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/adaptive-ticks.toml");
        let study = Study::load(&path).unwrap();
        let lines: BTreeSet<String> = study
            .cases
            .iter()
            .map(|case| format!("{} {} {}", case.kernel, guest(case), others(case)))
            .collect();
        assert_eq!(lines.len(), study.cases.len(), "{lines:#?}");
    }

    #[test]
    fn every_setting_is_listed() {
        let mut case = Case::new("c", "debian:6.12");
        assert_eq!(
            (guest(&case).as_str(), others(&case).as_str()),
            ("2 CPUs, 512 MiB; measured: CPU 1", "no boot parameter")
        );
        case.sysctl.insert("vm.stat_interval".into(), "60".into());
        case.write.insert("/sys/kernel/mm/ksm/run".into(), "0".into());
        case.governor = Some("teo".into());
        let cpus: dyntick_model::CpuList = "1".parse().unwrap();
        let deadline = Policy::Deadline { runtime_ns: 5_000_000, period_ns: 10_000_000 };
        let work = Work::Tool(vec!["fio".into(), "job".into()]);
        let partition = Some(dyntick_guest::Partition::Isolated);
        case.tasks = vec![
            Task { cpus: cpus.clone(), policy: deadline, partition: None, to_its_end: false, work },
            Task {
                cpus: cpus.clone(),
                policy: Policy::Fifo(1),
                partition,
                to_its_end: false,
                work: Work::Spin,
            },
        ];
        case.script = Some(Script { cpus, run: vec!["true".into()], in_window: true });
        assert_eq!(
            others(&case),
            "no boot parameter; sysctl vm.stat_interval=60; write /sys/kernel/mm/ksm/run=0; governor teo; task on CPU 1, \
             deadline:5ms/10ms: fio job; task on CPU 1, fifo:1, isolated partition: spin; script on CPU 1, in the window: \
             true"
        );
    }

    #[test]
    fn disks_are_named_with_their_cases_if_these_differ() {
        let [small, large] = [64 << 20, 1 << 30];
        let in_short = |sizes: &[(&str, Option<u64>)]| {
            disks(sizes.iter().copied()).map(|message| message.split(", virtio").next().unwrap().to_owned())
        };
        assert_eq!(in_short(&[]), None);
        assert_eq!(in_short(&[("a", None)]), None);
        assert_eq!(in_short(&[("a", Some(small)), ("b", Some(small))]).unwrap(), "64 MiB");
        assert_eq!(in_short(&[("a", Some(small)), ("b", None)]).unwrap(), "64 MiB of a");
        let three = [("c", Some(large)), ("a", Some(small)), ("b", Some(small)), ("a", Some(small))];
        assert_eq!(in_short(&three).unwrap(), "64 MiB of a, b; 1024 MiB of c");
    }
}
