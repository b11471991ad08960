// SPDX-License-Identifier: GPL-2.0-only
//! Quantiles of the normal and of Student's t distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::erf::erfc;

/// The standard normal quantile.
pub(crate) fn quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

/// What a standard normal variable stays within, on both sides of zero, with this probability.
pub(crate) fn two_sided(level: f64) -> f64 {
    quantile(f64::midpoint(1.0, level))
}

/// The probability that a standard normal variable is at least this far from zero.
pub(crate) fn both_tails(distance: f64) -> f64 {
    erfc(distance.abs() / std::f64::consts::SQRT_2)
}

/// Above this the t distribution is the normal one to four digits.
const NORMAL_FROM: f64 = 10_000.0;

/// The quantile of Student's t distribution; degrees below 1 are taken as 1.
pub(crate) fn student(share: f64, degrees: f64) -> f64 {
    if degrees >= NORMAL_FROM {
        return quantile(share);
    }
    // Its parameters are in range, so there is always one.
    StudentsT::new(0.0, 1.0, degrees.max(1.0)).map_or(f64::NAN, |student| student.inverse_cdf(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_tables() {
        // R: qnorm(0.975), qt(0.975, 8), qt(0.8, 3.5), 2 * pnorm(-3).
        for (found, told) in [
            (two_sided(0.95), 1.959_963_984_540_054),
            (student(0.975, 8.0), 2.306_004_135_204_166),
            (student(0.975, 1e6), 1.959_966),
            (both_tails(-3.0), 0.002_699_796_063_260_189),
        ] {
            assert!((found - told).abs() < 1e-5 * told, "{found} {told}");
        }
    }
}
