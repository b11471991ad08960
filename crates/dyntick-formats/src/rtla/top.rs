// SPDX-License-Identifier: GPL-2.0-only
//! `rtla timerlat top` and `rtla osnoise top`: a row for each CPU, printed again each second unless `-q` is given.

use super::{TOOL, scale};
use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::{Better, Exposure};

/// One CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The CPU number.
    pub cpu: u32,
    /// The number of samples, or of osnoise's periods.
    pub count: u64,
    /// The figures of the CPU.
    pub figures: Figures,
}

/// The figures of either tracer.
#[derive(Clone, Debug, PartialEq)]
pub enum Figures {
    /// The latencies of the timer's interrupt, of the thread, and of the return to user space if requested.
    Timerlat(Vec<Timer>),
    /// The time taken by noise.
    Osnoise(Noise),
}

/// The latencies in ns; `None` if there was no sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timer {
    /// The smallest.
    pub min: Option<f64>,
    /// The mean, as rtla rounds it.
    pub average: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

/// The columns of osnoise by rtla's names; times in µs.
pub type Noise = Vec<(&'static str, f64)>;

const TIMERLAT: &str = "CPU COUNT";
const OSNOISE: &str = "CPU Period";

pub fn is(text: &str) -> bool {
    let titled = text.contains("Timer Latency")
        || text.contains("Operating System Noise")
        || text.contains("Hardware-related Noise")
        || text.contains("Hardware Noise");
    titled && text.lines().any(|line| line.starts_with(TIMERLAT) || line.starts_with(OSNOISE))
}

/// Reads the rows of the last table.
pub fn parse(text: &str) -> Result<Vec<Row>, Error> {
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().rposition(|line| line.starts_with(TIMERLAT) || line.starts_with(OSNOISE));
    let head = head.ok_or(Error::Nothing { tool: TOOL })?;
    let unit = lines[..head].iter().rev().take(2).map(|line| scale(line)).min().unwrap_or(1000) as f64;
    let columns = columns(lines[head]);
    let rows = lines[head + 1..]
        .iter()
        .enumerate()
        .take_while(|(_, line)| line.contains('#') && !line.starts_with('#'));
    let read = |(index, line): (usize, &&str)| {
        let row =
            if lines[head].starts_with(TIMERLAT) { timer_row(line, unit) } else { noise_row(line, &columns) };
        row.ok_or_else(|| Error::line(TOOL, head + 1 + index, line))
    };
    let is_sum = |line: &str| line.trim_start().starts_with("ALL");
    rows.filter(|(_, line)| !is_sum(line)).map(read).collect()
}

/// Parses `  0 #2000      |        0         0         0         0 |        4         3         4         4`.
fn timer_row(line: &str, unit: f64) -> Option<Row> {
    let mut groups = line.split('|');
    let (cpu, count) = cpu_and_count(groups.next()?)?;
    let figures = groups.map(|group| timer(group, unit)).collect::<Option<Vec<Timer>>>()?;
    Some(Row { cpu, count, figures: Figures::Timerlat(figures) })
}

/// Parses `1 #12322`, with blanks after the `#` too.
fn cpu_and_count(text: &str) -> Option<(u32, u64)> {
    let (cpu, count) = text.split_once('#')?;
    Some((cpu.trim().parse().ok()?, count.trim().parse().ok()?))
}

/// Parses `cur min avg max`.
fn timer(group: &str, unit: f64) -> Option<Timer> {
    let cell = |word: &str| if word == "-" { Some(None) } else { number(word).map(|time| Some(time * unit)) };
    let cells = group.split_ascii_whitespace().map(cell).collect::<Option<Vec<_>>>()?;
    let [_, min, average, max] = cells[..] else { return None };
    Some(Timer { min, average, max })
}

/// The names of osnoise's columns after `CPU Period`; some have several words.
const NOISE: [&str; 10] =
    ["Runtime", "Noise", "% CPU Aval", "Max Noise", "Max Single", "HW", "NMI", "IRQ", "Softirq", "Thread"];

fn columns(head: &str) -> Vec<&'static str> {
    let mut rest = head.strip_prefix(OSNOISE).unwrap_or("").trim_start();
    let mut found = Vec::new();
    while let Some(name) = NOISE.iter().find(|name| rest.starts_with(**name)) {
        found.push(*name);
        rest = rest[name.len()..].trim_start();
    }
    found
}

/// Parses `  1 #1           1000010         3503    99.64970 …`.
fn noise_row(line: &str, columns: &[&'static str]) -> Option<Row> {
    let (cpu, rest) = line.split_once('#')?;
    let mut words = rest.split_ascii_whitespace();
    let (cpu, count) = (cpu.trim().parse().ok()?, words.next()?.parse().ok()?);
    let numbers = words.map(number).collect::<Option<Vec<f64>>>()?;
    let figures = columns.iter().copied().zip(numbers.iter().copied()).collect();
    (numbers.len() == columns.len()).then_some(Row { cpu, count, figures: Figures::Osnoise(figures) })
}

impl Row {
    pub(super) fn put(&self, exposure: Exposure, into: &mut Collector) -> Result<(), Error> {
        let samples = matches!(self.figures, Figures::Timerlat(_)).then_some(self.count);
        into.watched(Exposure { samples, ..exposure });
        match &self.figures {
            Figures::Timerlat(timers) => self.put_timers(timers, into),
            Figures::Osnoise(noise) => self.put_noise(noise, into),
        }
    }

    fn put_timers(&self, timers: &[Timer], into: &mut Collector) -> Result<(), Error> {
        for (what, timer) in ["irq", "thread", "user"].iter().zip(timers) {
            for (word, value) in [("min", timer.min), ("avg", timer.average), ("max", timer.max)] {
                if let Some(value) = value {
                    let kind = Kind::of_time(word).cut_to(1e3);
                    into.value(&format!("rtla/timerlat/cpu{}/{what}/{word}", self.cpu), kind, value)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the metrics. Counts become rates per second of runtime, since runs may differ in length.
    fn put_noise(&self, noise: &Noise, into: &mut Collector) -> Result<(), Error> {
        let runtime = noise.iter().find(|(name, _)| *name == "Runtime").map_or(0.0, |(_, us)| us / 1e6);
        if runtime <= 0.0 {
            return Ok(());
        }
        for (name, value) in noise {
            let (word, kind, value) = match *name {
                "Runtime" => continue,
                "Noise" => ("noise", Kind::new("%", Better::Lower), value / 1e4 / runtime),
                "% CPU Aval" => ("available", Kind::new("%", Better::Higher), *value),
                "Max Noise" => ("max noise", Kind::TIME.growing(), value * 1e3),
                "Max Single" => ("max single", Kind::TIME.growing(), value * 1e3),
                count => (count, Kind::new("1/s", Better::Lower), value / runtime),
            };
            into.value(&format!("rtla/osnoise/cpu{}/{word}", self.cpu), kind, value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_names_may_have_several_words() {
        let head = "CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI";
        assert_eq!(columns(head), NOISE[..7]);
        assert!(noise_row("  1 #1 1000 3", &columns(head)).is_none());
    }

    #[test]
    fn last_table_counts() {
        let table = |max: u32| {
            format!(
                "      Timer Latency\n 0 00:00:01 | IRQ Timer Latency (us)\nCPU COUNT | cur min\n  2 #9 | 1 1 1 {max} | - - - -\n"
            )
        };
        let rows = parse(&(table(7) + &table(8))).unwrap();
        let expected = Timer { min: Some(1e3), average: Some(1e3), max: Some(8e3) };
        assert_eq!(
            rows,
            [Row { cpu: 2, count: 9, figures: Figures::Timerlat(vec![expected, Timer::default()]) }]
        );
        let broken = table(7).replace("| 1 1", "| 1");
        assert_eq!(parse(&broken).unwrap_err(), Error::line(TOOL, 3, "  2 #9 | 1 1 7 | - - - -"));
    }
}
