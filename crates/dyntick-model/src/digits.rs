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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_before_the_point_stay() {
        let texts = [0.0, -0.0, 1234567.0, 0.000123456, -2.50, f64::NAN].map(|value| rounded(value, 4));
        assert_eq!(texts, ["0", "0", "1234567", "0.0001235", "-2.5", "–"]);
    }
}
