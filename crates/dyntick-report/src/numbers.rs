// SPDX-License-Identifier: GPL-2.0-only
//! Numbers as people read them.

/// A count with a thin space between groups of three digits, from five digits on.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    groups.join("\u{202f}")
}

/// A rate with as many digits as tell something: `0`, `0.3`, `2.0`, `250`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "0".to_owned(),
        v if v < 0.095 => format!("{v:.3}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => count(v.round() as u64),
    }
}

/// A share in per cent: `0 %`, `0.4 %`, `100 %`.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A duration of so many nanoseconds in its natural unit.
pub fn duration(ns: f64) -> String {
    match ns.abs() {
        v if v < 1e3 => format!("{ns:.0} ns"),
        v if v < 1e6 => format!("{:.1} us", ns / 1e3),
        v if v < 1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.4} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_read_them() {
        assert_eq!(
            [0, 2500, 12345, 1234567].map(count),
            ["0", "2500", "12\u{202f}345", "1\u{202f}234\u{202f}567"]
        );
        assert_eq!(
            [0.0, 0.05, 1.0, 249.97, 12345.6].map(rate),
            ["0", "0.050", "1.0", "250", "12\u{202f}346"]
        );
        assert_eq!([0.0, 0.004, 0.99994].map(percent), ["0 %", "0.4 %", "100 %"]);
        assert_eq!([12.0, 1500.0, 2.5e6, 5.868e8].map(duration), ["12 ns", "1.5 us", "2.50 ms", "586.80 ms"]);
    }
}
