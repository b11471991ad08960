// SPDX-License-Identifier: GPL-2.0-only
//! Numbers as people read them.

/// What stands for a number that there is not.
const NONE: &str = "–";

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

/// A rate with as many digits as tell something: `0`, `0.050`, `2.0`, `250`. What is not nothing is
/// never shown as `0`.
pub fn rate(per_second: f64) -> String {
    let sign = if per_second < 0.0 { "-" } else { "" };
    match per_second.abs() {
        v if !v.is_finite() => NONE.to_owned(),
        0.0 => "0".to_owned(),
        v if v < 0.0005 => format!("{sign}<0.001"),
        v if v < 0.095 => format!("{sign}{v:.3}"),
        v if v < 99.95 => format!("{sign}{v:.1}"),
        v => format!("{sign}{}", count(v.round() as u64)),
    }
}

/// A share in per cent: `0 %`, `0.4 %`, `100 %`. What is not nothing is never shown as `0 %`.
pub fn percent(share: f64) -> String {
    let per_cent = share * 100.0;
    match per_cent.abs() {
        v if !v.is_finite() => NONE.to_owned(),
        v if v > 0.0 && v < 0.05 => if share < 0.0 { "-<0.1 %" } else { "<0.1 %" }.to_owned(),
        _ => {
            let text = format!("{per_cent:.1}");
            format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
        }
    }
}

/// A rate of ticks as a share of the kernel's `CONFIG_HZ`; a dash where HZ is not known (0).
pub fn share_of_hz(per_second: f64, hz: u32) -> String {
    percent(per_second / f64::from(hz))
}

/// A duration of so many nanoseconds in its natural unit.
pub fn duration(ns: f64) -> String {
    match ns.abs() {
        v if !v.is_finite() => NONE.to_owned(),
        v if v < 999.5 => format!("{ns:.0} ns"),
        v if v < 999_950.0 => format!("{:.1} µs", ns / 1e3),
        v if v < 999_995_000.0 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.4} s", ns / 1e9),
    }
}

/// A number with no more decimals than it needs, as for the labels of an axis.
pub fn plain(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    match value.abs() {
        v if !v.is_finite() => NONE.to_owned(),
        0.0 => "0".to_owned(),
        v if !(1e-4..1e12).contains(&v) => format!("{value:e}"),
        v => {
            let text = format!("{v:.4}");
            let text = text.trim_end_matches('0').trim_end_matches('.');
            match text.parse::<u64>() {
                Ok(whole) => format!("{sign}{}", count(whole)),
                Err(_) => format!("{sign}{text}"),
            }
        }
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
        assert_eq!([12.0, 1500.0, 2.5e6, 5.868e8].map(duration), ["12 ns", "1.5 µs", "2.50 ms", "586.80 ms"]);
        assert_eq!([0.0, 2.5, -3.0, 25000.0, 1e-7].map(plain), ["0", "2.5", "-3", "25\u{202f}000", "1e-7"]);
        assert_eq!(share_of_hz(1.0, 250), "0.4 %");
    }

    #[test]
    fn little_is_not_nothing() {
        assert_eq!([0.00001, -2.0, -300.0].map(rate), ["<0.001", "-2.0", "-300"]);
        assert_eq!([0.0001, -0.0001, -0.25].map(percent), ["<0.1 %", "-<0.1 %", "-25 %"]);
        assert_eq!([999.7, 999_970.0].map(duration), ["1.0 µs", "1.00 ms"]);
    }

    #[test]
    fn no_number_is_a_dash() {
        assert_eq!(
            [rate(f64::NAN), percent(f64::NAN), duration(f64::INFINITY), share_of_hz(5.0, 0)],
            ["–"; 4]
        );
    }
}
