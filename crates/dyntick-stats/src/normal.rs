// SPDX-License-Identifier: GPL-2.0-only
//! Quantiles of the normal and of Student's t distribution.

use special::{Beta, Error};
use std::f64::consts::SQRT_2;

/// The standard normal quantile; from shares of 1e-12 on, and down to what is as far from 1.
pub(crate) fn quantile(share: f64) -> f64 {
    SQRT_2 * (2.0 * share - 1.0).inv_error()
}

/// The distance from zero, in both directions, that a standard normal variable does not exceed with this probability.
pub(crate) fn two_sided(level: f64) -> f64 {
    SQRT_2 * level.inv_error()
}

/// The probability that a standard normal variable is at least this far from zero.
pub(crate) fn both_tails(distance: f64) -> f64 {
    (distance.abs() / SQRT_2).compl_error()
}

/// Above this the t distribution is the normal one to four digits.
const NORMAL_FROM: f64 = 10_000.0;

/// The quantile of Student's t distribution at a share of a half or more; degrees below 1 are taken as 1. Its
/// tail is an incomplete beta function (Abramowitz and Stegun 26.7.1).
pub(crate) fn student(share: f64, degrees: f64) -> f64 {
    if degrees >= NORMAL_FROM {
        return quantile(share);
    }
    let degrees = degrees.max(1.0);
    let (p, q) = (degrees / 2.0, 0.5);
    let inside = (2.0 * (1.0 - share)).clamp(0.0, 1.0).inv_inc_beta(p, q, p.ln_beta(q));
    (degrees * (1.0 - inside) / inside).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_tables() {
        // R: qnorm(0.975), qt(0.975, 8), qt(0.8, 3.5), 2 * pnorm(-3).
        for (found, expected) in [
            (two_sided(0.95), 1.959_963_984_540_054),
            (student(0.975, 8.0), 2.306_004_135_204_166),
            (student(0.975, 1.0), 12.706_204_736_174_7),
            (student(0.999_9, 4.5), 11.020_996_368_6),
            (student(0.5, 8.0), 0.0),
            (student(0.975, 1e6), 1.959_966),
            (both_tails(-3.0), 0.002_699_796_063_260_189),
        ] {
            assert!((found - expected).abs() <= 1e-5 * expected, "{found} {expected}");
        }
    }
}
