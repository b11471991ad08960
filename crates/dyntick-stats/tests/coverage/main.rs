// SPDX-License-Identifier: GPL-2.0-only
//! What the intervals cover and how often chance is taken for a difference: simulated experiments of which the truth is
//! known, ten thousand of each kind. `cargo test -p dyntick-stats --test coverage -- --nocapture` prints the
//! figures that `docs/src/statistics.md` has. Seeds are fixed, so a figure is the same each time.

mod alarms;
mod distributions;
mod intervals;
mod shapes;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use shapes::Shape;

/// Experiments of each kind. The standard error of a share of 95 % is 0.22 points.
const EXPERIMENTS: usize = 10_000;

/// How many runs the experiments have.
const RUNS: [usize; 3] = [5, 10, 30];

/// Seeds that differ by what is asked, by shape and by number of runs: methods by rank would give the same
/// figure for every shape that is drawn from the same numbers.
fn seed(question: u64, shape: Shape, runs: usize) -> u64 {
    question * 10_000 + shape as u64 * 1000 + runs as u64
}

/// In what share of the experiments something holds.
fn share(seed: u64, mut holds: impl FnMut(&mut Xoshiro256PlusPlus) -> bool) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..EXPERIMENTS).filter(|_| holds(&mut random)).count() as f64 / EXPERIMENTS as f64
}

/// Holds what was found against what is stated: within one point of it where values have no ties; with ties
/// more may be covered.
#[track_caller]
fn as_stated(what: &str, shape: Shape, runs: usize, found: f64, stated: f64) {
    println!("{what}, {shape:?}, {runs} runs: {:.1} %, stated {:.1} %", found * 100.0, stated * 100.0);
    assert!(stated >= 0.95 - 1e-9);
    assert!(found >= stated.min(0.95) - 0.01, "{what}, {shape:?}, {runs} runs: {found}");
    assert!(
        shape.has_ties() || (found - stated).abs() <= 0.01,
        "{what}, {shape:?}, {runs} runs: {found}, not {stated}"
    );
}

/// Holds what was found against an upper limit of 5 %, and one point.
#[track_caller]
fn seldom(what: &str, shape: Shape, runs: usize, found: f64) {
    println!("{what}, {shape:?}, {runs} runs: {:.1} %", found * 100.0);
    assert!(found <= 0.06, "{what}, {shape:?}, {runs} runs: {found}");
}
