// SPDX-License-Identifier: GPL-2.0-only
//! Rare events, counted.

use crate::interval::{Bounds, Interval, LEVEL};
use crate::normal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use special::{Beta, Gamma};

/// Above this many events the approximations agree with the exact intervals to four digits.
const EXACT: u64 = 2000;

/// The interval of the expected number of events, for this number of counted ones: exact by the Poisson distribution
/// (Garwood 1936), above 2000 by the approximation of Wilson and Hilferty (1931).
pub fn expected(events: u64) -> Interval {
    let tail = (1.0 - LEVEL) / 2.0;
    let low = if events == 0 { 0.0 } else { gamma(events, tail) };
    Interval { low, high: gamma(events + 1, 1.0 - tail), level: LEVEL }
}

/// The quantile of the gamma distribution of this shape and scale 1.
fn gamma(shape: u64, share: f64) -> f64 {
    let events = shape as f64;
    if shape > EXACT {
        return events
            * (1.0 - 1.0 / (9.0 * events) + normal::quantile(share) / (3.0 * events.sqrt())).powi(3);
    }
    let (mut low, mut high) = (0.0, 2.0 * events + 30.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        *(if middle.inc_gamma(events) < share { &mut low } else { &mut high }) = middle;
    }
    f64::midpoint(low, high)
}

/// The frequency of events on the second side divided by that on the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The ratio of the frequencies; none where the first side has no event.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end; none where the first side has no event: there is no limit then.
    pub high: Option<f64>,
}

/// The ratio of two frequencies of rare events, each among a number of samples, with its interval at [`LEVEL`]. Given
/// the number of events on both sides together, the number on one side is binomial (Przyborowski and Wilenski 1940),
/// and its share has the interval of Clopper and Pearson (1934). `None` without events or without samples.
pub fn ratio(events: [u64; 2], samples: [u64; 2]) -> Option<Ratio> {
    let all = events[0].checked_add(events[1])?;
    if all == 0 || samples.contains(&0) {
        return None;
    }
    let scale = samples[0] as f64 / samples[1] as f64;
    let (low, high) = share(events[1], all);
    let odds = |share: f64| share / (1.0 - share) * scale;
    Some(Ratio {
        value: (events[0] > 0).then(|| events[1] as f64 / events[0] as f64 * scale),
        low: odds(low),
        high: (events[0] > 0).then(|| odds(high)),
    })
}

/// The interval of a share, of which `found` of `all` were found.
pub(crate) fn share(found: u64, all: u64) -> (f64, f64) {
    let tail = (1.0 - LEVEL) / 2.0;
    let (yes, no) = (found as f64, (all - found) as f64);
    if all > EXACT {
        return wilson(yes, no);
    }
    let beta = |a: f64, b: f64, share: f64| share.inv_inc_beta(a, b, a.ln_beta(b));
    let low = if found == 0 { 0.0 } else { beta(yes, no + 1.0, tail) };
    let high = if found == all { 1.0 } else { beta(yes + 1.0, no, 1.0 - tail) };
    (low, high)
}

/// Wilson's score interval (1927), half an event further on both sides for continuity.
fn wilson(yes: f64, no: f64) -> (f64, f64) {
    let quantile = normal::two_sided(LEVEL);
    let all = yes + no;
    let end = |yes: f64, sign: f64| {
        let share = yes / all;
        let square = quantile * quantile / all;
        (share + square / 2.0 + sign * (square * share * (1.0 - share) + square * square / 4.0).sqrt())
            / (1.0 + square)
    };
    (end((yes - 0.5).max(0.0), -1.0).max(0.0), end((yes + 0.5).min(all), 1.0).min(1.0))
}

/// Between which ranks, from 1, the quantile at a share lies with [`LEVEL`]: at most `samples` values, of
/// which each is below the quantile with that probability (David and Nagaraja 7.1). None where there are too
/// few.
pub(crate) fn ranks(samples: u64, at: f64) -> Option<(u64, u64)> {
    let beyond = at.min(1.0 - at);
    let (few, many) = events(samples as f64, beyond)?;
    let (few, many) = (few as u64, (many as u64).min(samples));
    if many >= samples {
        return None;
    }
    // Counted from above where the quantile is an upper one.
    Some(if at < 0.5 { (few + 1, many + 1) } else { (samples - many, samples - few) })
}

/// Two numbers: at most the first occurs with a probability of at most 2.5 %, and so does more than the second.
fn events(trials: f64, probability: f64) -> Option<(f64, f64)> {
    let tail = (1.0 - LEVEL) / 2.0;
    let (mean, variance) = (trials * probability, trials * probability * (1.0 - probability));
    if variance > 100.0 {
        let half_width = normal::two_sided(LEVEL) * variance.sqrt();
        return Some(((mean - half_width - 0.5).floor(), (mean + half_width - 0.5).ceil()));
    }
    // The mean is at most 200, so that the first term is a number, and there are few.
    let mut term = (trials * (-probability).ln_1p()).exp();
    let (mut below, mut count, mut few) = (0.0, 0.0, None);
    loop {
        below += term;
        if below <= tail {
            few = Some(count);
        }
        if below >= 1.0 - tail || count >= trials {
            return Some((few?, count));
        }
        term *= (trials - count) / (count + 1.0) * probability / (1.0 - probability);
        count += 1.0;
    }
}

/// The bounds of a frequency, for this number of samples.
pub(crate) fn frequency(events: u64, samples: u64) -> Bounds {
    let Interval { low, high, level } = expected(events);
    Bounds::new(low / samples as f64, high / samples as f64, level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_seen_is_not_nothing() {
        // The rule of three, at 97.5 %.
        let none = expected(0);
        assert!(none.low == 0.0 && (none.high - 3.688_879).abs() < 1e-5, "{none:?}");
        let ratio = ratio([0, 7], [1000, 1000]).unwrap();
        assert!(ratio.value.is_none() && ratio.high.is_none() && ratio.low > 1.0);
        assert_eq!(super::ratio([0, 0], [9, 9]), None);
        assert_eq!(super::ratio([1, 0], [9, 0]), None);
    }

    #[test]
    fn approximations_join_the_exact_ones() {
        let joined = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 2e-3, "{a} {b}");
        let (exact, approximate) = (expected(EXACT - 1), expected(EXACT + 1));
        joined(exact.low / (EXACT - 1) as f64, approximate.low / (EXACT + 1) as f64);
        joined(exact.high / (EXACT - 1) as f64, approximate.high / (EXACT + 1) as f64);
        for yes in [1, 50, 700, 1999] {
            let (exact, approximate) = (share(yes, EXACT), wilson(yes as f64, (EXACT - yes) as f64));
            assert!((exact.0 - approximate.0).abs() < 2e-3 && (exact.1 - approximate.1).abs() < 2e-3);
        }
    }

    #[test]
    fn intervals_grow_with_what_was_counted() {
        let ends: Vec<Interval> = (0..=EXACT + 5).map(expected).collect();
        assert!(ends.windows(2).all(|pair| pair[0].low < pair[1].low && pair[0].high < pair[1].high));
        let shares: Vec<(f64, f64)> = (0..=EXACT).map(|found| share(found, EXACT)).collect();
        assert!(shares.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
    }

    #[test]
    fn ranks_of_a_quantile() {
        // As for the median of ten: the second and the ninth.
        assert_eq!(ranks(10, 0.5), Some((2, 9)));
        assert_eq!(ranks(5, 0.5), None);
        // R: qbinom(c(0.025, 0.975), 1000, 0.01) is 4 and 17.
        assert_eq!(ranks(1000, 0.99), Some((983, 997)));
        assert_eq!(ranks(1000, 0.01), Some((4, 18)));
        assert_eq!(ranks(1000, 0.999), None);
        assert_eq!(ranks(0, 0.5), None);
        let (low, high) = ranks(216_000_000, 0.999_99).unwrap();
        assert!(
            (2242..=2262).contains(&(216_000_000 - low)) && (2060..=2080).contains(&(216_000_000 - high))
        );
    }
}
