// SPDX-License-Identifier: GPL-2.0-only
//! Numbers as people read them, and as `awk` and `grep` find them. Digits are not grouped here: only a page
//! ([`grouped`]) has a space that is not copied.

/// The sign for an unknown number.
pub(crate) const UNKNOWN: &str = "–";

/// Formats a count.
pub fn count(value: u64) -> String {
    value.to_string()
}

/// Formats a count of things with their name, e.g. `1 interruption` and `2 interruptions`.
pub fn counted(value: u64, one: &str) -> String {
    match value {
        1 => format!("1 {one}"),
        _ => format!("{value} {one}s"),
    }
}

/// Formats a rate with its meaningful digits: `0`, `0.050`, `2.0`, `250`. Only zero is shown as `0`.
pub fn rate(per_second: f64) -> String {
    let sign = if per_second < 0.0 { "-" } else { "" };
    match per_second.abs() {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        0.0 => "0".to_owned(),
        v if v < 0.0005 => format!("{sign}<0.001"),
        v if v < 0.095 => format!("{sign}{v:.3}"),
        v if v < 99.95 => format!("{sign}{v:.1}"),
        v => format!("{sign}{}", v.round() as u64),
    }
}

/// Formats a share in per cent, always with one decimal: `0.0 %`, `0.4 %`, `100.0 %`. Of shares that are not negative,
/// only zero is shown as `0.0 %`.
pub fn percent(share: f64) -> String {
    per_cent(share).map_or(UNKNOWN.to_owned(), |number| format!("{number} %"))
}

/// The number of [`percent`]; `None` for NaN and infinities.
pub(crate) fn per_cent(share: f64) -> Option<String> {
    let per_cent = share * 100.0;
    match per_cent.abs() {
        v if !v.is_finite() => None,
        v if v < 0.05 && share > 0.0 => Some("<0.1".to_owned()),
        v if v < 0.05 => Some("0.0".to_owned()),
        _ => Some(format!("{per_cent:.1}")),
    }
}

/// Formats a rate of ticks as a share of the kernel's `CONFIG_HZ`; a dash if HZ is not known (0).
pub fn share_of_hz(per_second: f64, hz: u32) -> String {
    percent(per_second / f64::from(hz))
}

/// Formats a duration, ns, in its natural unit.
pub fn duration(ns: f64) -> String {
    in_unit(ns).map_or(UNKNOWN.to_owned(), |(number, unit)| format!("{number} {unit}"))
}

/// The number and the unit of [`duration`]; `None` for NaN and infinities.
pub(crate) fn in_unit(ns: f64) -> Option<(String, &'static str)> {
    match ns.abs() {
        v if !v.is_finite() => None,
        v if v < 999.5 => Some((format!("{ns:.0}"), "ns")),
        v if v < 999_950.0 => Some((format!("{:.1}", ns / 1e3), "µs")),
        v if v < 999_995_000.0 => Some((format!("{:.2}", ns / 1e6), "ms")),
        _ => Some((format!("{:.4}", ns / 1e9), "s")),
    }
}

/// Formats a number with only the decimals that it needs, e.g. for the labels of an axis.
pub fn plain(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        0.0 => "0".to_owned(),
        v if !(1e-4..1e12).contains(&v) => format!("{value:e}"),
        _ => format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

/// A number's text with a narrow space between groups of three digits before its point, from five digits on.
pub(crate) fn grouped(number: &str) -> String {
    let digits = number.trim_start_matches(['-', '+', '<']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    if whole.len() < 5 {
        return number.to_owned();
    }
    let sign = &number[..number.len() - digits.len()];
    let mut text = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 2500, 12345, 1234567].map(count), ["0", "2500", "12345", "1234567"]);
        assert_eq!([0.0, 0.05, 1.0, 249.97, 12345.6].map(rate), ["0", "0.050", "1.0", "250", "12346"]);
        assert_eq!([0.0, -0.0, 0.004, 0.99994].map(percent), ["0.0 %", "0.0 %", "0.4 %", "100.0 %"]);
        assert_eq!([12.0, 1500.0, 2.5e6, 5.868e8].map(duration), ["12 ns", "1.5 µs", "2.50 ms", "586.80 ms"]);
        assert_eq!([0.0, 2.5, -3.0, 25000.0, 1e-7].map(plain), ["0", "2.5", "-3", "25000", "1e-7"]);
        assert_eq!(share_of_hz(1.0, 250), "0.4 %");
    }

    #[test]
    fn one_is_singular() {
        let counted = [0, 1, 2].map(|count| counted(count, "tick"));
        assert_eq!(counted, ["0 ticks", "1 tick", "2 ticks"]);
    }

    #[test]
    fn page_groups_digits() {
        let texts = ["0", "2500", "12345", "1234567", "-12345.678", "<0.001", "word", "1e30"].map(grouped);
        let expected = [
            "0",
            "2500",
            "12\u{202f}345",
            "1\u{202f}234\u{202f}567",
            "-12\u{202f}345.678",
            "<0.001",
            "word",
            "1e30",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn small_numbers_are_not_shown_as_zero() {
        assert_eq!([0.00001, -2.0, -300.0].map(rate), ["<0.001", "-2.0", "-300"]);
        assert_eq!([0.0001, -0.0001, -0.25].map(percent), ["<0.1 %", "0.0 %", "-25.0 %"]);
        assert_eq!([999.7, 999_970.0].map(duration), ["1.0 µs", "1.00 ms"]);
    }

    #[test]
    fn nan_is_a_dash() {
        assert_eq!(
            [rate(f64::NAN), percent(f64::NAN), duration(f64::INFINITY), share_of_hz(5.0, 0)],
            ["–"; 4]
        );
    }
}
