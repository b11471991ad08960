// SPDX-License-Identifier: GPL-2.0-only
//! Distributions of one run a side: whether the intervals of quantiles, their shifts and tails hold for
//! independent samples.

use super::shapes::normal;
use super::share;
use dyntick_model::Clock;
use dyntick_stats::compare::{Comparison, Distribution, Outcome, Question, Side};
use dyntick_stats::{Better, Grouped, Histogram, Metric, MetricName, Point, Samples, Values};
use rand_xoshiro::Xoshiro256PlusPlus;
use special::Error;

/// Latencies around 8 us, skewed, truncated to integer us as cyclictest does.
const DEVIATION: f64 = 0.5;

fn latencies(random: &mut Xoshiro256PlusPlus, samples: usize, times: f64) -> Samples {
    let latency = |random: &mut Xoshiro256PlusPlus| (8.0 * times * (DEVIATION * normal(random)).exp()) as u64;
    Samples::from((0..samples).map(|_| (latency(random), 1)).collect::<Histogram>())
}

/// Their true distribution, as counts of more samples than can be drawn.
fn truth(times: f64) -> Samples {
    let below = |us: u64| {
        (-((us as f64 / (8.0 * times)).ln() / DEVIATION) / std::f64::consts::SQRT_2).compl_error() / 2.0
    };
    let count = |us: u64| ((below(us + 1) - below(us)) * 1e15).round() as u64;
    Samples::from((0..2000).map(|us| (us, count(us))).collect::<Histogram>())
}

fn compared(a: Samples, b: Samples) -> Distribution {
    let side = |samples: Samples| {
        let values = Values::Distribution(vec![samples]);
        let metric = Metric::new("us", Better::Lower, Clock::Wall, values);
        Side { label: String::new(), metrics: [(MetricName::new("latency").unwrap(), metric)].into() }
    };
    let comparison =
        Comparison::of(&[side(a), side(b)], Question { limits: vec![20], ..Question::default() });
    match &comparison.rows[0].outcome {
        Outcome::Distribution(found) => found.clone(),
        other => panic!("{other:?}"),
    }
}

/// Samples of each side; few, for the intervals are the same whether a million or a thousand are drawn, but
/// for the tails.
const SAMPLES: usize = 2000;

#[test]
fn quantiles_means_tails_and_superiority() {
    let (old, new) = (truth(1.0), truth(1.2));
    let (grouped_old, grouped_new) = (Grouped::of([&old]), Grouped::of([&new]));
    let points = [0.5, 0.9, 0.99].map(Point::Quantile).into_iter().chain([Point::Mean]);
    let points: Vec<Point> = points.collect();
    let moved = |point: Point| grouped_new.value(point).unwrap() - grouped_old.value(point).unwrap();
    let ratio = grouped_new.above(20).unwrap() as f64 / grouped_old.above(20).unwrap() as f64;
    let superior = compared(old, new).superiority.unwrap().probability.value;
    let mut counts = vec![[0; 2]; points.len()];
    let (mut tails, mut order) = (0, 0);
    share(31, |random| {
        let found = compared(latencies(random, SAMPLES, 1.0), latencies(random, SAMPLES, 1.2));
        for (point, count) in points.iter().zip(&mut counts) {
            let figure = &found.points.iter().find(|(at, _)| at == point).unwrap().1;
            let covers = |estimate: &dyntick_stats::Estimate, truth: f64| {
                estimate.bounds.interval().is_some_and(|interval| interval.covers(truth))
            };
            count[0] += usize::from(covers(&figure.sides[0].value, grouped_old.value(*point).unwrap()));
            count[1] += usize::from(covers(&figure.shift, moved(*point)));
        }
        let expected = found.tails[0].ratio.unwrap();
        tails += usize::from(expected.low <= ratio && expected.high.is_some_and(|high| ratio <= high));
        let probability = found.superiority.unwrap().probability.bounds;
        order += usize::from(probability.interval().unwrap().covers(superior));
        true
    });
    let slack = 100.0 * super::point();
    let percent = |count: usize| count as f64 / super::experiments() as f64 * 100.0;
    for (point, [alone, shift]) in points.iter().zip(counts) {
        println!(
            "{point} of {SAMPLES} samples: {:.1} %, its shift: {:.1} %, stated 95 %",
            percent(alone),
            percent(shift)
        );
        for found in [percent(alone), percent(shift)] {
            assert!((95.0 - slack..=97.5 + slack).contains(&found), "{point}: {found}");
        }
    }
    println!("ratio of tails: {:.1} %, superiority: {:.1} %, stated 95 %", percent(tails), percent(order));
    assert!(percent(tails) >= 95.0 - slack && (95.0 - slack..=95.5 + slack).contains(&percent(order)));
}

/// A quantile that is reported as worse although nothing differs.
#[test]
fn false_alarms() {
    let found = share(32, |random| {
        let found = compared(latencies(random, SAMPLES, 1.0), latencies(random, SAMPLES, 1.0));
        found.points.iter().any(|(_, figure)| figure.adjusted_p.is_some_and(|p| p <= 0.05))
    });
    println!("any point of a distribution differs where none does: {:.1} %", found * 100.0);
    assert!(found <= 0.05 + super::point(), "{found}");
}
