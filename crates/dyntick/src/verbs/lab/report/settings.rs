// SPDX-License-Identifier: GPL-2.0-only
//! The settings of a case, in a line: the difference between two cases must be visible.

use crate::few::few;
use dyntick_check::shell;
use dyntick_guest::{Policy, Script, Task, Work};
use dyntick_model::NANOS_PER_SEC;
use dyntick_study::Case;
use std::collections::BTreeMap;

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
    all.extend(pairs("sysctl", &case.sysctl));
    all.extend(pairs("write", &case.write));
    all.extend(case.machine.iter().map(|machine| format!("machine {}", machine.name)));
    all.extend(case.governor.iter().map(|governor| format!("governor {governor}")));
    all.extend((!case.modules.is_empty()).then(|| format!("modules {}", case.modules.join(" "))));
    all.extend(few(case.tasks.iter().map(task), MOST));
    all.extend(case.script.iter().map(script));
    all.join("; ")
}

/// The values that the case writes into sysctl and other files of the kernel; empty if none.
pub fn written(case: &Case) -> String {
    let all = [pairs("sysctl", &case.sysctl), pairs("write", &case.write)];
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

fn pairs(what: &str, settings: &BTreeMap<String, String>) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_study::Study;
    use std::collections::BTreeSet;
    use std::path::Path;

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
}
