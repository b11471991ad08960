// SPDX-License-Identifier: GPL-2.0-only
//! The names of figures in sentences and headers: those that a study file has are for programs.

use dyntick_report::{Cell, numbers};
use dyntick_study::claims::{DIGITS, number};

/// A difference below this share of the mean is none.
pub const LEAST_DIFFERENCE: f64 = 0.001;

/// The words for such a difference.
pub const NO_DIFFERENCE: &str = "no difference";

/// Figures with a name of their own.
const NAMES: [(&str, &str); 12] = [
    ("power:total", "power, modelled"),
    ("power:cores", "power of cores, modelled"),
    ("power:package", "power of package, modelled"),
    ("energy:total", "energy, modelled"),
    ("ticks_per_s", "ticks"),
    ("local_timer_per_s", "timer irqs"),
    ("script_s", "script"),
    ("interrupted_ns", "interrupted"),
    ("latency_avg_ns", "mean latency"),
    ("latency_max_ns", "longest latency"),
    ("latency_ns:p99", "latency p99"),
    ("ticks_share_of_hz", "ticks, share of HZ"),
];

/// The name of a figure.
pub fn named(figure: &str) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == figure) {
        return (*name).to_owned();
    }
    match figure.split_once(':') {
        Some(("tool", metric)) => metric.strip_suffix("/s").unwrap_or(metric).replace('/', " "),
        Some(("span" | "span_median", kind)) => kind.to_owned(),
        Some(("spans", kind)) => format!("calls of {kind}"),
        _ => figure.to_owned(),
    }
}

/// A level of a factor by its label, with the factor if the label is a number.
pub fn option(factor: &str, level: &str) -> String {
    if level.chars().any(char::is_alphabetic) { level.to_owned() } else { format!("{factor} {level}") }
}

/// A value with its unit.
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" | "1" => number(value),
        "ns" => numbers::duration(value),
        unit => format!("{} {unit}", number(value)),
    }
}

/// Returns true if two values differ by less than is worth a word.
pub fn are_alike(a: f64, b: f64) -> bool {
    (b - a).abs() < LEAST_DIFFERENCE * (a.abs() + b.abs()) / 2.0 || a == b
}

/// A difference in per cent of the first value; the difference itself if that is 0.
pub fn relative(difference: f64, percent: Option<f64>) -> Cell {
    Cell::signed(match percent {
        Some(percent) => Cell::Share(percent / 100.0),
        None => Cell::Rounded(difference, DIGITS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_names_that_are_read() {
        let names =
            ["power:total", "tool:stress-ng/matrix/bogo-ops/s", "spans:hrtimer_interrupt()", "cause:rcu"]
                .map(named);
        assert_eq!(
            names,
            ["power, modelled", "stress-ng matrix bogo-ops", "calls of hrtimer_interrupt()", "cause:rcu"]
        );
        assert_eq!(
            [with_unit(1.8512, "W"), with_unit(3.0, ""), with_unit(1500.0, "ns")],
            ["1.85 W", "3", "1.5 µs"]
        );
    }

    #[test]
    fn a_level_that_is_a_number_has_its_option() {
        assert_eq!([option("hz", "1000"), option("nohz_full", "ticks")], ["hz 1000", "ticks"]);
    }

    #[test]
    fn differences_below_a_thousandth_are_none() {
        assert!(are_alike(612.925, 612.6) && are_alike(0.0, 0.0) && are_alike(-1.0, -1.0));
        assert!(!are_alike(612.0, 613.0) && !are_alike(0.0, 0.001) && !are_alike(1.0, -1.0));
        assert_eq!(
            [relative(2.0, Some(50.0)), relative(2.0, None)].map(|cell| cell.to_string()),
            ["+50.0 %", "+2"]
        );
    }
}
