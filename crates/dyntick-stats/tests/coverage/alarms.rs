// SPDX-License-Identifier: GPL-2.0-only
//! The rate at which chance is taken for a change.

use super::shapes::{SHAPES, Shape};
use super::{RUNS, experiments, seed, seldom, share};
use dyntick_model::Clock;
use dyntick_stats::compare::{Comparison, Figure, Flag, Outcome, Question, Side, Verdict};
use dyntick_stats::{Better, Metric, MetricName, Values, mann_whitney, outliers, shift, trend};
use rand_xoshiro::Xoshiro256PlusPlus;

#[test]
fn of_p_values() {
    for shape in SHAPES {
        for runs in RUNS {
            let found = share(seed(11, shape, runs), |random| {
                let (a, b) = (shape.runs(random, runs, 0.0), shape.runs(random, runs, 0.0));
                mann_whitney(&a, &b).unwrap().p <= 0.05
            });
            seldom("p value of at most 0.05 without a difference", shape, runs, found);
        }
    }
}

/// A comparison of metrics that all are drawn from the same distribution but for a shift.
fn compared(
    random: &mut Xoshiro256PlusPlus,
    shape: Shape,
    runs: usize,
    metrics: usize,
    higher: f64,
) -> Comparison {
    let mut side = |label: &str, higher: f64| {
        let metric = |number: usize| {
            let values = Values::Runs(shape.runs(random, runs, 100.0 + higher));
            let metric = Metric::new("", Better::Lower, Clock::Wall, values);
            (MetricName::new(&number.to_string()).unwrap(), metric)
        };
        Side { label: label.into(), metrics: (0..metrics).map(metric).collect() }
    };
    let sides = [side("a", 0.0), side("b", higher)];
    // Nothing is the same: verdicts are of differences alone.
    Comparison::of(&sides, Question { same_within: 0.0, ..Question::default() })
}

fn figures(comparison: &Comparison) -> impl Iterator<Item = &Figure> {
    comparison.rows.iter().map(|row| match &row.outcome {
        Outcome::Runs(figure) => figure.as_ref(),
        other => panic!("{other:?}"),
    })
}

fn expected(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

#[test]
fn of_verdicts() {
    for shape in SHAPES {
        for runs in RUNS {
            let found = share(seed(12, shape, runs), |random| {
                figures(&compared(random, shape, runs, 1, 0.0)).any(|figure| expected(figure.verdict))
            });
            seldom("better or worse without a difference", shape, runs, found);
        }
    }
}

#[test]
fn of_verdicts_on_many_metrics() {
    for shape in [Shape::Skewed, Shape::Ties] {
        let found = share(seed(13, shape, 10), |random| {
            figures(&compared(random, shape, 10, 8, 0.0)).any(|figure| expected(figure.verdict))
        });
        seldom("better or worse of any of 8 metrics without a difference", shape, 10, found);
    }
}

/// The same within a margin, where the difference is just what matters.
#[test]
fn of_sameness() {
    for shape in SHAPES {
        for runs in RUNS {
            // The first side's median is the measure of the margin, and a chance itself; here it is given.
            let margin = shape.shift();
            let found = share(seed(14, shape, runs), |random| {
                let (a, b) = (shape.runs(random, runs, 0.0), shape.runs(random, runs, margin));
                let bounds = shift(&a, &b).unwrap().bounds;
                bounds
                    .interval()
                    .is_some_and(|interval| interval.covers(0.0) && interval.within(margin * (1.0 - 1e-9)))
            });
            seldom("same within what is just not the same", shape, runs, found);
        }
    }
}

#[test]
fn of_trends() {
    for shape in SHAPES {
        for runs in RUNS {
            let found = share(seed(15, shape, runs), |random| {
                trend(&shape.runs(random, runs, 0.0)).unwrap().p <= 0.05
            });
            seldom("drift without a trend", shape, runs, found);
        }
    }
}

#[test]
fn of_drift_flags() {
    let found = share(16, |random| {
        let comparison = compared(random, Shape::Normal, 10, 4, 0.0);
        figures(&comparison).any(|figure| figure.flags.iter().any(|flag| matches!(flag, Flag::Drift { .. })))
    });
    seldom("drift of any of 8 without a trend", Shape::Normal, 10, found);
}

#[test]
fn of_outliers() {
    for runs in [5, 6, 7, 8, 9, 10, 11, 15, 20, 30, 100] {
        let found = share(seed(17, Shape::Normal, runs), |random| {
            !outliers(&Shape::Normal.runs(random, runs, 0.0)).is_empty()
        });
        seldom("outliers of normal runs", Shape::Normal, runs, found);
    }
    let found = share(17, |random| !outliers(&Shape::Skewed.runs(random, 10, 0.0)).is_empty());
    println!("outliers of skewed runs, 10 runs: {:.1} %", found * 100.0);
}

#[test]
fn of_unequal_spreads() {
    for runs in [5, 6, 7, 8, 9, 10, 11, 15, 20] {
        let found = share(seed(22, Shape::Normal, runs), |random| {
            figures(&compared(random, Shape::Normal, runs, 1, 0.0))
                .any(|figure| figure.flags.iter().any(|flag| matches!(flag, Flag::SpreadsDiffer { .. })))
        });
        seldom("spreads that differ, of equal ones", Shape::Normal, runs, found);
    }
}

/// A shift of the size that is said to be visible is found about four times of five, and with as many more
/// runs as are said to be wanted, too.
#[test]
fn of_nothing_where_there_is_something() {
    for (shape, runs) in [(Shape::Normal, 5), (Shape::Normal, 10), (Shape::Normal, 30), (Shape::Skewed, 30)] {
        let (mut visible, mut number) = (0.0, 0.0);
        share(seed(18, shape, runs), |random| {
            let comparison = compared(random, shape, runs, 1, 0.0);
            visible += figures(&comparison).next().unwrap().could_show.unwrap();
            number += 1.0;
            true
        });
        assert_eq!(number, experiments() as f64);
        let visible = visible / number;
        let found = share(seed(19, shape, runs), |random| {
            figures(&compared(random, shape, runs, 1, visible)).any(|figure| figure.verdict == Verdict::Worse)
        });
        println!("found of {visible:.2} that could be shown, {shape:?}, {runs} runs: {:.1} %", found * 100.0);
        assert!((0.7..=0.92).contains(&found), "{shape:?} {runs}: {found}");
    }
}

#[test]
fn of_the_runs_that_are_wanted() {
    // Half a deviation is seldom visible with 10 runs. Of those experiments that do not decide, the median
    // number is asked for.
    let mut wanted = Vec::new();
    share(20, |random| {
        for figure in figures(&compared(random, Shape::Normal, 10, 1, 0.5)) {
            if let Verdict::Inconclusive { more_runs: Some(more) } = figure.verdict {
                wanted.push(more);
            }
        }
        true
    });
    wanted.sort_unstable();
    let more = wanted[wanted.len() / 2] as usize;
    let found = share(21, |random| {
        figures(&compared(random, Shape::Normal, 10 + more, 1, 0.5))
            .any(|figure| figure.verdict == Verdict::Worse)
    });
    println!("found of half a deviation with {more} runs more than 10: {:.1} %", found * 100.0);
    assert!((0.6..=0.97).contains(&found), "{more}: {found}");
}
