// SPDX-License-Identifier: GPL-2.0-only
//! Factorial experiments: what must hold of any, and one that R has taken apart (`fixtures/factorial.R`).

use dyntick_stats::{Factor, Factorial, NotFactorial, factorial};
use proptest::prelude::*;
use serde_json::Value;

fn factors(shape: &[usize]) -> Vec<Factor> {
    let levels = |count: usize| (0..count).map(|level| format!("l{level}")).collect();
    let factor = |(at, count): (usize, &usize)| Factor { name: format!("f{at}"), levels: levels(*count) };
    shape.iter().enumerate().map(factor).collect()
}

/// The level of each factor in each cell, the last factor's next to one another.
fn coordinates(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |cells, levels| {
        cells.iter().flat_map(|cell| (0..*levels).map(|level| [&cell[..], &[level]].concat())).collect()
    })
}

fn share(found: &Factorial, factors: &[&str]) -> f64 {
    found.terms.iter().find(|term| term.factors == factors).unwrap().share
}

/// Two to four factors of two to four levels, with a value for each cell.
fn experiment() -> impl Strategy<Value = (Vec<usize>, Vec<f64>)> {
    prop::collection::vec(2usize..=4, 1..=4).prop_flat_map(|shape| {
        let cells: usize = shape.iter().product();
        (Just(shape), prop::collection::vec(-1e6f64..1e6, cells))
    })
}

fn near(found: f64, expected: f64, scale: f64) -> bool {
    (found - expected).abs() <= 1e-9 * scale.abs().max(1e-9)
}

#[test]
fn as_r_takes_it_apart() {
    let r: Value = serde_json::from_str(include_str!("fixtures/factorial.json")).unwrap();
    let names = ["kernel", "governor", "hz"];
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let factors = names.map(|name| Factor { name: name.to_owned(), levels: texts(&r["levels"][name]) });
    let found = factorial(&factors, &numbers(&r["values"])).unwrap();
    for name in names {
        let means: Vec<f64> =
            found.levels.iter().filter(|level| level.factor == name).map(|level| level.mean).collect();
        let expected = numbers(&r["means"][name]);
        assert!(means.len() == expected.len() && means.iter().zip(&expected).all(|(a, b)| near(*a, *b, *b)));
    }
    assert_eq!(found.terms.len(), r["squares"].as_object().unwrap().len());
    let mut told_in_all = 0.0;
    for term in &found.terms {
        let expected = r["squares"][term.factors.join(":")].as_f64().unwrap();
        assert!(near(term.squares, expected, expected), "{term:?} is not {expected}");
        told_in_all += expected;
    }
    assert!(near(found.squares, told_in_all, told_in_all));
    assert_eq!(found.pairs.len(), 3);
    for pair in &found.pairs {
        let expected = r["residuals"][pair.factors.join(":")].as_array().unwrap();
        for (row, expected) in pair.residuals.iter().zip(expected) {
            assert!(row.iter().zip(numbers(expected)).all(|(a, b)| near(*a, b, 1.0)), "{pair:?}");
        }
    }
}

#[test]
fn by_hand() {
    // Two by two: the second factor does something only together with the first.
    let found = factorial(&factors(&[2, 2]), &[10.0, 10.0, 20.0, 24.0]).unwrap();
    let expected: Vec<(f64, f64, Option<f64>)> =
        found.levels.iter().map(|level| (level.mean, level.difference, level.percent)).collect();
    assert_eq!(
        expected,
        [
            (10.0, 0.0, Some(0.0)),
            (22.0, 12.0, Some(120.0)),
            (15.0, 0.0, Some(0.0)),
            (17.0, 2.0, Some(100.0 * 2.0 / 15.0)),
        ]
    );
    assert_eq!((found.mean, found.squares, found.equal), (16.0, 152.0, false));
    let squares: Vec<f64> = found.terms.iter().map(|term| term.squares).collect();
    assert_eq!(squares, [144.0, 4.0, 4.0]);
    let largest = &found.pairs[0].largest;
    assert_eq!((largest.mean, largest.additive, largest.value), (10.0, 9.0, 1.0));
    assert_eq!(largest.levels, ["l0", "l0"], "of equally large ones the first");
}

#[test]
fn what_is_equal_or_grows_from_nothing() {
    let equal = factorial(&factors(&[2, 3]), &[0.1; 6]).unwrap();
    assert!(equal.equal && equal.squares == 0.0);
    assert!(equal.terms.iter().all(|term| (term.squares, term.share) == (0.0, 0.0)));
    let from_nothing = factorial(&factors(&[2]), &[0.0, 3.0]).unwrap();
    assert_eq!((from_nothing.levels[1].difference, from_nothing.levels[1].percent), (3.0, None));
    let below = factorial(&factors(&[2]), &[-2.0, -1.0]).unwrap();
    assert_eq!(below.levels[1].percent, Some(50.0), "in percent of how large the base is");
}

#[test]
fn what_is_no_factorial() {
    let wrong = |shape: &[usize], values: &[f64]| factorial(&factors(shape), values).unwrap_err();
    assert_eq!(wrong(&[], &[1.0]), NotFactorial::NoFactors);
    assert_eq!(wrong(&[2, 1], &[1.0, 2.0]), NotFactorial::OneLevel(1));
    assert_eq!(wrong(&[2, 2], &[1.0, 2.0, 3.0]), NotFactorial::Cells { wanted: 4, found: 3 });
    assert_eq!(wrong(&[2], &[1.0, f64::NAN]), NotFactorial::NotFinite);
    assert_eq!(wrong(&[2], &[1e300, -1e300]), NotFactorial::NotFinite);
    assert_eq!(wrong(&[2, 2, 2], &[]), NotFactorial::Cells { wanted: 8, found: 0 });
}

proptest! {
    #[test]
    fn the_squares_add_up((shape, values) in experiment()) {
        let found = factorial(&factors(&shape), &values).unwrap();
        prop_assert_eq!(found.terms.len(), (1 << shape.len()) - 1);
        let sum: f64 = found.terms.iter().map(|term| term.squares).sum();
        prop_assert!(near(sum, found.squares, found.squares), "{} of {}", sum, found.squares);
        let shares: f64 = found.terms.iter().map(|term| term.share).sum();
        prop_assert!(near(shares, 1.0, 1.0));
    }

    #[test]
    fn what_only_adds_up_has_no_interaction((shape, drawn) in experiment()) {
        // An effect for each level of each factor, out of what was drawn.
        let effect = |factor: usize, level: usize| drawn[(factor * 5 + level * 3) % drawn.len()] * (1 + level) as f64;
        let value = |cell: &Vec<usize>| cell.iter().enumerate().map(|(factor, level)| effect(factor, *level)).sum();
        let values: Vec<f64> = coordinates(&shape).iter().map(value).collect();
        let found = factorial(&factors(&shape), &values).unwrap();
        prop_assert!(found.squares > 0.0);
        for term in found.terms.iter().filter(|term| term.factors.len() > 1) {
            prop_assert!(term.share < 1e-12, "{:?}", term);
        }
        let largest = values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        prop_assert!(found.pairs.iter().all(|pair| pair.largest.value.abs() <= 1e-9 * largest.max(1.0)));
    }

    #[test]
    fn an_interaction_is_in_its_own_term_alone((mut shape, _) in experiment(), size in 1.0f64..1e6) {
        shape.extend([2, 2]);
        let last = shape.len();
        // A checkerboard of the last two factors: without any effect of either by itself.
        let value = |cell: &Vec<usize>| if (cell[last - 1] + cell[last - 2]) % 2 == 0 { size } else { -size };
        let values: Vec<f64> = coordinates(&shape).iter().map(value).collect();
        let found = factorial(&factors(&shape), &values).unwrap();
        let pair = [format!("f{}", last - 2), format!("f{}", last - 1)];
        prop_assert!(near(share(&found, &[&pair[0], &pair[1]]), 1.0, 1.0));
        let expected = found.pairs.iter().find(|expected| expected.factors == pair).unwrap();
        prop_assert!(near(expected.largest.value, size, size));
    }

    #[test]
    fn the_order_of_levels_changes_no_more_than_the_base((shape, values) in experiment(), turn in 1usize..4) {
        let plain = factors(&shape);
        let mut turned = plain.clone();
        for factor in &mut turned {
            let by = turn % factor.levels.len();
            factor.levels.rotate_left(by);
        }
        let place = |cell: &Vec<usize>| {
            cell.iter().zip(&shape).fold(0, |place, (level, levels)| place * levels + (level + turn) % levels)
        };
        let moved: Vec<f64> = coordinates(&shape).iter().map(|cell| values[place(cell)]).collect();
        let (a, b) = (factorial(&plain, &values).unwrap(), factorial(&turned, &moved).unwrap());
        for (a_term, b_term) in a.terms.iter().zip(&b.terms) {
            prop_assert!(near(a_term.squares, b_term.squares, a.squares));
        }
        for level in &a.levels {
            let same = b.levels.iter().find(|other| (&other.factor, &other.level) == (&level.factor, &level.level));
            prop_assert!(near(same.unwrap().mean, level.mean, 1e6));
        }
        for (a_pair, b_pair) in a.pairs.iter().zip(&b.pairs) {
            prop_assert!(near(a_pair.largest.value.abs(), b_pair.largest.value.abs(), 1e6));
        }
    }
}
