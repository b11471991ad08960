// SPDX-License-Identifier: GPL-2.0-only
//! The counters of idle states since the boot: `grep . /sys/devices/system/cpu/cpu*/cpuidle/state*/*` and similar dumps
//! of these files, and `cpupower idle-info`. Of two snapshots in one file the difference is read. The table of
//! `cpupower monitor` has shares of its own interval.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_model::{CountedState, IdleSnapshot};
use dyntick_stats::{Better, Exposure};
use std::collections::BTreeMap;

const TOOL: &str = "idle counters";

/// The counters of a state that are read, by the names of their files.
const FILES: [&str; 5] = ["usage", "time", "above", "below", "rejected"];

/// Reads the snapshots in a dump or in the output of `cpupower idle-info`.
pub fn parse(text: &str) -> Result<Vec<IdleSnapshot>, Error> {
    let snapshots = if text.lines().any(is_analyzed) { of_cpupower(text)? } else { of_files(text)? };
    let has_counters = |snapshot: &IdleSnapshot| snapshot.values().any(|state| !state.counters.is_empty());
    if snapshots.iter().any(has_counters) { Ok(snapshots) } else { Err(Error::Nothing { tool: TOOL }) }
}

pub(crate) fn knows(text: &str) -> bool {
    text.lines().any(|line| is_analyzed(line) || file(line).is_some())
        && (text.contains("/cpuidle/state")
            || text.contains("CPUidle driver:")
            || text.contains("Number of idle states:"))
}

fn is_analyzed(line: &str) -> bool {
    line.starts_with("analyzing CPU ")
}

/// A file of a state, and its content if that is on the line.
struct File<'a> {
    place: (u32, u32),
    name: &'a str,
    value: &'a str,
}

/// Parses `…/cpu0/cpuidle/state1/usage:10233`, with a line number or ` = ` between them, and `==> … <==`.
fn file(line: &str) -> Option<File<'_>> {
    let (before, after) = line.split_once("/cpuidle/state")?;
    let cpu = before.rsplit_once("/cpu").map(|(_, cpu)| cpu).or(before.strip_prefix("cpu"))?;
    let (state, rest) = after.split_once('/')?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let (name, value) = rest.split_at(end);
    let value = value.trim_start_matches([':', '=', '|', ' ', '\t']).trim();
    let value = value.rsplit(':').next().unwrap_or(value);
    let value = if value == "<==" { "" } else { value };
    Some(File { place: (cpu.parse().ok()?, state.parse().ok()?), name, value })
}

fn of_files(text: &str) -> Result<Vec<IdleSnapshot>, Error> {
    let mut snapshots = vec![IdleSnapshot::new()];
    let mut named: Option<((u32, u32), &str)> = None;
    for (index, line) in text.lines().enumerate() {
        let found = match (file(line), named) {
            (Some(File { place, name, value: "" }), _) => {
                named = Some((place, name));
                continue;
            }
            (Some(file), _) => Some((file.place, file.name, file.value)),
            (None, Some((place, name))) if !line.trim().is_empty() => Some((place, name, line.trim())),
            (None, _) => None,
        };
        let Some((place, name, value)) = found else { continue };
        named = None;
        let state = |snapshots: &mut Vec<IdleSnapshot>| {
            let last = snapshots.len() - 1;
            snapshots[last].entry(place).or_default().clone()
        };
        if name == "name" {
            let known = state(&mut snapshots);
            if !known.name.is_empty() && !known.counters.is_empty() {
                snapshots.push(IdleSnapshot::new());
            }
            let last = snapshots.len() - 1;
            snapshots[last].entry(place).or_default().name = value.to_owned();
        } else if FILES.contains(&name) {
            let count = value.parse().map_err(|_| Error::line(TOOL, index, line))?;
            if state(&mut snapshots).counters.contains_key(name) {
                snapshots.push(IdleSnapshot::new());
            }
            let last = snapshots.len() - 1;
            snapshots[last].entry(place).or_default().counters.insert(name.to_owned(), count);
        } else if ["latency", "residency", "disable"].contains(&name) {
            let number: u64 = value.parse().map_err(|_| Error::line(TOOL, index, line))?;
            let last = snapshots.len() - 1;
            let state = snapshots[last].entry(place).or_default();
            match name {
                "latency" => state.latency_us = Some(number),
                "residency" => state.residency_us = Some(number),
                _ => state.disabled = Some(number != 0),
            }
        }
    }
    Ok(snapshots)
}

fn of_cpupower(text: &str) -> Result<Vec<IdleSnapshot>, Error> {
    let mut snapshots = vec![IdleSnapshot::new()];
    let (mut cpu, mut state, mut name, mut disabled) = (0, 0, String::new(), false);
    let mut times = (None, None);
    for (index, line) in text.lines().enumerate() {
        let wrong = || Error::line(TOOL, index, line);
        let Some((label, value)) = line.split_once(':') else { continue };
        let (label, value) = (label.trim(), value.trim());
        if is_analyzed(line) {
            cpu = label.trim_start_matches("analyzing CPU ").parse().map_err(|_| wrong())?;
            state = 0;
            if snapshots.last().is_some_and(|snapshot| snapshot.contains_key(&(cpu, 1))) {
                snapshots.push(IdleSnapshot::new());
            }
        } else if label == "Latency" {
            times.0 = value.parse().ok();
        } else if label == "Residency" {
            times.1 = value.parse().ok();
        } else if let ("Usage" | "Duration", last) = (label, snapshots.len() - 1) {
            let counter = if label == "Usage" { "usage" } else { "time" };
            let count = value.parse().map_err(|_| wrong())?;
            let entry = snapshots[last].entry((cpu, state)).or_default();
            entry.name.clone_from(&name);
            entry.counters.insert(counter.to_owned(), count);
            entry.disabled = Some(disabled);
            (entry.latency_us, entry.residency_us) = times;
        } else if value.is_empty() && !label.contains(' ') || label.ends_with("(DISABLED)") {
            disabled = label.ends_with("(DISABLED)");
            name = label.trim_end_matches("(DISABLED)").trim().to_owned();
            times = (None, None);
            state += 1;
        }
    }
    Ok(snapshots)
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let snapshots = parse(text)?;
    let (first, last) = (&snapshots[0], &snapshots[snapshots.len() - 1]);
    if snapshots.len() > 1 {
        into.note(format_args!(
            "the difference between the first and the last of {} snapshots is read",
            snapshots.len()
        ));
    } else {
        into.note(
            "these count since the boot: compare their shares, or put a second snapshot into the same file",
        );
    }
    let mut cpus: BTreeMap<u32, Vec<CountedState>> = BTreeMap::new();
    for (place, state) in last {
        let before = first.get(place).filter(|_| snapshots.len() > 1);
        let since = |(counter, count): (&String, &u64)| {
            let before = before.and_then(|state| state.counters.get(counter)).copied().unwrap_or(0);
            (counter.clone(), count.saturating_sub(before))
        };
        let name = first.get(place).map_or("", |state| state.name.as_str());
        let name = if state.name.is_empty() { name } else { &state.name };
        let name = if name.is_empty() { format!("state{}", place.1) } else { name.replace('/', "-") };
        let counters = state.counters.iter().map(since).collect();
        cpus.entry(place.0).or_default().push(CountedState { name, counters, ..CountedState::default() });
    }
    cpus.into_iter().try_for_each(|(cpu, states)| put(cpu, &states, into))
}

fn put(cpu: u32, states: &[CountedState], into: &mut Collector) -> Result<(), Error> {
    let sum = |counter: &str| {
        states
            .iter()
            .filter_map(|state| state.counters.get(counter))
            .fold(0, |sum: u64, count| sum.saturating_add(*count))
    };
    let (entries, time) = (sum("usage"), sum("time"));
    into.watched(Exposure { samples: (entries > 0).then_some(entries), ..Exposure::default() });
    let unknown = |unit| Kind::new(unit, Better::Unknown);
    for CountedState { name, counters, .. } in states {
        let name = |what: &str| format!("idle/cpu{cpu}/{name}/{what}");
        for (counter, count) in counters {
            let (word, kind, factor) = match counter.as_str() {
                "usage" => ("entries", unknown("").growing(), 1.0),
                "time" => ("time", unknown("ns").growing(), 1e3),
                // The state was deeper than the sleep was long, or a deeper one would have paid.
                "above" => ("too deep", Kind::UNWANTED.growing(), 1.0),
                "below" => ("too shallow", Kind::UNWANTED.growing(), 1.0),
                other => (other, Kind::UNWANTED.growing(), 1.0),
            };
            into.value(&name(word), kind, *count as f64 * factor)?;
        }
        for (counter, all, word) in
            [("usage", entries, "share of entries"), ("time", time, "share of idle time")]
        {
            if let Some(count) = counters.get(counter).filter(|_| all > 0) {
                into.value(&name(word), Kind::SHARE, *count as f64 / all as f64 * 100.0)?;
            }
        }
    }
    Ok(())
}

/// Returns true for the table of `cpupower monitor`.
pub(crate) fn knows_monitor(text: &str) -> bool {
    text.lines().any(is_monitor_head)
}

fn is_monitor_head(line: &str) -> bool {
    line.contains("CPU|") && line.contains("||") && line.contains(" C0")
}

/// Reads each row of `cpupower monitor`: percents, and the frequency in MHz.
pub(crate) fn metrics_of_monitor(text: &str, into: &mut Collector) -> Result<(), Error> {
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| is_monitor_head(line)).ok_or(Error::Nothing { tool: TOOL })?;
    let titles: Vec<&str> =
        head.checked_sub(1).map_or(Vec::new(), |above| lines[above].split("||").collect());
    let title = |section: usize| {
        titles.get(section).and_then(|title| title.rsplit('|').next()).map_or("", str::trim).to_owned()
    };
    let mut columns: Vec<(String, &str)> = Vec::new();
    for (number, section) in lines[head].split("||").enumerate() {
        columns.extend(section.split('|').map(|column| (title(number), column.trim())));
    }
    for (index, line) in lines.iter().enumerate().skip(head + 1).filter(|(_, line)| line.contains('|')) {
        let cells: Vec<&str> = line.split('|').filter(|cell| !cell.is_empty()).map(str::trim).collect();
        let row: Vec<_> = columns.iter().zip(&cells).collect();
        let cpu = row
            .iter()
            .find(|((_, column), _)| *column == "CPU")
            .and_then(|(_, cell)| cell.parse::<u32>().ok());
        let cpu =
            cpu.filter(|_| cells.len() == columns.len()).ok_or_else(|| Error::line(TOOL, index, line))?;
        for ((title, column), cell) in
            row.into_iter().filter(|((_, column), _)| !["PKG", "CORE", "CPU"].contains(column))
        {
            // An asterisk stands for a CPU that is offline.
            let Some(value) = number(cell) else { continue };
            let kind = if *column == "Freq" { Kind::new("MHz", Better::Unknown) } else { Kind::SHARE };
            into.value(&format!("cpupower/cpu{cpu}/{title}/{column}"), kind, value)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::values;
    use dyntick_model::Clock;

    fn read(text: &str, metrics: fn(&str, &mut Collector) -> Result<(), Error>) -> BTreeMap<String, f64> {
        values(TOOL, |into| metrics(text, into)).unwrap()
    }

    #[test]
    fn dumps_of_sysfs_are_read() {
        let path = "/sys/devices/system/cpu/cpu3/cpuidle/state";
        let text = format!(
            "{path}0/name:POLL\n{path}1/name:C1\n{path}0/usage:100\n{path}1/usage:300\n{path}1/above:7\n"
        );
        assert!(knows(&text));
        let one = read(&text, metrics);
        assert_eq!((one["idle/cpu3/C1/entries"], one["idle/cpu3/C1/share of entries"]), (300.0, 75.0));
        assert_eq!(one["idle/cpu3/C1/too deep"], 7.0);
        let later = text.replace("300", "301").replace("100", "103");
        assert_eq!(read(&(text.clone() + &later), metrics)["idle/cpu3/POLL/entries"], 3.0, "a difference");
        for form in [text.replace("usage:", "usage:1:"), text.replace("usage:", "usage = ")] {
            assert_eq!(read(&form, metrics), one);
        }
        let heads = format!("==> {path}1/usage <==\n300\n\n==> {path}1/name <==\nC1\n");
        assert_eq!(read(&heads, metrics)["idle/cpu3/C1/entries"], 300.0);
        assert!(matches!(
            metrics(&text.replace("300", "x"), &mut Collector::new(TOOL, Clock::Wall)),
            Err(Error::Line { .. })
        ));
    }

    #[test]
    fn cpupower_is_read() {
        let text = "CPUidle driver: intel_idle\nanalyzing CPU 2:\n\nNumber of idle states: 2\nPOLL:\nFlags/Description: X\n\
                    Latency: 0\nUsage: 10\nDuration: 100\nC1_ACPI (DISABLED) :\nLatency: 1\nUsage: 30\nDuration: 300\n";
        assert!(knows(text));
        let found = read(text, metrics);
        assert_eq!(
            (found["idle/cpu2/C1_ACPI/time"], found["idle/cpu2/POLL/share of idle time"]),
            (300_000.0, 25.0)
        );
        let table = "    | Nehalem     || Mperf              || Idle_Stats\n CPU| C3   | C6   || C0   | Cx   | Freq || POLL\n\
                     \x20  0|  0.00|  2.65||  1.06| 98.94|  5483||  0.01\n";
        assert!(knows_monitor(table));
        let found = read(table, metrics_of_monitor);
        assert_eq!((found["cpupower/cpu0/Mperf/Freq"], found["cpupower/cpu0/Nehalem/C6"]), (5483.0, 2.65));
    }
}
