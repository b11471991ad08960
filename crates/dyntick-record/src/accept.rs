// SPDX-License-Identifier: GPL-2.0-only
//! The checks of a record's values before anything is computed from them: of all values that later code divides by,
//! subtracts or allocates memory by. A record may be an untrusted file.

use crate::{About, IdleStates, Trigger};
use dyntick_model::{CpuList, IdleTable};
use dyntick_trace::Metadata;
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
/// The maximum memory of all lists of CPUs, bytes, of which a list of a few letters takes up to 1 KiB. It is enough for
/// 262 144 threads on 8192 CPUs.
const MOST_OF_LISTS: usize = 256 << 20;
/// The maximum number of values in `about.json`; a record of 100 000 threads has a million.
const MOST_VALUES: usize = 8 << 20;
/// The longest latency or residency of an idle state, µs: those in the kernel's tables are below 10 ms.
const LONGEST_US: u64 = 1_000_000_000;
/// The maximum number of remarks on a recording; dyntick makes a few.
const MOST_NOTES: usize = 1000;

/// A part of a record that can be checked.
///
pub(crate) trait Accept {
    /// Checks that the values are possible.
    ///
    /// # Errors
    /// The impossible value, in words.
    fn accept(&self) -> Result<(), String>;
}

impl Accept for About {
    fn accept(&self) -> Result<(), String> {
        let (begin, end) = self.window_ns;
        if end < begin {
            return Err(format!("window_ns: the end ({end}) is before the begin ({begin})"));
        }
        // Traces of other tools do not have it.
        let least = u32::from(self.foreign.is_none());
        if !(least..=MOST_HZ).contains(&self.machine.hz) {
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
            return Err(format!("machine.{what}: {} bytes, but the kernel has at most {most}", text.len()));
        }
        if self.notes.len() > MOST_NOTES {
            return Err(format!("notes: {}, but dyntick writes only a few", self.notes.len()));
        }
        if self.threads.len() > MOST_THREADS {
            return Err(format!("threads: {}, more than Linux has PIDs", self.threads.len()));
        }
        self.idle.as_ref().map_or(Ok(()), IdleStates::accept)?;
        self.trigger.as_ref().map_or(Ok(()), Trigger::accept)
    }
}

impl Accept for IdleStates {
    fn accept(&self) -> Result<(), String> {
        let states = || self.states.values().flatten();
        if self.states.values().any(|states| states.len() > IdleTable::MOST_STATES) {
            return Err(format!("idle: a CPU has more than {} states", IdleTable::MOST_STATES));
        }
        if states().any(|state| state.latency_us.max(state.residency_us) > LONGEST_US) {
            return Err(format!("idle: a state takes longer than {LONGEST_US} µs"));
        }
        let texts = [&self.driver, &self.governor].into_iter().chain(states().map(|state| &state.name));
        match texts.into_iter().find(|text| text.len() > LONGEST_NAME) {
            Some(text) => Err(format!("idle: a name has {} bytes", text.len())),
            None => Ok(()),
        }
    }
}

impl Accept for Metadata {
    fn accept(&self) -> Result<(), String> {
        self.problem().map_or(Ok(()), Err)?;
        match self.stats.keys().find(|cpu| **cpu >= MOST_CPUS) {
            Some(cpu) => {
                Err(format!("stats: CPU {cpu} is beyond {}, the highest CPU number of Linux", MOST_CPUS - 1))
            }
            None => Ok(()),
        }
    }
}

/// Checks that the values and the lists of CPUs in an `about.json` fit into memory, before they are parsed.
pub(crate) fn accept_size(about: &[u8]) -> Result<(), String> {
    let values = about.iter().filter(|byte| **byte == b',').count();
    if values > MOST_VALUES {
        return Err(format!("it has more than {MOST_VALUES} values"));
    }
    within(about, MOST_OF_LISTS)
}

fn within(about: &[u8], most: usize) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct Lists<'a> {
        #[serde(borrow, default)]
        threads: BTreeMap<i32, Thread<'a>>,
        machine: Option<Machine<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct Thread<'a> {
        #[serde(borrow)]
        cpus: Cow<'a, str>,
    }
    #[derive(serde::Deserialize)]
    struct Machine<'a> {
        #[serde(borrow)]
        irqs: BTreeMap<u32, Irq<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct Irq<'a> {
        #[serde(borrow)]
        affinity: Cow<'a, str>,
        #[serde(borrow)]
        effective: Cow<'a, str>,
    }
    // Any other structure is refused, because lists in it would not be counted.
    let Lists { threads, machine } = serde_json::from_slice(about).map_err(|error| error.to_string())?;
    let irqs = machine.iter().flat_map(|machine| machine.irqs.values());
    let lists = threads.values().map(|thread| &thread.cpus);
    let lists = lists.chain(irqs.flat_map(|irq| [&irq.affinity, &irq.effective]));
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    let mut all = 0;
    for text in lists {
        let size = || text.parse::<CpuList>().ok()?.last().map(|last| last as usize / 8 + 1);
        all += *sizes.entry(text).or_insert_with(|| size().unwrap_or(0));
        if all > most {
            return Err(format!("threads and irqs: their CPU lists take more than {most} bytes"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted_causes::tests::record;
    use dyntick_observe::facts::{Clocksource, Counts, Machine};
    use dyntick_trace::CpuStats;

    fn about() -> About {
        let record = record(Counts::default(), Counts::default(), "");
        let machine = Machine { clocksource: Clocksource::default(), ..record.machine };
        About { window_ns: (5, 5), machine, ..record }
    }

    #[test]
    fn impossible_values_are_named() {
        assert_eq!(about().accept(), Ok(()));
        let said = |change: fn(&mut About)| {
            let mut changed = about();
            change(&mut changed);
            changed.accept().unwrap_err()
        };
        assert_eq!(said(|about| about.window_ns = (5, 4)), "window_ns: the end (4) is before the begin (5)");
        assert_eq!(said(|about| about.machine.hz = 0), "machine.hz: 0 is not from 1 to 10000");
        assert_eq!(
            said(|about| about.machine.command_line = "x".repeat(70_000)),
            "machine.command_line: 70000 bytes, but the kernel has at most 65536"
        );
        assert_eq!(said(|about| about.cpus = "".parse().unwrap()), "cpus: no CPU was recorded");
    }

    #[test]
    fn impossible_metadata_is_refused() {
        let metadata = Metadata { page_size: 4096, ..Metadata::default() };
        assert_eq!(metadata.accept(), Ok(()));
        let beyond = [(8192, CpuStats::default())].into();
        let said = Metadata { stats: beyond, ..metadata.clone() }.accept().unwrap_err();
        assert_eq!(said, "stats: CPU 8192 is beyond 8191, the highest CPU number of Linux");
        let said = Metadata { page_size: 0, ..metadata }.accept().unwrap_err();
        assert!(said.starts_with("page_size: 0 "), "{said}");
    }

    #[test]
    fn lists_of_cpus_are_counted_before_they_are_parsed() {
        let about = br#"{"x": [1], "threads": {"1": {"cpus": "0-9"}, "2": {"cpus": "0-9", "y": 0}, "3": {"cpus": "?"}},
            "machine": {"irqs": {"7": {"affinity": "63", "effective": ""}}}}"#;
        assert_eq!(within(about, 12), Ok(()));
        let refused = "threads and irqs: their CPU lists take more than 11 bytes";
        assert_eq!(within(about, 11).unwrap_err(), refused);
        assert_eq!(accept_size(&b"[\"\",".repeat(9 << 20)).unwrap_err(), "it has more than 8388608 values");
        assert_eq!(within(b"{}", 0), Ok(()));
        // A structure may be an array of its fields.
        assert!(within(br#"{"threads": {"1": [[], "8191", "8191"]}}"#, 1 << 20).is_err());
        assert!(within(br#"{"machine": {"irqs": {"7": [[], "8191", "8191"]}}}"#, 1 << 20).is_err());
        assert!(within(br#"{"threads": {"1": ["x", "8191"]}}"#, 1 << 20).is_err());
    }
}
