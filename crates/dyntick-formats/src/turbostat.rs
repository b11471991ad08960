// SPDX-License-Identifier: GPL-2.0-only
//! The output of turbostat (Linux 6.1 to 7.2, `tools/power/x86/turbostat/turbostat.c`: `print_header`,
//! `format_counters`): a header, a row for the complete machine, whose CPU is `-`, and a row for each CPU. With
//! `--Summary` there are only rows for the machine. The columns depend on machine, version and options, so the header
//! decides and nothing is inferred. Rows of a core's second thread are shorter: figures of the core or the package are
//! in the first thread's row.

use crate::metrics::{Collector, Kind};
use crate::text::number;
use crate::{Error, MAX_METRICS};
use dyntick_stats::{Better, Exposure};
use std::collections::{BTreeMap, HashMap};

const TOOL: &str = "turbostat";

/// The means over the intervals, by CPU (`None` for the machine) and column, in the header's order.
pub type Means = BTreeMap<Option<u32>, Vec<(String, f64)>>;

/// The columns that identify a row's place and time, and are not measurements.
const PLACES: [&str; 9] =
    ["usec", "Time_Of_Day_Seconds", "Package", "Die", "Node", "Core", "CPU", "APIC", "X2APIC"];

/// The columns of which a header has at least one.
const MARKS: [&str; 12] = [
    "Avg_MHz", "Busy%", "Bzy_MHz", "TSC_MHz", "POLL%", "C1%", "CPU%c1", "CPU%c6", "Pkg%pc2", "Pkg%pc6",
    "PkgWatt", "Pkg_J",
];

/// The largest number of columns; real machines have about a hundred.
const MAX_COLUMNS: usize = 1000;

/// Reads the means; every interval has the same weight.
pub fn parse(text: &str) -> Result<Means, Error> {
    let mut sums = Sums::default();
    let mut columns: Vec<&str> = Vec::new();
    let headers = text.lines().filter(|line| is_header(line)).count();
    let mut row_of_block = 0;
    for (index, line) in text.lines().enumerate() {
        if is_header(line) {
            columns = cells(line);
            row_of_block = 0;
        } else if !columns.is_empty() && !line.trim().is_empty() && !line.starts_with("turbostat:") {
            let row = row(&columns, line).ok_or_else(|| Error::line(TOOL, index, line))?;
            // With --Summary there is one header and each row is the machine's. Otherwise there is one for each
            // interval, and its first row is the machine's.
            let is_machine = row.has_cpu || headers == 1 || row_of_block == 0;
            row_of_block += 1;
            if is_machine {
                sums.add(row);
            }
        }
    }
    if sums.sums.is_empty() { Err(Error::Nothing { tool: TOOL }) } else { Ok(sums.means()) }
}

/// Returns true for an output of turbostat.
pub fn knows(text: &str) -> bool {
    text.lines().any(is_header)
}

/// The idle states of a CPU, the shallowest first, as means of the intervals.
pub type IdleStates = Vec<IdleState>;

/// An idle state of a CPU. What the output does not have is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// The number of times that it was entered in an interval.
    pub entries: f64,
    /// The share of the time in it, 0 to 1.
    pub share: Option<f64>,
    /// The number of times that it was too deep, the kernel's `above`: turbostat's `C6-`.
    pub too_deep: Option<f64>,
    /// The number of times that it was too shallow, the kernel's `below`: turbostat's `C6+`.
    pub too_shallow: Option<f64>,
}

/// Reads the idle states by CPU. `above` of the shallowest and `below` of the deepest state are 0 by their definition,
/// so turbostat leaves them out (`probe_cpuidle_counts`); all of them are missing without `--show cpuidle`.
///
/// # Errors
/// The errors of [`parse`], and an output without the states of CPUs.
pub fn idle_states(text: &str) -> Result<BTreeMap<u32, IdleStates>, Error> {
    let means = parse(text)?.into_iter().filter_map(|(cpu, columns)| Some((cpu?, columns)));
    let states: BTreeMap<u32, IdleStates> = means.map(|(cpu, columns)| (cpu, states_of(&columns))).collect();
    if states.values().all(Vec::is_empty) { Err(Error::Nothing { tool: TOOL }) } else { Ok(states) }
}

fn states_of(columns: &[(String, f64)]) -> IdleStates {
    let value = |name: &str, suffix: &str| {
        let is_it = |column: &&(String, f64)| column.0.strip_suffix(suffix) == Some(name);
        columns.iter().find(is_it).map(|(_, value)| *value)
    };
    let is_wrong = |column: &str| is_idle_state(column) && column.ends_with(['+', '-']);
    let has_wrong = columns.iter().any(|(column, _)| is_wrong(column));
    let names =
        columns.iter().filter(|(column, _)| is_idle_state(column) && !column.ends_with(['+', '-', '%']));
    let state = |(name, entries): &(String, f64)| IdleState {
        name: name.clone(),
        entries: *entries,
        share: value(name, "%").map(|percent| percent / 100.0),
        too_deep: value(name, "-"),
        too_shallow: value(name, "+"),
    };
    let mut states: IdleStates = names.map(state).collect();
    if has_wrong {
        let none = |wrong: &mut Option<f64>| _ = wrong.get_or_insert(0.0);
        states.first_mut().into_iter().for_each(|first| none(&mut first.too_deep));
        states.last_mut().into_iter().for_each(|last| none(&mut last.too_shallow));
    }
    states
}

fn is_header(line: &str) -> bool {
    if !MARKS.iter().any(|mark| line.contains(mark)) {
        return false;
    }
    let cells = cells(line);
    let is_name = |cell: &&str| number(cell).is_none() && !cell.contains([':', '=', '(', ' ', ',']);
    let is_marked = cells.iter().any(|cell| MARKS.contains(cell));
    is_marked && cells.len() <= MAX_COLUMNS && cells.iter().all(is_name)
}

/// Splits cells at tabs, or at blanks if a terminal has replaced the tabs.
fn cells(line: &str) -> Vec<&str> {
    if line.contains('\t') {
        line.trim_end().split('\t').map(str::trim).collect()
    } else {
        line.split_ascii_whitespace().collect()
    }
}

struct Row<'a> {
    cpu: Option<u32>,
    has_cpu: bool,
    values: Vec<(&'a str, f64)>,
}

/// Parses a row; `None` if it has more cells than columns, or a cell is neither a number nor known to be empty.
fn row<'a>(columns: &[&'a str], line: &str) -> Option<Row<'a>> {
    let cells = cells(line);
    if cells.len() > columns.len() {
        return None;
    }
    let mut row = Row { cpu: None, has_cpu: false, values: Vec::new() };
    for (column, cell) in columns.iter().zip(cells) {
        if *column == "CPU" {
            row.has_cpu = true;
            row.cpu = if cell == "-" { None } else { Some(cell.parse().ok()?) };
        } else if !PLACES.contains(column) && !is_absent(cell) {
            row.values.push((column, number(cell)?));
        }
    }
    Some(row)
}

/// Returns true for the marks of a missing figure, and for raw registers.
fn is_absent(cell: &str) -> bool {
    cell.is_empty() || cell == "-" || cell.starts_with("0x") || cell.starts_with('(')
}

/// The sum and the number of values of each CPU's columns; columns are numbered in the order of their appearance.
#[derive(Default)]
struct Sums<'a> {
    numbers: HashMap<&'a str, usize>,
    sums: BTreeMap<(Option<u32>, usize), (&'a str, f64, u32)>,
}

impl<'a> Sums<'a> {
    fn add(&mut self, row: Row<'a>) {
        for (column, value) in row.values {
            let next = self.numbers.len();
            let number = *self.numbers.entry(column).or_insert(next);
            let (_, sum, count) = self.sums.entry((row.cpu, number)).or_insert((column, 0.0, 0));
            (*sum, *count) = (*sum + value, *count + 1);
        }
    }

    fn means(self) -> Means {
        let mut means = Means::new();
        for ((cpu, _), (column, sum, count)) in self.sums {
            means.entry(cpu).or_default().push((column.to_owned(), sum / f64::from(count)));
        }
        means
    }
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let means = parse(text)?;
    into.watched(Exposure { seconds: interval(text), ..Exposure::default() });
    let figures: usize = means.values().map(Vec::len).sum();
    let is_large = figures > MAX_METRICS && means.contains_key(&None);
    if is_large {
        let cpus = means.len() - 1;
        into.note(format_args!(
            "{figures} figures are too many, those of {cpus} CPUs are left out: run it with --cpu for some CPUs"
        ));
    }
    for (cpu, means) in means.into_iter().filter(|(cpu, _)| !is_large || cpu.is_none()) {
        let place = cpu.map_or(String::new(), |cpu| format!("cpu{cpu}/"));
        for (column, value) in means {
            into.value(&format!("turbostat/{place}{column}"), kind(&column), value)?;
        }
    }
    Ok(())
}

/// The seconds of an interval: those of the command (`60.014 sec`), or between two time stamps.
pub fn interval(text: &str) -> Option<f64> {
    let of_command = text.lines().find_map(|line| number(line.trim().strip_suffix(" sec")?));
    let stamps = || {
        let column = text.lines().find(|line| is_header(line))?;
        let at = cells(column).iter().position(|cell| *cell == "Time_Of_Day_Seconds")?;
        let stamp = |line: &str| number(cells(line).get(at)?);
        let mut stamps: Vec<f64> = text.lines().filter_map(stamp).collect();
        stamps.sort_by(f64::total_cmp);
        let steps: Vec<f64> =
            stamps.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.1).collect();
        dyntick_stats::median(&steps).map(|median| median.value)
    };
    of_command.or_else(stamps)
}

/// The kind of a column. Counts are per interval. Idle states have no known better direction.
fn kind(column: &str) -> Kind<'static> {
    let unknown = |unit| Kind::new(unit, Better::Unknown);
    match column {
        _ if column.ends_with("Watt") => Kind::POWER,
        _ if column.ends_with("_J") => Kind::new("J", Better::Lower).growing(),
        _ if column.contains('%') => Kind::SHARE,
        _ if column.ends_with("MHz") => unknown("MHz"),
        _ if column.ends_with("Tmp") => unknown("°C"),
        "IPC" => unknown(""),
        "IRQ" | "NMI" | "SMI" => Kind::new("1/interval", Better::Lower).growing(),
        _ if is_idle_state(column) => unknown("1/interval").growing(),
        _ => unknown(""),
    }
}

/// Returns true for `POLL`, `C1E`, `C6+` and similar: the number of times that a state was chosen, or was wrong.
fn is_idle_state(column: &str) -> bool {
    let number = column.strip_prefix('C').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    number || column.starts_with("POLL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_over_intervals() {
        let block = |watt: f64| {
            format!(
                "Core\tCPU\tBusy%\tC1+\tPkgWatt\n-\t-\t2.00\t4\t{watt}\n0\t0\t3.00\t8\t{watt}\n0\t1\t1.00\t0\n"
            )
        };
        let means =
            parse(&format!("turbostat: cpu1 jitter 1 2\n1.00 sec\n{}{}", block(10.0), block(20.0))).unwrap();
        assert_eq!(means[&None], [("Busy%".into(), 2.0), ("C1+".into(), 4.0), ("PkgWatt".into(), 15.0)]);
        assert_eq!(means[&Some(1)], [("Busy%".into(), 1.0), ("C1+".into(), 0.0)]);
    }

    #[test]
    fn summary_and_columns_without_a_cpu_are_read() {
        let summary = parse("Busy%\tPkgWatt\n1.0\t10.0\n3.0\t30.0\n").unwrap();
        assert_eq!(summary[&None], [("Busy%".into(), 2.0), ("PkgWatt".into(), 20.0)]);
        let packages = parse("PkgWatt\n30.0\n10.0\n20.0\nPkgWatt\n40.0\n10.0\n30.0\n").unwrap();
        assert_eq!(packages[&None], [("PkgWatt".into(), 35.0)]);
    }

    #[test]
    fn idle_states_have_what_the_kernel_judged() {
        let text = include_str!("../tests/fixtures/turbostat.txt");
        let states = idle_states(text).unwrap();
        assert_eq!(states.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
        let of = |name: &str, entries, percent: f64, too_deep, too_shallow| IdleState {
            name: name.to_owned(),
            entries,
            share: Some(percent / 100.0),
            too_deep,
            too_shallow,
        };
        let expected = [
            of("POLL", 2.0, 0.0, Some(0.0), None),
            of("C1", 40.0, 0.3, Some(7.0), None),
            of("C1E", 250.0, 4.1, Some(31.0), Some(22.0)),
            of("C6", 880.0, 93.8, None, Some(16.0)),
        ];
        assert_eq!(states[&0], expected);
        let without =
            idle_states("CPU\tBusy%\tC1\tC6\tC1%\tC6%\n-\t1\t2\t3\t4\t5\n0\t1\t2\t3\t4\t5\n").unwrap();
        assert_eq!(
            without[&0][1],
            IdleState { too_deep: None, too_shallow: None, ..of("C6", 3.0, 5.0, None, None) }
        );
        let summary = include_str!("../tests/fixtures/turbostat-summary.txt");
        assert_eq!(idle_states(summary).unwrap_err(), Error::Nothing { tool: TOOL });
    }

    #[test]
    fn interval_is_that_of_the_command_or_between_time_stamps() {
        assert_eq!(interval("x\n60.014 sec\nBusy%\n1.0\n"), Some(60.014));
        assert_eq!(interval("Time_Of_Day_Seconds\tBusy%\n10.0\t1\n15.0\t1\n20.0\t1\n"), Some(5.0));
        assert_eq!(interval("Busy%\n1.0\n"), None);
    }

    #[test]
    fn figures_of_the_machine_are_read_if_there_are_too_many() {
        let columns: Vec<String> = (0..50).map(|column| format!("C{column}%")).collect();
        let row = |cpu: &str| format!("{cpu}\t{}\n", vec!["1"; 51].join("\t"));
        let rows: String = (0..256).map(|cpu: u32| row(&cpu.to_string())).collect();
        let text = format!("CPU\tBusy%\t{}\n{}{rows}", columns.join("\t"), row("-"));
        let mut collector = Collector::new(TOOL, dyntick_model::Clock::Wall);
        metrics(&text, &mut collector).unwrap();
        let output = collector.finish().unwrap();
        assert_eq!((output.metrics.len(), output.notes.len()), (51, 1));
    }

    #[test]
    fn invalid_output_is_refused() {
        assert_eq!(parse("Busy%\tPkgWatt\n1.0\tx\n").unwrap_err(), Error::line(TOOL, 1, "1.0\tx"));
        assert_eq!(parse("Busy%\n1.0\t2.0\n").unwrap_err(), Error::line(TOOL, 1, "1.0\t2.0"));
        assert!(!knows("cpu0: Busy% is 7\n") && knows("PkgWatt\n1\n"));
    }
}
