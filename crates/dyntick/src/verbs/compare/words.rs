// SPDX-License-Identifier: GPL-2.0-only
//! Names, figures and times in words.

use dyntick_model::digits::rounded;
use dyntick_stats::compare::{Fold, Row};
use dyntick_stats::{Exposure, Point};

/// The significant digits of a figure.
pub const DIGITS: i32 = 4;

pub fn number(value: f64) -> String {
    rounded(value, DIGITS)
}

/// A figure of a metric in this unit. Of a share near 100 % as many digits as tell it from 100.
pub fn figure(value: f64, unit: &str) -> String {
    let rest = 100.0 - value;
    if unit == "%" && rest > 0.0 && rest < 1.0 {
        let decimals = (1 - rest.log10().floor() as i32).clamp(0, 12) as usize;
        let text = format!("{value:.decimals$}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    number(value)
}

/// `1 run`, `2 runs`.
pub fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// The longest label above a column, in characters: a table with longer ones has no room for its figures.
const LONGEST_LABEL: usize = 16;

/// Labels for two columns. Of long ones the ends that differ are kept.
pub fn short(labels: [&str; 2]) -> [String; 2] {
    let letters = labels.map(|label| label.chars().collect::<Vec<char>>());
    if letters.iter().all(|label| label.len() <= LONGEST_LABEL) {
        return labels.map(str::to_owned);
    }
    let kept = LONGEST_LABEL - 1;
    let is_short = |label: &[char]| label.len() <= LONGEST_LABEL;
    let text = |label: &[char]| label.iter().collect::<String>();
    let head = |label: &[char]| {
        if is_short(label) { text(label) } else { text(&label[..kept]).trim_end().to_owned() + "…" }
    };
    let tail = |label: &[char]| {
        if is_short(label) {
            text(label)
        } else {
            "…".to_owned() + text(&label[label.len() - kept..]).trim_start()
        }
    };
    let [a, b] = &letters;
    let shortened = [[head(a), head(b)], [tail(a), tail(b)]];
    shortened.into_iter().find(|[a, b]| a != b).unwrap_or_else(|| ["first".to_owned(), "second".to_owned()])
}

/// The name of a row: `cyclictest/T*/latency`, with the number of threads or CPUs.
pub fn metric(row: &Row) -> String {
    match &row.fold {
        Some(fold) => format!("{} ({})", row.metric, members(fold)),
        None => row.metric.to_string(),
    }
}

/// `30 threads`, `4 CPUs`, `8 jobs`.
pub fn members(fold: &Fold) -> String {
    let first = fold.members.first().map_or("", |member| member.name.as_str());
    let kind = match first {
        _ if first.contains('#') => "jobs",
        _ if first.starts_with('T') || first.starts_with("thread") => "threads",
        _ if first.to_ascii_lowercase().starts_with("cpu") => "CPUs",
        _ if first.starts_with("core") => "cores",
        _ if first.starts_with("pair") => "pairs",
        _ => "parts",
    };
    let jobs = fold.members.iter().any(|member| member.name.contains('#'));
    format!("{} {}", fold.members.len(), if jobs { "jobs" } else { kind })
}

/// The name of a figure within its metric: `p99 of cyclictest/T*/latency`.
pub fn figure_name(row: &Row, point: Option<&Point>) -> String {
    match point {
        Some(point) => format!("{point} of {}", row.metric),
        None => row.metric.to_string(),
    }
}

/// The exposure of a side: `600000 samples, 600 s`.
pub fn exposure(exposure: &Exposure) -> String {
    let samples = exposure.samples.map(|samples| format!("{samples} samples"));
    let seconds = exposure.seconds.map(time);
    let stopped = exposure.stopped_early.then(|| "stopped at its threshold".to_owned());
    samples.into_iter().chain(seconds).chain(stopped).collect::<Vec<String>>().join(", ")
}

/// A time in the largest unit that suits.
pub fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 7200.0 => format!("{} h", number(seconds / 3600.0)),
        _ if seconds >= 120.0 => format!("{} min", number(seconds / 60.0)),
        _ => format!("{} s", number(seconds)),
    }
}

/// A change in percent; what is not nothing is never shown as 0.
pub fn signed(percent: f64) -> String {
    if !percent.is_finite() {
        return "–".to_owned();
    }
    match percent.abs() {
        0.0 => "0".to_owned(),
        ..0.05 => format!("{}<0.1", if percent < 0.0 { '-' } else { '+' }),
        _ => format!("{percent:+.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_near_100_is_not_100() {
        assert_eq!(
            [99.99997, 99.6, 95.4, 100.0, 0.25].map(|share| figure(share, "%")),
            ["99.99997", "99.6", "95.4", "100", "0.25"]
        );
    }

    #[test]
    fn long_labels_keep_the_end_that_differs() {
        assert_eq!(short(["a", "b"]), ["a", "b"]);
        let both = |a: &str, b: &str| short([a, b]).join(" ");
        assert_eq!(both("grep -r pattern /usr", "rg pattern /usr"), "grep -r pattern… rg pattern /usr");
        assert_eq!(
            both("2026-11-20-database-before.json", "2026-11-20-database-after.json"),
            "…ase-before.json …base-after.json"
        );
        assert_eq!(
            both("a-long-name-x-and-a-long-end", "a-long-name-z-and-a-long-end"),
            "a-long-name-x-a… a-long-name-z-a…"
        );
    }

    #[test]
    fn times_have_the_unit_that_suits() {
        assert_eq!([2.0, 600.0, 43200.0].map(time), ["2 s", "10 min", "12 h"]);
    }
}
