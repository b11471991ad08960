// SPDX-License-Identifier: GPL-2.0-only
//! The meaning of the keys in stress-ng's YAML. Only the words of an extra metric state its unit.

use super::WORK;
use crate::metrics::Kind;
use dyntick_stats::Better;

/// The name of a key, its kind, and the factor for its value; `None` for a key that does not describe the work.
pub fn of<'a>(section: &str, key: &'a str) -> Option<(&'a str, Kind<'static>, f64)> {
    let unknown = |unit| Kind::new(unit, Better::Unknown);
    match (section, key) {
        ("metrics", "bogo-ops") => Some((key, WORK, 1.0)),
        ("metrics", "bogo-ops-per-second-real-time") => Some(("bogo-ops/s", Kind::RATE, 1.0)),
        ("metrics", "bogo-ops-per-second-usr-sys-time") => Some(("bogo-ops/s usr+sys", Kind::RATE, 1.0)),
        // The run time is mostly a setting (--timeout).
        ("metrics", "wall-clock-time" | "user-time" | "system-time") => {
            Some((key, unknown("ns").growing(), 1e9))
        }
        ("metrics", "cpu-usage-per-instance") => Some((key, Kind::SHARE, 1.0)),
        ("metrics", "max-rss") => Some((key, Kind::new("B", Better::Lower), 1024.0)),
        ("metrics", _) => Some((plain(key), extra(key), 1.0)),
        ("perfstats", _) if key.ends_with("_per_second") => Some((key, unknown("1/s"), 1.0)),
        ("C-states", _) => Some((key, Kind::SHARE, 1.0)),
        ("rapl-power-domains", _) => Some((key, Kind::POWER, 1.0)),
        ("thermal-zones", _) => Some((key, unknown("°C"), 1.0)),
        ("interrupts", _) => Some((key, Kind::UNWANTED.growing(), 1.0)),
        ("io-stats", _) => Some((key, Kind::new("KiB/s", Better::Higher), 1.0)),
        _ => None,
    }
}

/// The longest key of an extra metric, in bytes: stress-ng cuts them.
const LONGEST: usize = 39;

/// The key of an extra metric without the kind of mean over instances, which 0.14 and older versions add to it, cut or
/// not: `memory-rate-mb-per-sec-average-pe`.
fn plain(key: &str) -> &str {
    let tails = ["-geometic-mean", "-geometric-mean", "-harmonic-mean", "-average-per-stressor"];
    for tail in tails {
        if let Some((plain, _)) = key.split_once(tail) {
            return plain;
        }
        // A tail of one letter may be a word of the metric.
        let cut = (3..tail.len()).rev().find_map(|length| key.strip_suffix(&tail[..length]));
        if let Some(plain) = cut.filter(|_| key.len() >= LONGEST || key.ends_with("-average-pe")) {
            return plain;
        }
    }
    key
}

/// The kind of an extra metric, by the first 39 bytes of its words. Its value keeps the unit that its words name.
fn extra(key: &str) -> Kind<'static> {
    let times = [("nanosec", "ns"), ("microsec", "us"), ("millisec", "ms")];
    let time = times.iter().find(|(word, _)| key.starts_with(word));
    if let Some((_, unit)) = time {
        Kind::new(unit, Better::Lower)
    } else if key.contains("mb-per-sec") {
        // Some stressors mean 10^6 bytes, others 2^20, and none states which.
        Kind::new("MB/s", Better::Higher)
    } else if key.contains("-per-sec") {
        Kind::RATE
    } else {
        Kind::new(if key.contains("percent") { "%" } else { "" }, Better::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_over_instances_is_no_part_of_a_name() {
        assert_eq!(plain("memory-rate-mb-per-sec-average-pe"), "memory-rate-mb-per-sec");
        assert_eq!(plain("add-matrix-ops-per-sec-geometic-mean"), "add-matrix-ops-per-sec");
        assert_eq!(plain("context-switches-per-bogo-op-and-x-aver"), "context-switches-per-bogo-op-and-x");
        assert_eq!(plain("mb-per-sec-average"), "mb-per-sec-average", "it is not cut");
    }
}
