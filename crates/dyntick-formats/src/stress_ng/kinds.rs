// SPDX-License-Identifier: GPL-2.0-only
//! The meaning of the keys in stress-ng's YAML. Only the words of an extra metric state its unit.

use super::WORK;
use crate::metrics::Kind;
use dyntick_stats::Better;

/// The name of a key, its kind, and the factor for its value; `None` for a key that does not describe the work.
pub fn of<'a>(section: &str, key: &'a str) -> Option<(&'a str, Kind<'static>, f64)> {
    let unknown = |unit| Kind { unit, better: Better::Unknown };
    match (section, key) {
        ("metrics", "bogo-ops") => Some((key, WORK, 1.0)),
        ("metrics", "bogo-ops-per-second-real-time") => Some(("bogo-ops/s", Kind::RATE, 1.0)),
        ("metrics", "bogo-ops-per-second-usr-sys-time") => Some(("bogo-ops/s usr+sys", Kind::RATE, 1.0)),
        // The run time is mostly a setting (--timeout).
        ("metrics", "wall-clock-time" | "user-time" | "system-time") => Some((key, unknown("ns"), 1e9)),
        ("metrics", "cpu-usage-per-instance") => Some((key, Kind::SHARE, 1.0)),
        ("metrics", "max-rss") => Some((key, Kind { unit: "B", better: Better::Lower }, 1024.0)),
        ("metrics", _) => Some((key, extra(key), 1.0)),
        ("perfstats", _) if key.ends_with("_per_second") => Some((key, unknown("1/s"), 1.0)),
        ("C-states", _) => Some((key, Kind::SHARE, 1.0)),
        ("rapl-power-domains", _) => Some((key, Kind::POWER, 1.0)),
        ("thermal-zones", _) => Some((key, unknown("°C"), 1.0)),
        ("interrupts", _) => Some((key, Kind::UNWANTED, 1.0)),
        ("io-stats", _) => Some((key, Kind { unit: "KiB/s", better: Better::Higher }, 1.0)),
        _ => None,
    }
}

/// The kind of an extra metric, by the first 39 bytes of its words. Its value keeps the unit that its words name.
fn extra(key: &str) -> Kind<'static> {
    let times = [("nanosec", "ns"), ("microsec", "us"), ("millisec", "ms")];
    let time = times.iter().find(|(word, _)| key.starts_with(word));
    if let Some((_, unit)) = time {
        Kind { unit, better: Better::Lower }
    } else if key.contains("mb-per-sec") {
        // Some stressors mean 10^6 bytes, others 2^20, and none states which.
        Kind { unit: "MB/s", better: Better::Higher }
    } else if key.contains("-per-sec") {
        Kind::RATE
    } else {
        Kind { unit: if key.contains("percent") { "%" } else { "" }, better: Better::Unknown }
    }
}
