// SPDX-License-Identifier: GPL-2.0-only
//! The same data given to scipy and to R. `fixtures/make.py` and `fixtures/make.R` made what stands in the
//! JSON files there.

use dyntick_stats::{
    Bounds, Grouped, Histogram, Method, NoInterval, Point, Samples, expected, holm, mann_whitney, median,
    outliers, ratio, shift, superiority, trend,
};
use serde_json::Value;
use std::sync::LazyLock;

static DATA: LazyLock<Value> = LazyLock::new(|| read(include_str!("fixtures/data.json")));
static SCIPY: LazyLock<Value> = LazyLock::new(|| read(include_str!("fixtures/scipy.json")));
static R: LazyLock<Value> = LazyLock::new(|| read(include_str!("fixtures/r.json")));

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    array(value).iter().map(|value| value.as_f64().unwrap()).collect()
}

/// Equal to a relative error of `parts`; `null` in the reference is not compared.
#[track_caller]
fn close(found: f64, published: &Value, parts: f64) {
    if let Some(published) = published.as_f64() {
        assert!((found - published).abs() <= parts * published.abs().max(1e-6), "{found} is not {published}");
    }
}

/// The data of each pair with the results of scipy and R for it.
fn pairs() -> impl Iterator<Item = (Vec<f64>, Vec<f64>, &'static Value, &'static Value)> {
    let references = array(&SCIPY["pairs"]).iter().zip(array(&R["pairs"]));
    array(&DATA["pairs"]).iter().zip(references).map(|(pair, (scipy, r))| {
        assert_eq!((&pair["name"], &pair["name"]), (&scipy["name"], &r["name"]));
        (numbers(&pair["a"]), numbers(&pair["b"]), scipy, r)
    })
}

#[test]
fn shifts_and_their_intervals() {
    for (a, b, scipy, r) in pairs() {
        let found = shift(&a, &b).unwrap();
        close(found.value, &scipy["shift"], 1e-12);
        close(found.value, &r["shift"], 1e-9);
        let interval = *found.bounds.interval().unwrap();
        // Of more than 100 values in all, too: the normal distribution gives the same ranks.
        close(interval.low, &r["low"], 1e-9);
        close(interval.high, &r["high"], 1e-9);
    }
    assert_eq!(array(&R["pairs"]).iter().filter(|pair| pair["low"].is_number()).count(), 6);
}

#[test]
fn p_values() {
    let mut methods = Vec::new();
    for (a, b, scipy, r) in pairs() {
        let found = mann_whitney(&a, &b).unwrap();
        match found.method {
            Method::Exact => {
                close(found.p, &scipy["exact"], 1e-9);
                close(found.p, &r["p_exact"], 1e-9);
                close(found.p, &scipy["permutation"], 1e-9);
            }
            Method::Permutation => close(found.p, &scipy["permutation"], 1e-9),
            Method::Normal | Method::Interval => {
                close(found.p, &scipy["asymptotic"], 1e-6);
                close(found.p, &r["p_normal"], 1e-6);
            }
        }
        methods.push(found.method);
    }
    let each = [Method::Exact, Method::Permutation, Method::Normal];
    assert_eq!(each.map(|method| methods.iter().filter(|used| **used == method).count()), [6, 2, 1]);
}

#[test]
fn effects() {
    for (a, b, scipy, _) in pairs() {
        let found = superiority(&a, &b).unwrap();
        close(found.delta.value, &scipy["cliff"], 1e-12);
        close(found.probability.value * (a.len() * b.len()) as f64, &scipy["u"], 1e-12);
    }
}

#[test]
fn distances_of_outliers() {
    let mut seen = 0;
    for (mut a, _, scipy, _) in pairs().filter(|pair| pair.0.len() >= 5) {
        a.push(1e6);
        // Where more than half are equal, scipy divides by zero.
        let [.., found] = outliers(&a)[..] else { continue };
        close(found.distance, &scipy["outlier"], 1e-9);
        seen += 1;
    }
    assert!(seen >= 6, "{seen}");
}

#[test]
fn trends() {
    let references = array(&SCIPY["series"]).iter().zip(array(&R["series"]));
    for (series, (scipy, r)) in array(&DATA["series"]).iter().zip(references) {
        let series = numbers(series);
        let found = trend(&series).unwrap();
        close(found.tau, &scipy["tau"], 1e-9);
        if series.len() <= 40 {
            close(found.p, &scipy["exact"], 1e-9);
            close(found.p, &r["exact"], 1e-9);
            close(found.p, &scipy["orders"], 1e-9);
        } else {
            close(found.p, &r["normal"], 1e-6);
        }
    }
}

#[test]
fn adjusted_p_values() {
    for (p, r) in array(&DATA["p"]).iter().zip(array(&R["holm"])) {
        holm(&numbers(p))
            .into_iter()
            .zip(array(r))
            .for_each(|(found, published)| close(found, published, 1e-9));
    }
}

/// A share's interval is what a ratio of two counts among as many samples has, as odds.
#[test]
fn shares() {
    let references = array(&SCIPY["counts"]).iter().zip(array(&R["counts"]));
    for (count, (scipy, r)) in array(&DATA["counts"]).iter().zip(references) {
        let [found, of] = [0, 1].map(|at| count[at].as_u64().unwrap());
        let ratio = ratio([of - found, found], [1, 1]).unwrap();
        for (end, odds) in [ratio.low, ratio.high.unwrap()].into_iter().enumerate() {
            close(odds / (1.0 + odds), &scipy[end], 1e-8);
            close(odds / (1.0 + odds), &r[end], 1e-8);
        }
    }
}

#[test]
fn rates() {
    for (rate, r) in array(&DATA["rates"]).iter().zip(array(&R["rates"])) {
        let [x, y, m, n] = [0, 1, 2, 3].map(|at| rate[at].as_u64().unwrap());
        // Above 2000 events the approximations take over.
        let found = ratio([x, y], [m, n]).unwrap();
        let parts = if x + y > 2000 { 1e-3 } else { 1e-8 };
        close(found.value.unwrap_or(f64::NAN), if x > 0 { &r["ratio"] } else { &Value::Null }, 1e-9);
        close(found.low, &r["low"], parts);
        assert_eq!(found.high.is_none(), r["high"].is_null());
        close(found.high.unwrap_or(f64::NAN), &r["high"], parts);
        let interval = expected(x);
        let parts = if x > 2000 { 1e-4 } else { 1e-8 };
        close(interval.low, &r["expected_low"], parts);
        close(interval.high, &r["expected_high"], parts);
    }
}

#[test]
fn medians_lie_between_the_ranks() {
    for published in array(&R["medians"]) {
        let [count, below] = ["n", "below"].map(|field| published[field].as_u64().unwrap());
        let values: Vec<f64> = (0..count).map(|value| value as f64).collect();
        let interval = *median(&values).unwrap().bounds.interval().unwrap();
        assert_eq!((interval.low, interval.high), (below as f64, (count - 1 - below) as f64));
        close(interval.level, &published["level"], 1e-9);
    }
    let few = median(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    assert_eq!(few.bounds, Bounds::None(NoInterval::TooFewRuns { needed: 6 }));
}

#[test]
fn quantiles_of_counts() {
    let counts =
        array(&DATA["histogram"]).iter().map(|bin| (bin[0].as_u64().unwrap(), bin[1].as_u64().unwrap()));
    let histogram: Histogram = counts.collect();
    let grouped = Grouped::of([&Samples::from(histogram.clone())]);
    for (at, share) in numbers(&DATA["shares"]).into_iter().enumerate() {
        close(histogram.quantile(share).unwrap() as f64, &R["nearest_rank"][at], 1e-12);
        close(grouped.quantile(share).unwrap(), &SCIPY["grouped"][at], 1e-9);
    }
    let (mean, variance) = grouped.moments().unwrap();
    // R takes the values for themselves; here each is the lower end of a bucket.
    close(mean - 0.5, &R["mean"], 1e-9);
    close(variance, &R["variance"], 1e-9);
    assert_eq!(grouped.value(Point::Mean), Some(mean));
}
