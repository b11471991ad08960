// SPDX-License-Identifier: GPL-2.0-only
//! The contents of a file beside its pages: formats of events, names, counters.

use crate::clock::Scale;
use dyntick_model::text::{clean_line, shortened};
use dyntick_trace::{CpuStats, Format, events};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum length of the name of an event or a task, bytes.
const LONGEST_NAME: usize = 120;
/// CPU numbers end before this (`NR_CPUS` on x86 is at most 8192).
pub(super) const MOST_CPUS: u32 = 8192;
/// The maximum number of names of tasks; tracefs has at most some thousand.
const MOST_NAMES: usize = 1 << 18;

#[derive(Debug, Default)]
pub(super) struct Contents {
    pub formats: BTreeMap<String, String>,
    pub clock: String,
    pub cycles: Option<Scale>,
    pub release: Option<String>,
    pub architecture: Option<String>,
    pub tool: Option<String>,
    pub cpus: Option<u32>,
    pub names: BTreeMap<i32, String>,
    pub stats: BTreeMap<u32, CpuStats>,
    pub kallsyms: Vec<u8>,
    pub notes: Vec<String>,
    /// The numbers of events that have a format already.
    ids: BTreeSet<u16>,
}

impl Contents {
    /// Adds the format of an event. One that cannot be read, e.g. because this kernel names a field otherwise, is only
    /// counted, and one without a number is left out.
    pub fn format(&mut self, system: &str, text: &str) {
        let name = text.lines().find_map(|line| line.strip_prefix("name:")).unwrap_or_default().trim();
        let event = clean_line(&format!("{system}:{name}"));
        let Ok(format) = Format::parse(&event, text) else { return };
        if name.is_empty() || event.len() > LONGEST_NAME || !self.ids.insert(format.id) {
            return;
        }
        let readable = events::is_readable(&event, &format);
        if !readable && events::is_read(&event) {
            self.notes.push(format!("its event {event} has other fields than are known, and is not used"));
        }
        let text = if readable { text.to_owned() } else { format!("name: {name}\nID: {}\n", format.id) };
        // An event that is read has this name; another name only counts it.
        let event =
            if readable || !events::is_read(&event) { event } else { format!("{event} (unknown fields)") };
        self.formats.insert(event, text);
    }

    /// Reads the lines `PID COMM` of `saved_cmdlines`.
    pub fn command_lines(&mut self, text: &[u8]) {
        for line in String::from_utf8_lossy(text).lines() {
            let Some((pid, comm)) = line.split_once(' ') else { continue };
            if let (Ok(pid), true) = (pid.parse(), self.names.len() < MOST_NAMES) {
                self.names.insert(pid, clean_line(&shortened(comm, LONGEST_NAME)));
            }
        }
    }

    /// Reads the text of `uname`: system, host, release and machine. The host is not kept.
    pub fn uname(&mut self, text: &str) {
        let mut words =
            text.split_ascii_whitespace().skip(2).map(|word| clean_line(&shortened(word, LONGEST_NAME)));
        (self.release, self.architecture) = (words.next(), words.next());
    }

    /// Reads the text of a CPU's `stats` file. Instances have their own, which add up.
    pub fn counters(&mut self, text: &str) {
        let number = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
            line.trim().parse::<u64>().ok()
        };
        let Some(cpu) = number("CPU").and_then(|cpu| u32::try_from(cpu).ok()).filter(|cpu| *cpu < MOST_CPUS)
        else {
            return;
        };
        let lost = ["overrun", "commit overrun", "dropped events"].map(|key| number(key).unwrap_or(0));
        let own = self.stats.entry(cpu).or_default();
        own.entries = own.entries.saturating_add(number("entries").unwrap_or(0));
        own.lost = lost.into_iter().fold(own.lost, u64::saturating_add);
    }

    /// Makes sure that these CPUs have counters.
    pub fn stats_of<'a>(&mut self, cpus: impl Iterator<Item = &'a u32>) {
        cpus.for_each(|cpu| _ = self.stats.entry(*cpu).or_default());
    }
}
