// SPDX-License-Identifier: GPL-2.0-only
//! The subject of a verdict on a command: its program, or those that it started. The rule is in the book
//! (docs/src/verdicts.md).

use dyntick_count::Measured;
use dyntick_observe::live::{Key, Whose};
use dyntick_record::Ledger;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// The programs that start another one and are not meant themselves.
const WRAPPERS: [&str; 23] = [
    "bash",
    "chrt",
    "dash",
    "doas",
    "env",
    "ionice",
    "nice",
    "nohup",
    "numactl",
    "prlimit",
    "pyenv",
    "setarch",
    "setsid",
    "sh",
    "stdbuf",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "unshare",
    "xargs",
    "zsh",
];

/// The programs that start another one and work while it runs.
const TRACERS: [&str; 4] = ["gdb", "ltrace", "perf", "strace"];

/// The share of the time from which on a program counts.
const LEAST: f64 = 0.01;

/// The longest name of a task (`TASK_COMM_LEN`), without its terminator.
const LONGEST_NAME: usize = 15;

/// The programs whose time is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    name: String,
    /// The number of other programs of the command that had a part in it.
    others: usize,
}

impl Who {
    /// One program, or threads in words.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), others: 0 }
    }

    /// Returns "its", or "their" for several.
    pub fn its(&self) -> &'static str {
        if self.others == 0 { "its" } else { "their" }
    }

    /// Returns "it", or "they" for several.
    pub fn it(&self) -> &'static str {
        if self.others == 0 { "it" } else { "they" }
    }

    /// The command's program if it had a part of the time and is no wrapper; else the program with the longest time,
    /// tracers left out, and the number of the others.
    fn of(command: &[String], times: &BTreeMap<String, u64>) -> Option<Self> {
        let own = command.first().map(|program| program.rsplit('/').next().unwrap_or(program));
        let all: u64 = times.values().sum();
        let counts = |(_, ns): &(&String, &u64)| **ns > 0 && **ns as f64 >= all as f64 * LEAST;
        let known: Vec<(&String, &u64)> = times.iter().filter(counts).collect();
        let is_own = |name: &str| own.is_some_and(|own| own.chars().take(LONGEST_NAME).eq(name.chars()));
        let is_other = |name: &str| WRAPPERS.contains(&name) || TRACERS.contains(&name);
        if let Some((name, _)) = known.iter().find(|(name, _)| is_own(name) && !is_other(name)) {
            return Some(Self::named(name));
        }
        let is_traced = |(name, _): &&(&String, &u64)| !TRACERS.contains(&name.as_str());
        let traced: Vec<&(&String, &u64)> = known.iter().filter(is_traced).collect();
        match traced.iter().max_by_key(|(_, ns)| **ns) {
            Some((name, _)) => Some(Self { name: (*name).clone(), others: traced.len() - 1 }),
            None => own.map(Self::named),
        }
    }
}

impl Display for Who {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.others {
            0 => f.write_str(&self.name),
            1 => write!(f, "{} and 1 other", self.name),
            others => write!(f, "{} and {others} others", self.name),
        }
    }
}

/// The subject of a count: by the time that the command's tasks had the measured CPUs.
pub fn of_measured(measured: &Measured, command: &[String]) -> Who {
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    for (key, count) in measured.counts.iter().flat_map(|counts| counts.cpus.values()).flatten() {
        if let Key::Task { comm: Some(comm), whose: Whose::Command } = key {
            *times.entry(comm.to_string()).or_default() += count.ns;
        }
    }
    Who::of(command, &times).unwrap_or_else(|| Who::named("the process"))
}

/// The subject of a record: by the time that the threads ran, and wanted to.
pub fn of_recorded(ledger: Option<&Ledger>, command: &[String]) -> Option<Who> {
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    for one in ledger.iter().flat_map(|ledger| &ledger.by_thread) {
        let name = one.thread.rsplit_once(" [").map_or(one.thread.as_str(), |(comm, _)| comm);
        let ran = one.parts.get("ran").copied().unwrap_or(0);
        *times.entry(name.to_owned()).or_default() += ran + one.lost_ns;
    }
    Who::of(command, &times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(command: &str, times: &[(&str, u64)]) -> String {
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let times = times.iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect();
        Who::of(&command, &times).unwrap().to_string()
    }

    #[test]
    fn wrapper_is_not_the_subject() {
        assert_eq!(who("timeout 5 sh -c loop", &[("timeout", 1), ("sh", 2000)]), "sh");
        assert_eq!(who("/usr/bin/env python3 x", &[("env", 1), ("python3", 700)]), "python3");
        assert_eq!(who("sudo nice ./app", &[("sudo", 9), ("nice", 1), ("app", 90)]), "app and 2 others");
        assert_eq!(who("bash -c make", &[("bash", 2), ("make", 40), ("cc1", 900)]), "cc1 and 1 other");
        assert_eq!(who("strace ./app", &[("strace", 700), ("app", 90)]), "app");
        assert_eq!(who("sh -c loop", &[("sh", 700)]), "sh");
        assert_eq!(who("strace -p 1", &[("strace", 7)]), "strace");
    }

    #[test]
    fn program_is_the_subject_whatever_its_threads_are_called() {
        assert_eq!(who("java -jar x", &[("java", 50), ("http-nio-8080", 900)]), "java");
        assert_eq!(
            who("./a-program-with-a-long-name", &[("a-program-with-", 50), ("w", 900)]),
            "a-program-with-"
        );
        assert_eq!(who("server", &[]), "server");
    }
}
