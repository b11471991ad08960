// SPDX-License-Identifier: GPL-2.0-only
//! Complete comparisons: the verdicts that they end in, and the claims that they never make.

use dyntick_model::Clock;
use dyntick_stats::compare::{
    Basis, Change, Comparison, Figure, Flag, Outcome, Question, Refusal, Side, Verdict,
};
use dyntick_stats::{
    About, Better, Bounds, Exposure, Histogram, Metric, MetricName, NoInterval, Point, Samples, Values,
};

fn side(label: &str, metrics: &[(&str, Metric)]) -> Side {
    let metrics = metrics.iter().map(|(name, metric)| (MetricName::new(name).unwrap(), metric.clone()));
    Side { label: label.into(), metrics: metrics.collect() }
}

fn metric(clock: Clock, better: Better, values: Values) -> Metric {
    Metric::new("ns", better, clock, values)
}

/// Values of runs around a center, always the same: each a different distance from it.
fn around(center: f64, spread: f64, runs: usize) -> Vec<f64> {
    (0..runs).map(|run| center + spread * ((run * 7 % runs) as f64 / runs as f64 - 0.45)).collect()
}

fn two(clock: Clock, better: Better, a: Vec<f64>, b: Vec<f64>) -> Comparison {
    let [a, b] = [a, b].map(|runs| metric(clock, better, Values::Runs(runs)));
    Comparison::of(&[side("old", &[("time", a)]), side("new", &[("time", b)])], Question::default())
}

fn figure(comparison: &Comparison) -> &Figure {
    match &comparison.rows[0].outcome {
        Outcome::Runs(figure) => figure,
        other => panic!("{other:?}"),
    }
}

fn wall(better: Better, a: Vec<f64>, b: Vec<f64>) -> Verdict {
    figure(&two(Clock::Wall, better, a, b)).verdict
}

#[test]
fn every_verdict() {
    let (slow, fast) = (around(1200.0, 40.0, 10), around(1000.0, 40.0, 10));
    assert_eq!(wall(Better::Lower, slow.clone(), fast.clone()), Verdict::Better);
    assert_eq!(wall(Better::Lower, fast.clone(), slow.clone()), Verdict::Worse);
    assert_eq!(wall(Better::Higher, fast.clone(), slow.clone()), Verdict::Better);
    assert_eq!(wall(Better::Unknown, fast.clone(), slow), Verdict::Different);
    assert_eq!(wall(Better::Lower, fast, around(1003.0, 40.0, 10)), Verdict::SameWithin { percent: 5.0 });
    let (a, b) = (around(1000.0, 900.0, 10), around(1200.0, 900.0, 10));
    let Verdict::Inconclusive { more_runs: Some(more) } = wall(Better::Lower, a, b) else { panic!() };
    assert!((5..=100).contains(&more), "{more}");
}

#[test]
fn a_difference_that_does_not_matter_is_none() {
    // Beyond chance, and by three in a thousand.
    let comparison = two(Clock::Wall, Better::Lower, around(1000.0, 1.0, 10), around(1003.0, 1.0, 10));
    assert!(figure(&comparison).adjusted_p.unwrap() < 0.001);
    assert_eq!(figure(&comparison).verdict, Verdict::SameWithin { percent: 5.0 });
}

#[test]
fn three_runs_prove_nothing() {
    let comparison = two(Clock::Wall, Better::Lower, vec![1.0, 2.0, 3.0], vec![100.0, 110.0, 120.0]);
    let figure = figure(&comparison);
    assert_eq!(figure.shift.bounds, Bounds::None(NoInterval::TooFewRuns { needed: 4 }));
    assert_eq!(figure.verdict, Verdict::Inconclusive { more_runs: Some(1) });
    assert_eq!(figure.could_show, None);
    assert!(figure.flags.contains(&Flag::TooFewForSoMany { needed: 4 }));
    let one = two(Clock::Wall, Better::Lower, vec![1.0], vec![1.0]);
    assert_eq!(self::figure(&one).verdict, Verdict::Inconclusive { more_runs: Some(3) });
}

/// 2 of 41 places are the outermost: the run differs from the others, which says nothing of its side.
#[test]
fn one_run_against_many_is_no_side() {
    let many: Vec<f64> = (0..40).map(|run| 1000.0 + f64::from(run)).collect();
    let comparison = two(Clock::Wall, Better::Lower, many, vec![5000.0]);
    assert_eq!(figure(&comparison).verdict, Verdict::RunsDiffer);
    assert!(figure(&comparison).could_show.is_some());
}

/// Runs of a figure with these conditions.
fn under(runs: Vec<f64>, about: About) -> Metric {
    Metric { about, ..metric(Clock::Wall, Better::Lower, Values::Runs(runs)) }
}

fn verdict_of(a: Metric, b: Metric) -> Verdict {
    let sides = [side("a", &[("x", a)]), side("b", &[("x", b)])];
    figure(&Comparison::of(&sides, Question::default())).verdict
}

#[test]
fn figures_that_grow_are_compared_at_equal_exposure() {
    let watched = |seconds: f64, stopped_early| {
        let exposure = vec![Exposure { seconds: Some(seconds), stopped_early, ..Exposure::default() }; 10];
        About { grows: true, exposure, ..About::default() }
    };
    let (short, long) = (|| around(100.0, 4.0, 10), || around(700.0, 4.0, 10));
    let of = |a, b| verdict_of(under(short(), a), under(long(), b));
    assert_eq!(of(watched(60.0, false), watched(61.0, false)), Verdict::Worse);
    assert_eq!(of(watched(60.0, false), watched(600.0, false)), Verdict::Unequal);
    assert_eq!(of(watched(60.0, true), watched(60.0, false)), Verdict::Unequal);
    let constant = About { grows: false, ..watched(60.0, false) };
    assert_eq!(of(constant, watched(600.0, false)), Verdict::Unequal, "either side says that it grows");
    assert_eq!(of(About::default(), About::default()), Verdict::Worse, "nothing is known");
}

#[test]
fn printed_figure_is_known_to_its_last_digit() {
    let whole = |value: f64| under(vec![value; 8], About { step: 1.0, ..About::default() });
    let Verdict::SameWithin { percent } = verdict_of(whole(3.0), whole(3.0)) else { panic!() };
    assert!((percent - 100.0 / 3.0).abs() < 1e-9, "{percent}");
    assert!(matches!(verdict_of(whole(3.0), whole(4.0)), Verdict::SameWithin { .. }));
    assert_eq!(verdict_of(whole(3.0), whole(5.0)), Verdict::Worse);
    assert_eq!(verdict_of(whole(40.0), whole(41.0)), Verdict::SameWithin { percent: 5.0 });
}

#[test]
fn share_is_the_same_if_its_complement_is() {
    let share = |values: Vec<f64>| {
        let unknown = metric(Clock::Wall, Better::Unknown, Values::Runs(values));
        Metric { unit: "%".into(), ..unknown }
    };
    assert_eq!(verdict_of(share(around(99.6, 0.1, 8)), share(around(95.4, 0.1, 8))), Verdict::Different);
    assert_eq!(verdict_of(share(around(0.4, 0.1, 8)), share(around(4.6, 0.1, 8))), Verdict::Different);
    let half = verdict_of(share(around(50.0, 0.1, 8)), share(around(50.5, 0.1, 8)));
    assert_eq!(half, Verdict::SameWithin { percent: 5.0 });
}

#[test]
fn threads_of_a_run_are_one_metric() {
    let of = |label: &str, center: f64| {
        let threads: Vec<String> = (0..12).map(|thread| format!("x/T{thread}/avg")).collect();
        let metric = |thread: usize| under(around(center + thread as f64, 4.0, 10), About::default());
        let metrics: Vec<(&str, Metric)> =
            threads.iter().enumerate().map(|(thread, name)| (name.as_str(), metric(thread))).collect();
        side(label, &metrics)
    };
    let comparison = Comparison::of(&[of("a", 100.0), of("b", 200.0)], Question::default());
    let [row] = &comparison.rows[..] else { panic!("{:?}", comparison.rows) };
    assert_eq!((row.metric.as_str(), comparison.tests), ("x/T*/avg", 1));
    let members = &row.fold.as_ref().unwrap().members;
    assert_eq!((members.len(), members[2].name.as_str(), members[11].name.as_str()), (12, "T2", "T11"));
    let range = figure(&comparison).sides[1].range.unwrap();
    assert!(range[1] - range[0] > 10.0 && range[0] > 190.0, "{range:?}");
}

#[test]
fn points_of_a_distribution_are_not_compared_again() {
    let about = About { summary_of: MetricName::new("x/latency"), ..About::default() };
    let latency = metric(Clock::Wall, Better::Lower, Values::Distribution(vec![cyclictest(1); 5]));
    let metrics = [("x/max", under(vec![7.0; 5], about.clone())), ("x/latency", latency)];
    let sides = [side("a", &metrics), side("b", &metrics)];
    let names: Vec<String> =
        Comparison::of(&sides, Question::default()).rows.iter().map(|row| row.metric.to_string()).collect();
    assert_eq!(names, ["x/latency"]);
    let alone = [side("a", &metrics[..1]), side("b", &metrics[..1])];
    assert_eq!(Comparison::of(&alone, Question::default()).rows.len(), 1);
}

#[test]
fn equal_runs_of_virtual_time_are_no_sample() {
    let comparison = two(Clock::Virtual, Better::Lower, vec![100.0; 20], vec![101.0; 20]);
    let exact = figure(&comparison);
    assert_eq!((exact.basis, exact.test, exact.could_show), (Basis::Exact, None, None));
    assert_eq!(exact.shift.bounds, Bounds::None(NoInterval::Exact));
    assert_eq!(exact.verdict, Verdict::TheChange { difference: 1.0, change: Change::Worse });
    assert_eq!(exact.percent, Some(1.0));
    let same = two(Clock::Virtual, Better::Lower, vec![100.0], vec![100.0; 3]);
    assert_eq!(figure(&same).verdict, Verdict::TheChange { difference: 0.0, change: Change::None });
    // Virtual time that varies is a sample like any other.
    let varying = two(Clock::Virtual, Better::Lower, vec![100.0; 5], vec![101.0, 101.0, 102.0, 101.0, 101.0]);
    assert_eq!(figure(&varying).basis, Basis::Runs);
}

#[test]
fn no_interval_has_a_width_of_zero() {
    // Wall time that is counted coarsely: equal runs are a sample, and their difference has no interval.
    let comparison = two(Clock::Wall, Better::Lower, vec![3.0; 8], vec![4.0; 8]);
    let coarse = figure(&comparison);
    assert_eq!(coarse.shift.bounds, Bounds::None(NoInterval::NoSpread));
    assert_eq!(coarse.sides[0].value.bounds, Bounds::None(NoInterval::NoSpread));
    assert_eq!(coarse.verdict, Verdict::Worse);
    assert_eq!(wall(Better::Lower, vec![0.0; 8], vec![0.0; 8]), Verdict::SameWithin { percent: 5.0 });
}

#[test]
fn doubts_are_reported_with_their_reasons() {
    let rising: Vec<f64> = (0..12).map(|run| 100.0 + f64::from(run)).collect();
    let mut far = around(100.0, 10.0, 12);
    far[4] = 500.0;
    far[7] = f64::NAN;
    let comparison = two(Clock::Wall, Better::Lower, rising, far);
    let flags = &figure(&comparison).flags;
    let drift = flags
        .iter()
        .find_map(|flag| if let Flag::Drift { side, trend } = flag { Some((side, trend)) } else { None });
    assert!(
        drift.is_some_and(|(side, trend)| *side == 0 && trend.tau == 1.0 && trend.change == 6.0),
        "{flags:?}"
    );
    let outlier = flags
        .iter()
        .find_map(|flag| if let Flag::Outlier { side: 1, outlier } = flag { Some(outlier) } else { None });
    assert!(outlier.is_some_and(|outlier| outlier.value == 500.0 && outlier.index == 4), "{flags:?}");
    assert!(flags.contains(&Flag::NotNumbers { side: 1, count: 1 }));
    assert_eq!(flags.iter().filter(|flag| matches!(flag, Flag::Drift { .. })).count(), 1);
}

#[test]
fn many_comparisons_are_corrected() {
    let named = |center: f64| {
        let names: Vec<String> = (0..20).map(|number| format!("metric {number}")).collect();
        let metric = |_: &String| metric(Clock::Wall, Better::Lower, Values::Runs(around(center, 100.0, 6)));
        let metrics: Vec<(&str, Metric)> = names.iter().map(|name| (name.as_str(), metric(name))).collect();
        side("side", &metrics)
    };
    let comparison = Comparison::of(&[named(100.0), named(500.0)], Question::default());
    assert_eq!((comparison.tests, comparison.rows.len()), (20, 20));
    let found = figure(&comparison);
    // 2 / C(12, 6) is enough alone, and 20 times enough of it too; of five runs, 2 / C(10, 5) would not be.
    assert!((found.test.unwrap().p - 2.0 / 924.0).abs() < 1e-12);
    assert!((found.adjusted_p.unwrap() - 40.0 / 924.0).abs() < 1e-12);
    assert_eq!(found.verdict, Verdict::Worse);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let runs = || Values::Runs(vec![1.0, 2.0]);
    let samples = Values::Distribution(vec![Samples::from([(1, 1)].into_iter().collect::<Histogram>())]);
    let plain = metric(Clock::Wall, Better::Lower, runs());
    for (other, reason) in [
        (metric(Clock::Virtual, Better::Lower, runs()), Refusal::Clocks),
        (Metric { unit: "us".into(), ..plain.clone() }, Refusal::Units),
        (metric(Clock::Wall, Better::Lower, samples), Refusal::Kinds),
        (metric(Clock::Wall, Better::Lower, Values::Runs(vec![f64::NAN])), Refusal::NoValues),
    ] {
        let sides = [side("a", &[("x", plain.clone()), ("only", plain.clone())]), side("b", &[("x", other)])];
        let comparison = Comparison::of(&sides, Question::default());
        assert_eq!(comparison.rows[0].outcome, Outcome::Refused(reason));
        assert_eq!(comparison.missing[&MetricName::new("only").unwrap()], [0]);
    }
    assert!(Comparison::of(&[], Question::default()).rows.is_empty());
}

#[test]
fn each_further_side_is_held_against_the_first() {
    let with = |label: &str, center: f64| {
        side(label, &[("time", metric(Clock::Wall, Better::Lower, Values::Runs(around(center, 40.0, 10))))])
    };
    let comparison =
        Comparison::of(&[with("a", 1000.0), with("b", 1300.0), with("c", 700.0)], Question::default());
    let expected: Vec<(usize, f64)> = comparison
        .rows
        .iter()
        .map(|row| match &row.outcome {
            Outcome::Runs(figure) => (row.side, figure.shift.value.round()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((expected, comparison.tests), (vec![(1, 300.0), (2, -300.0)], 2));
}

/// 216 million samples, as cyclictest counts them in an hour on 60 CPUs.
fn cyclictest(tail: u64) -> Samples {
    let body = (2..40).map(|value| (value, 216_000_000 >> (value - 1).min(20)));
    Samples::from(body.chain((40..400).map(|value| (value, tail))).collect::<Histogram>())
}

fn distributions(clock: Clock, a: Vec<Samples>, b: Vec<Samples>) -> dyntick_stats::compare::Distribution {
    let [a, b] = [a, b].map(|runs| metric(clock, Better::Lower, Values::Distribution(runs)));
    let sides = [side("a", &[("latency", a)]), side("b", &[("latency", b)])];
    match &Comparison::of(&sides, Question::default()).rows[0].outcome {
        Outcome::Distribution(found) => found.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_run_a_side_is_judged_by_its_samples_and_says_so() {
    let found = distributions(Clock::Wall, vec![cyclictest(1)], vec![cyclictest(50)]);
    let at = |share: f64| &found.points.iter().find(|(point, _)| *point == Point::Quantile(share)).unwrap().1;
    assert_eq!(at(0.5).verdict, Verdict::SameWithin { percent: 5.0 });
    assert_eq!(at(0.99999).verdict, Verdict::RunsDiffer);
    assert!(at(0.99999).basis == Basis::Samples && at(0.99999).flags.contains(&Flag::OneRun));
    let max = &found.points.iter().find(|(point, _)| *point == Point::Max).unwrap().1;
    assert_eq!(max.shift.bounds, Bounds::None(NoInterval::Maximum));
    let tail = found.tails.iter().find(|tail| tail.limit == 100).unwrap();
    assert_eq!(tail.above, [299, 299 * 50]);
    assert!(tail.ratio.is_some_and(|ratio| ratio.low > 40.0 && ratio.high.unwrap() < 60.0));
}

#[test]
fn several_runs_a_side_are_the_sample() {
    let runs = |base: u64| (0..6).map(|run| cyclictest(base + run)).collect::<Vec<_>>();
    let found = distributions(Clock::Wall, runs(1), runs(30));
    let (_, deep) = found.points.iter().find(|(point, _)| *point == Point::Quantile(0.99999)).unwrap();
    assert_eq!((deep.basis, deep.sides[0].runs), (Basis::Runs, 6));
    assert_eq!(deep.verdict, Verdict::Worse);
    let bounds = found.superiority.unwrap().probability.bounds;
    assert_eq!(bounds, Bounds::None(NoInterval::Dependent));
    assert!(found.tails.iter().all(|tail| tail.ratio.is_none() && tail.shift.is_some()));
}

#[test]
fn equal_distributions_of_virtual_time_are_the_changes() {
    let found = distributions(Clock::Virtual, vec![cyclictest(1); 3], vec![cyclictest(50); 3]);
    assert!(found.points.iter().all(|(_, figure)| matches!(figure.verdict, Verdict::TheChange { .. })));
    let (_, median) = &found.points[0];
    assert_eq!(median.verdict, Verdict::TheChange { difference: 0.0, change: Change::None });
    // Values that occurred, not parts of them.
    assert_eq!(median.sides[0].value.value, 3.0);
}

/// Counts and not samples are what takes time: 216 million a side are to take 0.2 s, here without
/// optimisation and on a machine that may have other work. One look at each sample would take longer.
#[test]
fn samples_cost_nothing() {
    // A hundred thousand rows, as with `--nsecs`.
    let run = |tail| {
        Samples::from(
            (3000..103_000)
                .map(|ns| (ns, tail + 2000 * u64::from(ns < 103_000 - 3000)))
                .collect::<Histogram>(),
        )
    };
    let side = |tail| metric(Clock::Wall, Better::Lower, Values::Distribution(vec![run(tail)]));
    let sides = [160, 170].map(|tail| self::side("x", &[("latency", side(tail))]));
    let start = std::time::Instant::now();
    let comparison = Comparison::of(&sides, Question::default());
    println!("{:?}", start.elapsed());
    assert!(start.elapsed().as_millis() < 1000, "{:?}", start.elapsed());
    assert_eq!(comparison.tests, 7);
}

#[test]
fn readable_by_other_tools() {
    let comparison = two(Clock::Wall, Better::Lower, around(1000.0, 40.0, 10), around(1200.0, 40.0, 10));
    let json = serde_json::to_value(&comparison).unwrap();
    let figure = &json["rows"][0]["outcome"]["runs"];
    assert_eq!(figure["verdict"], "worse");
    assert_eq!(figure["shift"]["value"], 200.0);
    assert!(figure["shift"]["bounds"]["interval"]["low"].as_f64().is_some_and(|low| low > 150.0));
}
