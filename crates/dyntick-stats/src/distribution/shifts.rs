// SPDX-License-Identifier: GPL-2.0-only
//! Two distributions of one run each, against one another.

use super::Grouped;
use crate::interval::{Bounds, Estimate, Interval};
use crate::normal;
use crate::shift::{Method, Test};
use crate::superiority::{Counted, Superiority, bounds};

/// The difference of two figures that were found independently, with the interval that follows from theirs:
/// the distances of the ends add up as squares, each in its own direction (MOVER: Newcombe 1998; Zou and
/// Donner 2008).
pub(crate) fn between(a: &Estimate, b: &Estimate) -> Estimate {
    let value = b.value - a.value;
    let bounds = match (a.bounds, b.bounds) {
        (Bounds::Interval(of_a), Bounds::Interval(of_b)) => {
            let below = (b.value - of_b.low).hypot(of_a.high - a.value);
            let above = (of_b.high - b.value).hypot(a.value - of_a.low);
            Bounds::new(value - below, value + above, of_a.level.min(of_b.level))
        }
        (Bounds::None(reason), _) | (_, Bounds::None(reason)) => Bounds::None(reason),
    };
    Estimate { value, bounds }
}

impl Estimate {
    /// The probability of this figure, or one further from zero, if the true one is zero. It follows from the
    /// distance to the end of the interval that is nearer to zero, taken as normal. `None` without an interval.
    pub(crate) fn test(&self) -> Option<Test> {
        let Interval { low, high, level } = *self.bounds.interval()?;
        let reach = if self.value > 0.0 { self.value - low } else { high - self.value };
        let error = reach / normal::two_sided(level);
        let p = if self.value == 0.0 { 1.0 } else { normal::both_tails(self.value / error) };
        Some(Test { p, method: Method::Interval })
    }
}

/// The probability that a sample of the second side is larger than one of the first. Samples beyond a histogram are
/// above all counted ones, and equal to one another. `None` if a side has no samples.
pub(crate) fn more_often(a: &Grouped, b: &Grouped) -> Option<Superiority> {
    let counts = [a.samples() as f64, b.samples() as f64];
    if counts.contains(&0.0) {
        return None;
    }
    let (probability, of_b) = places(b, a);
    let (_, of_a) = places(a, b);
    let counted = Counted { probability, counts, variances: [of_a, of_b] };
    Some(Superiority::new(probability, bounds(&counted)))
}

/// The mean and the variance of the places of one's samples among the other's, as shares.
fn places(of: &Grouped, among: &Grouped) -> (f64, f64) {
    let (mut next, mut below) = (0, 0u64);
    let counted = of.bins().map(|(value, count)| {
        while next < among.values.len() && among.values[next] < value {
            below = among.through[next];
            next += 1;
        }
        let through = if among.values.get(next) == Some(&value) { among.through[next] } else { below };
        ((below as f64 + through as f64) / 2.0, count)
    });
    let beyond = among.counted() as f64 + among.overflows as f64 / 2.0;
    let places: Vec<(f64, u64)> = counted.chain([(beyond, of.overflows)]).collect();
    let (samples, others) = (of.samples() as f64, among.samples() as f64);
    let mean = places.iter().map(|(place, count)| place * *count as f64).sum::<f64>() / samples / others;
    let square = |(place, count): &(f64, u64)| (place / others - mean).powi(2) * *count as f64;
    (mean, places.iter().map(square).sum::<f64>() / (samples - 1.0).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superiority::superiority;
    use crate::{Histogram, Samples};
    use proptest::prelude::*;

    #[test]
    fn ends_add_up_as_squares() {
        let estimate =
            |value: f64, low: f64, high: f64| Estimate { value, bounds: Bounds::new(low, high, 0.95) };
        let found = between(&estimate(10.0, 7.0, 14.0), &estimate(20.0, 17.0, 24.0));
        let interval = *found.bounds.interval().unwrap();
        assert_eq!((found.value, interval.low, interval.high), (10.0, 5.0, 15.0));
        let p = found.test().unwrap().p;
        assert!((p - normal::both_tails(2.0 * normal::two_sided(0.95))).abs() < 1e-12);
        assert!(estimate(5.0, 0.0, 9.0).test().is_some_and(|test| (test.p - 0.05).abs() < 1e-6));
        assert!(estimate(-5.0, -50.0, 0.0).test().is_some_and(|test| (test.p - 0.05).abs() < 1e-6));
    }

    #[test]
    fn what_is_beyond_is_above_all() {
        let side =
            |overflows| Samples { overflows, ..Samples::from([(5, 10)].into_iter().collect::<Histogram>()) };
        let found = more_often(&Grouped::of([&side(0)]), &Grouped::of([&side(10)])).unwrap();
        assert_eq!(found.probability.value, 0.75);
        let found = more_often(&Grouped::of([&side(10)]), &Grouped::of([&side(10)])).unwrap();
        assert_eq!(found.probability.value, 0.5);
    }

    proptest! {
        #[test]
        fn the_same_by_counts_and_by_values(
            a in prop::collection::vec(0u64..15, 2..30),
            b in prop::collection::vec(0u64..15, 2..30),
        ) {
            let grouped = |side: &[u64]| {
                Grouped::of([&Samples::from(side.iter().map(|value| (*value, 1)).collect::<Histogram>())])
            };
            let by_counts = more_often(&grouped(&a), &grouped(&b)).unwrap().probability;
            let [a, b] = [a, b].map(|side| side.iter().map(|value| *value as f64).collect::<Vec<f64>>());
            let by_values = superiority(&a, &b).unwrap().probability;
            prop_assert!((by_counts.value - by_values.value).abs() < 1e-12);
            let (counts, values) = (by_counts.bounds.interval().unwrap(), by_values.bounds.interval().unwrap());
            prop_assert!((counts.low - values.low).abs() < 1e-9 && (counts.high - values.high).abs() < 1e-9);
        }
    }
}
