// SPDX-License-Identifier: GPL-2.0-only
//! Numbers with as many digits as are worth reading.

/// A number with this many significant digits, and all that are before its point; zeros at the end of its
/// decimals are left out. "–" for what is no number.
pub fn rounded(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".to_owned(); // also for -0, the sum of no numbers
    }
    if !value.is_finite() {
        return "–".to_owned();
    }
    let decimals = (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The difference `b` - `a`, to be shown next to both, which have `digits` significant digits. It has no more decimals
/// than they have, but a difference that is not zero is never shown as 0.
pub fn difference(a: f64, b: f64, digits: i32) -> String {
    shift(b - a, [a, b], digits)
}

/// A difference of figures like these two, as [`difference`] shows it.
pub fn shift(value: f64, beside: [f64; 2], digits: i32) -> String {
    let decimals = |value: f64| rounded(value, digits).split_once('.').map_or(0, |(_, rest)| rest.len());
    let decimals = decimals(beside[0]).max(decimals(beside[1]));
    let smallest = 10f64.powi(-(decimals as i32));
    if value.abs() < smallest / 2.0 {
        rounded(value, 1)
    } else {
        rounded((value / smallest).round() * smallest, digits + 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_the_decimals_of_what_it_is_of() {
        let of = |a: f64, b: f64| difference(a, b, 6);
        assert_eq!(of(2.0451234, 2.0450428), "-0.00008");
        assert_eq!([of(2.0, 1.0), of(250.5, 251.0), of(123456.0, 123467.0)], ["-1", "0.5", "11"]);
        assert_eq!([of(3.0, 3.0), of(250.0, 250.00000062)], ["0", "0.0000006"]);
        assert_eq!(of(0.1, 0.3), "0.2", "and not 0.19999999999999998");
        assert_eq!(difference(1e9, f64::NAN, 4), "–");
    }

    #[test]
    fn digits_before_the_point_stay() {
        let texts = [0.0, -0.0, 1234567.0, 0.000123456, -2.50, f64::NAN].map(|value| rounded(value, 4));
        assert_eq!(texts, ["0", "0", "1234567", "0.0001235", "-2.5", "–"]);
    }
}
