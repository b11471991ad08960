// SPDX-License-Identifier: GPL-2.0-only
//! Numbers with their significant digits.

use dyntick_model::digits::rounded;

/// The significant digits of a figure in a claim's evidence, and in the tables next to it.
pub const DIGITS: i32 = 6;

/// A number with [`DIGITS`] significant digits.
pub fn number(value: f64) -> String {
    rounded(value, DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_significant_digits() {
        assert_eq!(
            [0.0, 1.0, 0.998054, 123456.7, -4.76728, 2e-7, f64::NAN].map(|value| rounded(value, 4)),
            ["0", "1", "0.9981", "123457", "-4.767", "0.0000002", "–"]
        );
        assert_eq!(
            [-0.0, 250.0, 0.99271, 1.00004, 1234.567, 12.3, 0.000_001, 2e9].map(number),
            ["0", "250", "0.99271", "1.00004", "1234.57", "12.3", "0.000001", "2000000000"]
        );
    }
}
