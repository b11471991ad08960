// SPDX-License-Identifier: GPL-2.0-only
//! What the keys of stress-ng's YAML mean. The unit of an extra metric stands only in its words.

use super::WORK;
use crate::metrics::Kind;
use dyntick_stats::Better;

/// What a key is called, its kind, and what its value is multiplied by; none for what says nothing of the work.
pub fn of<'a>(section: &str, key: &'a str) -> Option<(&'a str, Kind<'static>, f64)> {
    let unknown = |unit| Kind { unit, better: Better::Unknown };
    match (section, key) {
        ("metrics", "bogo-ops") => Some((key, WORK, 1.0)),
        ("metrics", "bogo-ops-per-second-real-time") => Some(("bogo-ops/s", Kind::RATE, 1.0)),
        ("metrics", "bogo-ops-per-second-usr-sys-time") => Some(("bogo-ops/s usr+sys", Kind::RATE, 1.0)),
        // How long it ran is mostly what it was told (--timeout).
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

/// An extra metric, of which the first 39 bytes of its words are known. Its value stays in the unit that its
/// words name.
fn extra(key: &str) -> Kind<'static> {
    let times = [("nanosec", "ns"), ("microsec", "us"), ("millisec", "ms")];
    let time = times.iter().find(|(word, _)| key.starts_with(word));
    if let Some((_, unit)) = time {
        Kind { unit, better: Better::Lower }
    } else if key.contains("mb-per-sec") {
        // Some stressors mean 10^6 bytes and some 2^20, and none says which.
        Kind { unit: "MB/s", better: Better::Higher }
    } else if key.contains("-per-sec") {
        Kind::RATE
    } else {
        Kind { unit: if key.contains("percent") { "%" } else { "" }, better: Better::Unknown }
    }
}
