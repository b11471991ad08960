// SPDX-License-Identifier: GPL-2.0-only
//! `/proc/interrupts`: counts since the boot. Of several snapshots in one file the difference between the first and the
//! last is read.

use crate::Error;
use crate::metrics::{Collector, Kind};
use std::collections::BTreeMap;

const TOOL: &str = "/proc/interrupts";

/// More counts than these are read as sums over the CPUs only.
const MOST_COUNTS: usize = 5000;

/// One snapshot: the counts of each row by CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    cpus: Vec<u32>,
    /// The rows by their labels and, of numbered ones, their devices.
    pub rows: BTreeMap<String, Vec<u64>>,
}

/// Reads the snapshots.
pub fn parse(text: &str) -> Result<Vec<Snapshot>, Error> {
    let mut snapshots: Vec<Snapshot> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(cpus) = head(line) {
            snapshots.push(Snapshot { cpus, rows: BTreeMap::new() });
        } else if let Some(snapshot) = snapshots.last_mut() {
            let Some((label, rest)) = line.split_once(':').filter(|(label, _)| is_label(label.trim())) else {
                continue;
            };
            let words: Vec<&str> = rest.split_ascii_whitespace().collect();
            let counts: Vec<u64> =
                words.iter().take(snapshot.cpus.len()).map_while(|word| word.parse().ok()).collect();
            // Rows such as ERR have one count, whatever the number of CPUs.
            if counts.len() != snapshot.cpus.len() && words.len() != 1 || counts.is_empty() {
                return Err(Error::line(TOOL, index, line));
            }
            let label = label.trim();
            let device = words.last().filter(|_| label.parse::<u32>().is_ok() && words.len() > counts.len());
            let name =
                device.map_or(label.to_owned(), |device| format!("{label} {}", device.replace('/', "-")));
            snapshot.rows.insert(name, counts);
        }
    }
    if snapshots.iter().all(|snapshot| snapshot.rows.is_empty()) {
        return Err(Error::Nothing { tool: TOOL });
    }
    Ok(snapshots)
}

/// The CPUs of a header.
fn head(line: &str) -> Option<Vec<u32>> {
    let cpus = line.split_ascii_whitespace().map(|word| word.strip_prefix("CPU")?.parse().ok());
    cpus.collect::<Option<Vec<u32>>>().filter(|cpus| !cpus.is_empty())
}

fn is_label(label: &str) -> bool {
    !label.is_empty() && label.len() <= 8 && label.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

pub(crate) fn knows(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| head(line).is_none());
    lines.next().is_some()
        && lines
            .next()
            .is_some_and(|line| line.split_once(':').is_some_and(|(label, _)| is_label(label.trim())))
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let snapshots = parse(text)?;
    let (first, last) = (&snapshots[0], &snapshots[snapshots.len() - 1]);
    let several = snapshots.len() > 1;
    if several {
        into.note(format_args!(
            "the difference between the first and the last of {} snapshots is read",
            snapshots.len()
        ));
    } else {
        into.note("these count since the boot: put a second snapshot into the same file to compare what was between them");
    }
    let kind = Kind::UNWANTED.growing();
    let with_cpus = last.rows.len() * last.cpus.len() <= MOST_COUNTS;
    for (name, counts) in &last.rows {
        let before = first.rows.get(name).filter(|before| several && before.len() == counts.len());
        let since = |at: usize| counts[at].saturating_sub(before.map_or(0, |before| before[at])) as f64;
        let sum: f64 = (0..counts.len()).map(since).sum();
        into.value(&format!("interrupts/{name}"), kind, sum)?;
        for (at, cpu) in
            last.cpus.iter().enumerate().filter(|(at, _)| with_cpus && *at < counts.len() && counts.len() > 1)
        {
            into.value(&format!("interrupts/cpu{cpu}/{name}"), kind, since(at))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;
    use dyntick_stats::Values;

    #[test]
    fn snapshots_are_subtracted() {
        let snapshot = |loc: u32| {
            format!(
                "           CPU0       CPU1\n  24:   5   0  IR-PCI-MSI 1-edge  eth0\n LOC:   {loc}   7   Local timer interrupts\n ERR:   0\n"
            )
        };
        let text = format!("date\n{}{}", snapshot(100), snapshot(160));
        assert!(knows(&text) && !knows("CPU0\n"));
        let mut collector = Collector::new(TOOL, Clock::Wall);
        metrics(&text, &mut collector).unwrap();
        let output = collector.finish().unwrap();
        let value = |name: &str| {
            let found = output.metrics.iter().find(|(known, _)| known.as_str() == name);
            found.map(|(_, metric)| metric.values.clone())
        };
        assert_eq!(value("interrupts/cpu0/LOC"), Some(Values::Runs(vec![60.0])));
        assert_eq!(value("interrupts/24 eth0"), Some(Values::Runs(vec![0.0])));
        let torn = snapshot(1).replace("100", "x").replace("LOC:   1 ", "LOC:   x ");
        assert!(matches!(parse(&torn), Err(Error::Line { line: 3, .. })), "{torn}");
    }
}
