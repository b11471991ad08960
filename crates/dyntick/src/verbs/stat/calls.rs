// SPDX-License-Identifier: GPL-2.0-only
//! The calls of the kernel's functions, as tables and histograms by powers of two.

use dyntick_count::TimedCalls;
use dyntick_observe::live::{CallCount, FunctionCalls, ProbeCost};
use dyntick_report::{Block, Cell, Column, Table, numbers, row};

/// The calls of one function on one CPU.
pub struct OnCpu<'c> {
    /// The function.
    pub function: &'c str,
    /// The CPU.
    pub cpu: u32,
    /// Its calls on the CPU.
    pub count: &'c CallCount,
}

/// The number of columns of counts that fit next to the bars.
const COLUMNS: usize = 4;
/// The longest bar.
const BAR: u64 = 32;

/// Each function on each CPU.
pub fn each_cpu(calls: &TimedCalls) -> impl Iterator<Item = OnCpu<'_>> {
    calls.functions.iter().flat_map(on_cpus)
}

/// Two tables for each function: of this number of runs with this total of seconds, and with a row for each CPU
/// unless they are shown together.
pub fn blocks(calls: &TimedCalls, seconds: f64, runs: usize, each_cpu: bool) -> Vec<Block> {
    let of = |function: &FunctionCalls| -> Vec<Block> {
        let durations = durations(function, seconds, runs, each_cpu);
        let octaves = octaves(function, each_cpu);
        [Some(durations), octaves].into_iter().flatten().map(Block::Table).collect()
    };
    calls.functions.iter().flat_map(of).collect()
}

/// The cost of each probe, in a sentence.
pub fn probes(calls: &TimedCalls) -> Vec<String> {
    let within = if calls.with_others {
        " The programs that count interruptions may run within these calls; use -e none to leave them out."
    } else {
        ""
    };
    calls.costs.iter().map(|cost| words(cost) + within).collect()
}

fn on_cpus(function: &FunctionCalls) -> Vec<OnCpu<'_>> {
    let cpus = function.cpus.iter();
    cpus.map(|(cpu, count)| OnCpu { function: &function.name, cpu: *cpu, count }).collect()
}

fn words(cost: &ProbeCost) -> String {
    let pair = cost.pair.name();
    match &cost.measured {
        Ok(cost) => format!(
            "Probe: {pair}; it adds {} to each call, of which at most {} are in the figures; measured on {} calls \
             of getppid() on CPU {}.",
            numbers::duration(cost.added_ns),
            numbers::duration(cost.inside_ns as f64),
            numbers::count(cost.calls),
            cost.cpu
        ),
        Err(error) => format!("Probe: {pair}; its cost could not be measured: {error}."),
    }
}

fn durations(function: &FunctionCalls, seconds: f64, runs: usize, each_cpu: bool) -> Table {
    let all = function.together();
    let mut lines: Vec<(String, &CallCount)> = Vec::new();
    if each_cpu {
        lines.extend(function.cpus.iter().map(|(cpu, count)| (cpu.to_string(), count)));
    }
    if !each_cpu || function.cpus.len() > 1 {
        lines.push(("all".to_owned(), &all));
    }
    let row = |(name, count): (String, &CallCount)| {
        let duration = |ns: Option<f64>| Cell::or_blank(ns.map(Cell::Duration));
        row![
            name,
            Cell::Count(count.ended()),
            Cell::Rate(count.ended() as f64 / seconds),
            duration((count.ended() > 0).then_some(count.ns as f64)),
            duration(count.mean_ns()),
            duration(count.shortest_ns.map(|ns| ns as f64)),
            duration(count.longest_ns.map(|ns| ns as f64)),
        ]
    };
    let runs = match runs {
        1 => String::new(),
        runs => format!(", {runs} runs together"),
    };
    Table {
        caption: format!(
            "Calls of {}(), including interrupts and sleep, by {}{runs}",
            function.name,
            function.pair.name()
        ),
        columns: vec![
            Column::figure("CPU", ""),
            Column::figure("calls", ""),
            Column::figure("per s", ""),
            Column::figure("total", ""),
            Column::figure("mean", ""),
            Column::figure("shortest", ""),
            Column::longest(),
        ],
        rows: lines.into_iter().map(row).collect(),
        notes: lost(function.missed, &all),
    }
}

/// The calls that were not timed, and the reasons.
fn lost(missed: u64, all: &CallCount) -> Vec<String> {
    let reasons = [
        (all.no_room, "calls were not timed: too many were in progress at the same time"),
        (missed, "entries and returns were not seen: they came while their own program ran"),
        (
            all.unpaired,
            "calls returned whose entry was not seen: it came earlier, or on a CPU that is not measured",
        ),
    ];
    let lost = reasons.into_iter().filter(|(count, _)| *count > 0);
    lost.map(|(count, what)| format!("{} {what}.", numbers::count(count))).collect()
}

/// The histogram in bpftrace's format: each octave between the first and the last, with a bar. `None` without calls.
fn octaves(function: &FunctionCalls, each_cpu: bool) -> Option<Table> {
    let all = function.together();
    let used = |(_, count): &(usize, &u64)| **count > 0;
    let mut places = all.octaves.iter().enumerate().filter(used).map(|(place, _)| place);
    let first = places.next()?;
    let last = places.next_back().unwrap_or(first);
    let cpus: Vec<(&u32, &CallCount)> = function.cpus.iter().collect();
    let apart = each_cpu && cpus.len() > 1 && cpus.len() <= COLUMNS;
    let shown: Vec<(String, &CallCount)> = if apart {
        cpus.iter().map(|(cpu, count)| (format!("CPU {cpu}"), *count)).collect()
    } else {
        Vec::new()
    };
    let highest = all.octaves.iter().copied().max().unwrap_or(1);
    let row = |place: usize| {
        let counts = shown.iter().map(|(_, count)| *count).chain([&all]).map(|count| count.octaves[place]);
        // Any count above zero has a bar.
        let bar = (all.octaves[place] * BAR).div_ceil(highest);
        let bar: String = std::iter::repeat_n('@', bar as usize).collect();
        [range(place).into()].into_iter().chain(counts.map(Cell::Count)).chain([bar.into()]).collect()
    };
    let columns =
        [Column::text("ns")].into_iter().chain(shown.iter().map(|(name, _)| Column::figure(name, "")));
    let columns = columns.chain([Column::figure(if apart { "all" } else { "calls" }, ""), Column::text("")]);
    Some(Table {
        caption: String::new(),
        columns: columns.collect(),
        rows: (first..=last).map(row).collect(),
        notes: Vec::new(),
    })
}

/// The range of an octave in bpftrace's format: `[512, 1K)`, with 1K = 1024. The last octave has no end.
fn range(octave: usize) -> String {
    let octaves = CallCount::default().octaves.len();
    let number = |power: usize| match power {
        0..10 => (1u64 << power).to_string(),
        10..20 => format!("{}K", 1 << (power - 10)),
        20..30 => format!("{}M", 1 << (power - 20)),
        30..40 => format!("{}G", 1 << (power - 30)),
        _ => format!("{}T", 1u64 << (power - 40)),
    };
    match octave {
        0 => "[0, 2)".to_owned(),
        _ if octave + 1 == octaves => format!("[{}, ...)", number(octave)),
        _ => format!("[{}, {})", number(octave), number(octave + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_observe::live::{Cost, Pair};
    use dyntick_report::Document;

    fn count(calls: &[u64]) -> CallCount {
        let mut count = CallCount {
            ns: calls.iter().sum(),
            shortest_ns: calls.iter().min().copied(),
            longest_ns: calls.iter().max().copied(),
            began: calls.len() as u64,
            ..CallCount::default()
        };
        calls.iter().for_each(|ns| count.octaves[ns.max(&1).ilog2() as usize] += 1);
        count
    }

    fn timed() -> TimedCalls {
        let some = [vec![600; 40], vec![900, 1500, 1500, 5000]].concat();
        let strange = CallCount { no_room: 12_345, unpaired: 2, ..count(&[1, 100]) };
        let function = |name: &str, pair, cpus: Vec<(u32, CallCount)>| FunctionCalls {
            name: name.to_owned(),
            pair,
            cpus: cpus.into_iter().collect(),
            missed: 0,
        };
        let measured = Ok(Cost { added_ns: 84.6, inside_ns: 41, calls: 10_000, cpu: 0 });
        TimedCalls {
            functions: vec![
                function("hrtimer_interrupt", Pair::Trampoline, vec![(2, count(&some)), (3, count(&[700]))]),
                function("strange.isra.0", Pair::Probes, vec![(2, strange), (3, count(&[]))]),
                function("never", Pair::Probes, vec![(2, count(&[])), (3, count(&[]))]),
            ],
            costs: vec![
                ProbeCost { pair: Pair::Trampoline, measured },
                ProbeCost { pair: Pair::Probes, measured: Err("no room".to_owned()) },
            ],
            with_others: true,
        }
    }

    fn text(calls: &TimedCalls, runs: usize, each_cpu: bool) -> String {
        let probes = probes(calls).into_iter().map(Block::Paragraph);
        let blocks = blocks(calls, 2.0, runs, each_cpu).into_iter().chain(probes).collect();
        dyntick_report::terminal(&Document { blocks, ..Document::default() }, 100, false)
    }

    #[test]
    fn calls_are_shown_in_tables() {
        insta::assert_snapshot!("calls", text(&timed(), 1, true));
        insta::assert_snapshot!("calls_together", text(&timed(), 5, false));
    }

    #[test]
    fn json_has_all_figures() {
        let value = serde_json::to_value(dyntick_contract::stat::PrintedCalls::of(&timed())).unwrap();
        insta::assert_snapshot!("calls_json", serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn ranges_are_written_as_by_bpftrace() {
        let ranges = [0, 1, 8, 9, 10, 19, 20, 47].map(range);
        let expected = [
            "[0, 2)",
            "[2, 4)",
            "[256, 512)",
            "[512, 1K)",
            "[1K, 2K)",
            "[512K, 1M)",
            "[1M, 2M)",
            "[128T, ...)",
        ];
        assert_eq!(ranges, expected);
    }

    #[test]
    fn runs_are_added() {
        let mut sum = timed();
        sum.add(&timed());
        assert_eq!(sum.functions[0].together().ended(), 90);
        assert_eq!(each_cpu(&sum).count(), 6);
    }
}
