// SPDX-License-Identifier: GPL-2.0-only
//! The coverage of the intervals, and the share of differences that are chance, in simulated experiments with a known
//! truth. `DYNTICK_TESTS=full cargo test -p dyntick-stats --test it coverage -- --nocapture` runs 10 000 of each kind
//! and prints the figures of `docs/src/statistics.md`; without it there are fewer. Seeds are fixed, so a figure is the
//! same each time.

mod alarms;
mod distributions;
mod intervals;
mod shapes;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use shapes::Shape;

/// The number of experiments of each kind.
fn experiments() -> usize {
    if std::env::var("DYNTICK_TESTS").is_ok_and(|size| size == "full") { 10_000 } else { 500 }
}

/// One point with ten thousand experiments, 4.6 standard errors of a share of 95 %; as many errors with fewer.
fn point() -> f64 {
    0.01 * (10_000.0 / experiments() as f64).sqrt()
}

/// The numbers of runs that the experiments have.
const RUNS: [usize; 3] = [5, 10, 30];

/// Seeds that differ by what is asked, by shape and by number of runs: methods by rank would give the same
/// figure for every shape that is drawn from the same numbers.
fn seed(question: u64, shape: Shape, runs: usize) -> u64 {
    question * 10_000 + shape as u64 * 1000 + runs as u64
}

/// In what share of the experiments something holds.
fn share(seed: u64, mut holds: impl FnMut(&mut Xoshiro256PlusPlus) -> bool) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..experiments()).filter(|_| holds(&mut random)).count() as f64 / experiments() as f64
}

/// Holds what was found against what is stated: within one point of it where values have no ties; with ties
/// more may be covered.
#[track_caller]
fn as_stated(what: &str, shape: Shape, runs: usize, found: f64, stated: f64) {
    println!("{what}, {shape:?}, {runs} runs: {:.1} %, stated {:.1} %", found * 100.0, stated * 100.0);
    assert!(stated >= 0.95 - 1e-9);
    assert!(found >= stated.min(0.95) - point(), "{what}, {shape:?}, {runs} runs: {found}");
    assert!(
        shape.has_ties() || (found - stated).abs() <= point(),
        "{what}, {shape:?}, {runs} runs: {found}, not {stated}"
    );
}

/// Holds what was found against an upper limit of 5 %, and one point.
#[track_caller]
fn seldom(what: &str, shape: Shape, runs: usize, found: f64) {
    println!("{what}, {shape:?}, {runs} runs: {:.1} %", found * 100.0);
    assert!(found <= 0.05 + point(), "{what}, {shape:?}, {runs} runs: {found}");
}
