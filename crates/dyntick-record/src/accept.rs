// SPDX-License-Identifier: GPL-2.0-only
//! What a record says must be possible before anything is computed from it: all that later code
//! divides by, subtracts or takes memory by. A record comes from a file, and a file from anybody.

use crate::About;
use dyntick_observe::trace::Metadata;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// CPU numbers end before this (`NR_CPUS` on x86 is at most 8192).
pub(crate) const MOST_CPUS: u32 = 8192;
/// `CONFIG_HZ` is at most 1000, or 1200 on alpha.
const MOST_HZ: u32 = 10_000;
/// `COMMAND_LINE_SIZE` is at most 4096 on any architecture, with room for a boot configuration.
const LONGEST_COMMAND_LINE: usize = 64 << 10;
/// `CS_NAME_LEN` is 32.
const LONGEST_NAME: usize = 256;
/// `kernel/pid.c: PID_MAX_LIMIT`.
const MOST_THREADS: usize = 4 << 20;
/// The CPUs that all threads together may run on: each is a number in memory, and a range is a few
/// letters in the file. Enough for 65 536 threads on 1024 CPUs.
const MOST_PLACES: usize = 64 << 20;

/// Whether a part of a record is possible.
///
/// # Errors
/// What is not, in words.
pub(crate) trait Accept {
    fn accept(&self) -> Result<(), String>;
}

impl Accept for About {
    fn accept(&self) -> Result<(), String> {
        let (begin, end) = self.window_ns;
        if end < begin {
            return Err(format!("window_ns: it ends at {end}, before it begins at {begin}"));
        }
        if !(1..=MOST_HZ).contains(&self.machine.hz) {
            return Err(format!("machine.hz: {} is not from 1 to {MOST_HZ}", self.machine.hz));
        }
        if self.cpus.is_empty() {
            return Err("cpus: no CPU was recorded".to_owned());
        }
        let words = [
            ("command_line", &self.machine.command_line, LONGEST_COMMAND_LINE),
            ("clocksource", &self.machine.clocksource.current, LONGEST_NAME),
        ];
        if let Some((what, text, most)) = words.into_iter().find(|(_, text, most)| text.len() > *most) {
            return Err(format!("machine.{what}: {} bytes, and the kernel has at most {most}", text.len()));
        }
        if self.threads.len() > MOST_THREADS {
            return Err(format!("threads: {} are more than Linux has numbers for", self.threads.len()));
        }
        Ok(())
    }
}

impl Accept for Metadata {
    fn accept(&self) -> Result<(), String> {
        self.problem().map_or(Ok(()), Err)?;
        match self.stats.keys().find(|cpu| **cpu >= MOST_CPUS) {
            Some(cpu) => {
                Err(format!("stats: CPU {cpu} is beyond {}, the last that Linux has", MOST_CPUS - 1))
            }
            None => Ok(()),
        }
    }
}

/// Whether the lists of CPUs in an `about.json` can be kept: looked at as texts, before they are lists.
pub(crate) fn accept_places(about: &[u8]) -> Result<(), String> {
    within(about, MOST_PLACES)
}

fn within(about: &[u8], most: usize) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct Threads<'a> {
        #[serde(borrow)]
        threads: BTreeMap<i32, Place<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct Place<'a> {
        #[serde(borrow)]
        cpus: Cow<'a, str>,
    }
    // What is no such text is told by whoever reads all of it.
    let Ok(Threads { threads }) = serde_json::from_slice(about) else { return Ok(()) };
    let mut lengths: HashMap<&str, usize> = HashMap::new();
    let mut places = 0;
    for thread in threads.values() {
        let text: &str = &thread.cpus;
        let length = lengths
            .entry(text)
            .or_insert_with(|| text.parse::<dyntick_model::CpuList>().map_or(0, |cpus| cpus.len()));
        places += *length;
        if places > most {
            return Err(format!("threads: together they may run on more than {most} CPUs"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_observe::facts::{Clocksource, Counts, Cpus, Machine, Owners};
    use dyntick_observe::trace::CpuStats;

    fn about() -> About {
        let machine = Machine {
            kernel: "6.12.95".parse().unwrap(),
            command_line: String::new(),
            hz: 250,
            cpus: Cpus::default(),
            clocksource: Clocksource::default(),
            sched_ext: Default::default(),
            irqs: BTreeMap::new(),
        };
        About {
            cpus: "3".parse().unwrap(),
            window_ns: (5, 5),
            command: Vec::new(),
            machine,
            threads: BTreeMap::new(),
            owners: Owners::default(),
            counts: (Counts::default(), Counts::default()),
            notes: Vec::new(),
        }
    }

    #[test]
    fn what_cannot_be_is_named() {
        assert_eq!(about().accept(), Ok(()));
        let said = |change: fn(&mut About)| {
            let mut changed = about();
            change(&mut changed);
            changed.accept().unwrap_err()
        };
        assert_eq!(said(|about| about.window_ns = (5, 4)), "window_ns: it ends at 4, before it begins at 5");
        assert_eq!(said(|about| about.machine.hz = 0), "machine.hz: 0 is not from 1 to 10000");
        assert_eq!(
            said(|about| about.machine.command_line = "x".repeat(70_000)),
            "machine.command_line: 70000 bytes, and the kernel has at most 65536"
        );
        assert_eq!(said(|about| about.cpus = "".parse().unwrap()), "cpus: no CPU was recorded");
    }

    #[test]
    fn metadata_of_no_machine() {
        let metadata = Metadata { page_size: 4096, ..Metadata::default() };
        assert_eq!(metadata.accept(), Ok(()));
        let beyond = [(8192, CpuStats::default())].into();
        let said = Metadata { stats: beyond, ..metadata.clone() }.accept().unwrap_err();
        assert_eq!(said, "stats: CPU 8192 is beyond 8191, the last that Linux has");
        let said = Metadata { page_size: 0, ..metadata }.accept().unwrap_err();
        assert!(said.starts_with("page_size: 0 "), "{said}");
    }

    #[test]
    fn lists_of_cpus_are_counted_before_they_are_kept() {
        let about = br#"{"x": [1], "threads": {"1": {"cpus": "0-9"}, "2": {"cpus": "0-9", "y": 0}, "3": {"cpus": "?"}}}"#;
        assert_eq!(within(about, 20), Ok(()));
        assert_eq!(within(about, 19).unwrap_err(), "threads: together they may run on more than 19 CPUs");
        assert_eq!(within(b"{}", 0), Ok(()));
    }
}
