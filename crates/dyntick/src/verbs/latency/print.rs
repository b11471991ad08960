// SPDX-License-Identifier: GPL-2.0-only
//! The figures as cyclictest prints them.

use super::arguments::Arguments;
use crate::output;
use anyhow::Result;
use dyntick_formats::cyclictest::{Column, Columns, Json, JsonThread, Machine, Status, Unit};
use dyntick_latency::{Counts, Plan, Policy, Shared, node_of};
use std::fmt::Write;
use std::path::Path;

/// The unit in which latencies are printed.
pub fn unit(arguments: &Arguments) -> Unit {
    if arguments.nsecs { Unit::Nano } else { Unit::Micro }
}

/// The status line of a thread.
pub fn status(plan: &Plan, shared: &Shared, number: usize, unit: Unit) -> Status {
    let (own, counts) = (plan.threads[number], &shared.threads[number]);
    let whole = |ns: u64| ns / unit.ns();
    Status {
        unit,
        number,
        tid: counts.tid(),
        priority: own.priority,
        interval_us: own.interval_ns / 1000,
        cycles: counts.cycles(),
        // cyclictest's value for none.
        min: counts.min().map_or(1_000_000, whole),
        act: whole(counts.last()),
        average: (counts.mean() / unit.ns() as f64) as u64,
        max: whole(counts.max()),
        smi: plan.smi.then(|| counts.smi()),
    }
}

/// All status lines.
pub fn statuses(plan: &Plan, shared: &Shared, unit: Unit) -> String {
    (0..plan.threads.len()).map(|number| format!("{}\n", status(plan, shared, number, unit))).collect()
}

/// The line above the status lines, and the empty one after it.
pub fn heading(policy: Policy) -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    // cyclictest prints this name twice.
    let second = if policy == Policy::Other { "/other" } else { "" };
    format!("policy: {}{second}: loadavg: {}          \n\n", policy.name(), load.trim_end())
}

/// The position in the latencies that `--verbose` prints.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// The next wake-up to read.
    from: u64,
    /// The largest latency of the present group with its wake-up, and the number of latencies in the group.
    largest: (u64, u64),
    group: u64,
}

impl Values {
    /// Prints the new latencies of a thread, only the largest of each group of `reduce`.
    pub fn lines(&mut self, number: usize, counts: &Counts, reduce: u64, unit: Unit, text: &mut String) {
        for (cycle, ns) in counts.values(self.from) {
            self.from = cycle + 1;
            if self.group == 0 || ns > self.largest.1 {
                self.largest = (cycle, ns);
            }
            self.group += 1;
            if self.group == reduce {
                let (cycle, ns) = self.largest;
                let _ = writeln!(text, "{number:8}:{cycle:8}:{:8}", ns / unit.ns());
                self.group = 0;
            }
        }
    }
}

fn column(plan: &Plan, shared: &Shared, number: usize, unit: Unit) -> Column {
    let counts = &shared.threads[number];
    Column {
        counts: counts.bins(),
        overflows: counts.overflows(),
        overflow_cycles: counts.overflow_cycles(),
        status: status(plan, shared, number, unit),
    }
}

/// Prints the histogram, or writes it into a file.
pub fn histogram(arguments: &Arguments, plan: &Plan, shared: &Shared) -> Result<()> {
    let unit = unit(arguments);
    let threads = (0..plan.threads.len()).map(|number| column(plan, shared, number, unit)).collect();
    let columns = Columns { threads, limit: plan.bins, sum: arguments.histofall.is_some() };
    let mut text = Vec::new();
    columns.write(&mut text)?;
    match &arguments.histfile {
        Some(path) => output::file(path, &text),
        None => output::rendered(String::from_utf8_lossy(&text)),
    }
}

/// The list of `--spike`.
pub fn spikes(shared: &Shared, above_ns: u64, unit: Unit, most: usize) -> String {
    let spikes: Vec<_> =
        shared.lates.kept().into_iter().filter(|late| late.latency_ns() / unit.ns() > above_ns).collect();
    let mut text = String::new();
    if spikes.is_empty() {
        return text;
    }
    text += "\n";
    for late in spikes.iter().take(most) {
        let (thread, latency) = (late.thread, late.latency_ns() / unit.ns());
        let _ = writeln!(text, "T:{thread:2} Spike:{latency:8}: TS: {:12}", late.woke_ns / 1000);
    }
    let _ = write!(text, "spikes = {}\n\n", shared.lates.count());
    text
}

/// Writes the file of `--json`.
pub fn json(
    path: &Path,
    arguments: &Arguments,
    plan: &Plan,
    shared: &Shared,
    times: (String, String),
    more: Vec<(String, serde_json::Value)>,
) -> Result<()> {
    let unit = unit(arguments);
    let thread = |number: usize| {
        let cpu = plan.threads[number].cpu;
        JsonThread {
            column: column(plan, shared, number, unit),
            mean: shared.threads[number].mean() / unit.ns() as f64,
            cpu: cpu.map_or(-1, i64::from),
            node: cpu.and_then(node_of).map_or(-1, i64::from),
        }
    };
    let json = Json {
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        times,
        machine: machine(),
        unit,
        threads: (0..plan.threads.len()).map(thread).collect(),
        more,
    };
    let mut text = Vec::new();
    json.write(&mut text)?;
    output::file(path, output::harmless_json(&String::from_utf8_lossy(&text)).as_bytes())
}

fn machine() -> Machine {
    let file = |name: &str| std::fs::read_to_string(name).unwrap_or_default().trim_end().to_owned();
    let kernel = |name: &str| file(&format!("/proc/sys/kernel/{name}"));
    Machine {
        sysname: kernel("ostype"),
        nodename: kernel("hostname"),
        release: kernel("osrelease"),
        version: kernel("version"),
        machine: std::env::consts::ARCH.to_owned(),
        realtime: file("/sys/kernel/realtime") == "1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_name_the_policy() {
        assert!(heading(Policy::Fifo).starts_with("policy: fifo: loadavg: "));
        assert!(heading(Policy::Other).starts_with("policy: other/other: loadavg: "));
        assert!(heading(Policy::Fifo).ends_with("          \n\n"));
    }
}
