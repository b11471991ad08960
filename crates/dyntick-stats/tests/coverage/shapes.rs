// SPDX-License-Identifier: GPL-2.0-only
//! The distributions of simulated runs.

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Normal, of deviation 1 around 0.
    Normal,
    /// Log-normal: the logarithm is normal.
    Skewed,
    /// Three of ten runs are 5 higher than the others, each of deviation 0.5.
    Bimodal,
    /// The same with as many in both modes: hardly a run is near the median.
    Halves,
    /// Normal of deviation 2, rounded to integers.
    Ties,
}

pub const SHAPES: [Shape; 5] = [Shape::Normal, Shape::Skewed, Shape::Bimodal, Shape::Halves, Shape::Ties];

/// A standard normal number (Box and Muller 1958).
pub fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (radius, angle): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * radius.ln()).sqrt() * (angle * std::f64::consts::TAU).cos()
}

impl Shape {
    pub fn has_ties(self) -> bool {
        self == Self::Ties
    }

    fn draw(self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let mut modes = |high: f64| if random.random::<f64>() < high { 5.0 } else { 0.0 };
        match self {
            Self::Normal => normal(random),
            Self::Skewed => normal(random).exp(),
            Self::Bimodal => modes(0.3) + 0.5 * normal(random),
            Self::Halves => modes(0.5) + 0.5 * normal(random),
            Self::Ties => (2.0 * normal(random)).round(),
        }
    }

    /// Draws `count` runs, all higher by `higher`.
    pub fn runs(self, random: &mut Xoshiro256PlusPlus, count: usize, higher: f64) -> Vec<f64> {
        (0..count).map(|_| self.draw(random) + higher).collect()
    }

    /// The true median.
    pub fn median(self) -> f64 {
        match self {
            Self::Normal | Self::Ties => 0.0,
            Self::Skewed => 1.0,
            // Where 0.7 of the low mode are half of all: its quantile at 5/7, 0.56595 deviations above its middle.
            Self::Bimodal => 0.5 * 0.565_948_821_932_863,
            Self::Halves => 2.5,
        }
    }

    /// A shift that is visible next to the spread, an integer so that ties stay ties.
    pub fn shift(self) -> f64 {
        match self {
            Self::Normal | Self::Skewed => 1.0,
            Self::Bimodal | Self::Halves | Self::Ties => 3.0,
        }
    }
}
