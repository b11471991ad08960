// SPDX-License-Identifier: GPL-2.0-only
//! The shift that a number of runs could have shown, and the number of runs that would show a smaller one.

use crate::interval::{Bounds, LEVEL};
use crate::outliers::spread;
use crate::{normal, shift};

/// The probability that an effect of the size shown is found.
pub const POWER: f64 = 0.8;

/// The precision of a shift: its standard error, and the number of values of each side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    error: f64,
    counts: [f64; 2],
}

impl Precision {
    /// The precision of the shift between two sides' runs. It follows from the interval if there is one, otherwise
    /// from the runs' spread as for normal values (the rank test then needs pi/3 as many). `None` if no value varies
    /// or a side has one run.
    pub fn of(a: &[f64], b: &[f64], bounds: &Bounds) -> Option<Self> {
        let counts = [a.len() as f64, b.len() as f64];
        let degrees = counts[0] + counts[1] - 2.0;
        let error = match bounds.interval() {
            Some(interval) => interval.half() / normal::student(f64::midpoint(1.0, interval.level), degrees),
            None if counts.iter().all(|count| *count >= 2.0) => {
                let variances = [spread(a)?.powi(2) / counts[0], spread(b)?.powi(2) / counts[1]];
                (std::f64::consts::FRAC_PI_3 * (variances[0] + variances[1])).sqrt()
            }
            None => return None,
        };
        (error > 0.0 && error.is_finite()).then_some(Self { error, counts })
    }

    /// The smallest shift that this number of runs shows with a probability of [`POWER`] at a p value of at most `p`,
    /// in the unit of the values. `None` if they cannot reach that p.
    pub fn could_show(&self, p: f64) -> Option<f64> {
        let [m, n] = self.counts.map(|count| count as usize);
        (shift::least(m, n) <= p).then(|| self.needed_for(p, 1.0))
    }

    /// The shift that is shown with this many times the runs: the standard errors that the test needs for the p value
    /// that it can reach, and those that [`POWER`] needs.
    fn needed_for(&self, p: f64, times: f64) -> f64 {
        let [m, n] = self.counts.map(|count| count * times);
        let degrees = m + n - 2.0;
        let reached = shift::reachable(m as usize, n as usize, p);
        let quantiles = quantile(1.0 - reached / 2.0, degrees) + quantile(POWER, degrees);
        quantiles * self.error / times.sqrt()
    }

    /// About how many more runs of each side would decide: show the shift that was found as a difference with
    /// a p value of at most `p`, or show that it is within the margin, whichever needs fewer; each with a
    /// probability of [`POWER`]. At least 1; at most [`MOST`].
    pub fn more_runs(&self, shift: f64, margin: f64, p: f64) -> u64 {
        let fewest = shift::fewest(p).max(shift::fewest(1.0 - LEVEL)) as u64;
        let now = self.counts[0].min(self.counts[1]);
        let decided = |more: u64| {
            let times = (now + more as f64) / now;
            let inside = margin - shift.abs();
            let reachable = now as u64 + more >= fewest;
            reachable
                && (self.needed_for(p, times) <= shift.abs() || self.needed_for(1.0 - LEVEL, times) <= inside)
        };
        let mut enough = 1;
        while enough < MOST && !decided(enough) {
            enough *= 2;
        }
        let (mut few, mut enough) = (enough / 2, enough.min(MOST));
        // A precision of one in twenty is enough: the number is reported as approximate.
        while few + 1 < enough && (enough - few) * 20 > enough {
            let middle = few.midpoint(enough);
            *(if decided(middle) { &mut enough } else { &mut few }) = middle;
        }
        enough
    }
}

/// Student's quantile; above 100 degrees the normal one, which is within 2 % and quick enough for a search.
fn quantile(share: f64, degrees: f64) -> f64 {
    if degrees > 100.0 { normal::quantile(share) } else { normal::student(share, degrees) }
}

/// The largest number of further runs that is reported: more are not practical.
pub const MOST: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shift::shift;

    fn ramp(from: f64) -> Vec<f64> {
        (0..10).map(|step| from + f64::from(step)).collect()
    }

    #[test]
    fn four_times_the_runs_show_half_the_shift() {
        let (a, b) = (ramp(100.0), ramp(100.5));
        let found = shift(&a, &b).unwrap();
        let precision = Precision::of(&a, &b, &found.bounds).unwrap();
        let now = precision.could_show(0.05).unwrap();
        // Normal values of that deviation, n = 10: 1.3 deviations (3.03) by the t test.
        assert!((3.5..5.0).contains(&now), "{now}");
        let more = precision.more_runs(now / 2.0, 0.0, 0.05);
        assert!((26..=31).contains(&more), "{more}");
        assert!(precision.more_runs(now / 2.0, 0.0, 0.001) > more);
        assert!(precision.more_runs(0.0, now, 0.05) < more);
        assert_eq!(precision.more_runs(0.0, 0.0, 0.05), MOST);
    }

    #[test]
    fn too_few_runs_could_show_nothing() {
        let (a, b) = ([1.0, 2.0, 3.5], [3.0, 4.0, 5.0]);
        let found = shift(&a, &b).unwrap();
        let precision = Precision::of(&a, &b, &found.bounds).unwrap();
        assert_eq!(precision.could_show(0.05), None);
        assert!(precision.more_runs(1e9, 0.0, 0.05) == 1);
        assert_eq!(Precision::of(&[1.0], &[2.0], &found.bounds), None);
        assert_eq!(Precision::of(&[1.0; 3], &[1.0; 3], &found.bounds), None);
    }
}
