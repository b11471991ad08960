// SPDX-License-Identifier: GPL-2.0-only
//! The effects of the factors of a complete factorial experiment, alone and together.
//!
//! One value for each cell is split into orthogonal parts, one for each subset of the factors: its deviations from the
//! explanation by all smaller subsets. In a balanced design the sums of their squares add up to the total (Montgomery,
//! *Design and Analysis of Experiments*, 8th ed., 5.3 and 5.4; Box, Hunter and Hunter, *Statistics for Experimenters*,
//! 2nd ed., chapter 8). With one value a cell there is no error left to test against, and nothing here is a test.

use schemars::JsonSchema;
use serde::Serialize;

/// A factor of the experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Factor {
    /// The name.
    pub name: String,
    /// The levels; the first is the base that the others are compared with.
    pub levels: Vec<String>,
}

/// One level of a factor, over all levels of the others.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LevelMean {
    /// The factor.
    pub factor: String,
    /// The level.
    pub level: String,
    /// Mean of all cells of this level.
    pub mean: f64,
    /// The excess over that of the first level, which is the main effect of a factor with two levels.
    pub difference: f64,
    /// The same in percent of the first level's mean; none where that is 0.
    pub percent: Option<f64>,
}

/// The part that a factor explains by itself, or that several explain only together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Term {
    /// One factor: its main effect. Several: their interaction.
    pub factors: Vec<String>,
    /// Sum of squares over all cells, in the square of the value's unit.
    pub squares: f64,
    /// The share of the total, 0 to 1; 0 if all cells are equal.
    pub share: f64,
}

/// The deviation of two factors together from the sum of their effects.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TwoWay {
    /// The two.
    pub factors: [String; 2],
    /// Mean of the cells of each pair of levels minus what both main effects add up to: a row for each level of the
    /// first factor, a column for each of the second.
    pub residuals: Vec<Vec<f64>>,
    /// The pair of levels that is furthest from it.
    pub largest: Residual,
}

/// One pair of levels against the sum of the effects of both.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Residual {
    /// The level of each factor.
    pub levels: [String; 2],
    /// Mean of their cells.
    pub mean: f64,
    /// The prediction by the main effects: the means of the levels, added, less the mean of all cells.
    pub additive: f64,
    /// `mean - additive`.
    pub value: f64,
}

/// A factorial experiment, taken apart.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Factorial {
    /// The number of cells.
    pub cells: usize,
    /// True if all cells have the same value.
    pub equal: bool,
    /// Mean of all cells.
    pub mean: f64,
    /// Sum of the squared deviations from the mean.
    pub squares: f64,
    /// Each level of each factor, in their order.
    pub levels: Vec<LevelMean>,
    /// Each subset of the factors: single factors, then pairs, and so on, in the order of the factors.
    pub terms: Vec<Term>,
    /// Each pair of factors, in the order of the terms.
    pub pairs: Vec<TwoWay>,
}

/// The reason for which a table of values is not a factorial experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFactorial {
    /// There are no factors.
    #[error("no factor was varied: a factor has at least two levels")]
    NoFactors,
    /// A factor does not vary, by its place.
    #[error("factor {0} has fewer than two levels")]
    OneLevel(usize),
    /// Cells are missing, or there are more than the factors have.
    #[error("{found} values for {wanted} cells")]
    Cells {
        /// The number of values needed.
        wanted: usize,
        /// The number of values found.
        found: usize,
    },
    /// A value is none, or so large that its square is none.
    #[error("the values, or their squares, are not finite")]
    NotFinite,
}

/// Takes an experiment apart. `values` has one value for each cell, the levels of the last factor next to one another.
pub fn factorial(factors: &[Factor], values: &[f64]) -> Result<Factorial, NotFactorial> {
    let shape = shape(factors, values)?;
    let grid = Grid { shape: &shape };
    let mean = mean(values.iter().copied());
    let equal = values.iter().all(|value| *value == values[0]);
    let parts = grid.parts(values);
    let squares = |part: &[f64]| part.iter().map(|value| value * value).sum::<f64>();
    let total = if equal { 0.0 } else { squares(&values.iter().map(|v| v - mean).collect::<Vec<_>>()) };
    if !total.is_finite() {
        return Err(NotFactorial::NotFinite);
    }
    let term = |set: &[usize]| {
        let squares = if equal { 0.0 } else { squares(&parts[mask(set)]) };
        let share = if total > 0.0 { squares / total } else { 0.0 };
        Term { factors: set.iter().map(|at| factors[*at].name.clone()).collect(), squares, share }
    };
    let sets = subsets(factors.len());
    let pairs = sets.iter().filter_map(|set| <[usize; 2]>::try_from(&set[..]).ok());
    Ok(Factorial {
        cells: values.len(),
        equal,
        mean,
        squares: total,
        levels: (0..factors.len()).flat_map(|at| level_means(&grid, &factors[at], at, values)).collect(),
        pairs: pairs.map(|pair| two_way(&grid, factors, pair, values, &parts[mask(&pair)])).collect(),
        terms: sets.iter().map(|set| term(set)).collect(),
    })
}

/// The number of levels of each factor, if there is a finite value for each cell.
fn shape(factors: &[Factor], values: &[f64]) -> Result<Vec<usize>, NotFactorial> {
    if factors.is_empty() {
        return Err(NotFactorial::NoFactors);
    }
    let shape: Vec<usize> = factors.iter().map(|factor| factor.levels.len()).collect();
    if let Some(at) = shape.iter().position(|levels| *levels < 2) {
        return Err(NotFactorial::OneLevel(at));
    }
    let wanted = shape.iter().try_fold(1usize, |cells, levels| cells.checked_mul(*levels));
    match (wanted, values.len()) {
        (Some(wanted), found) if wanted == found => {}
        (wanted, found) => {
            return Err(NotFactorial::Cells { wanted: wanted.unwrap_or(usize::MAX), found });
        }
    }
    if !values.iter().all(|value| value.is_finite()) {
        return Err(NotFactorial::NotFinite);
    }
    Ok(shape)
}

/// All non-empty subsets of this number of factors, the smaller first. Each factor has two levels, so there are fewer
/// subsets than cells.
fn subsets(factors: usize) -> Vec<Vec<usize>> {
    let of_mask = |mask: usize| (0..factors).filter(|at| mask >> at & 1 == 1).collect::<Vec<usize>>();
    let mut sets: Vec<Vec<usize>> = (1..1usize << factors).map(of_mask).collect();
    sets.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    sets
}

/// A subset as the place of its part among all.
fn mask(set: &[usize]) -> usize {
    set.iter().map(|at| 1 << at).sum()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / count as f64
}

fn level_means(grid: &Grid<'_>, factor: &Factor, at: usize, values: &[f64]) -> Vec<LevelMean> {
    let means: Vec<f64> =
        (0..factor.levels.len()).map(|level| grid.mean_where(values, &[(at, level)])).collect();
    let of_level = |(level, mean): (&String, &f64)| LevelMean {
        factor: factor.name.clone(),
        level: level.clone(),
        mean: *mean,
        difference: mean - means[0],
        percent: Some((mean - means[0]) / means[0].abs() * 100.0).filter(|percent| percent.is_finite()),
    };
    factor.levels.iter().zip(&means).map(of_level).collect()
}

/// `part` is what the two factors explain only together: the same in all cells of a pair of levels.
fn two_way(grid: &Grid<'_>, factors: &[Factor], pair: [usize; 2], values: &[f64], part: &[f64]) -> TwoWay {
    let levels = |at: usize| 0..factors[at].levels.len();
    let of_row = |a| levels(pair[1]).map(|b| grid.mean_where(part, &[(pair[0], a), (pair[1], b)])).collect();
    let residuals: Vec<Vec<f64>> = levels(pair[0]).map(of_row).collect();
    let places = levels(pair[0]).flat_map(|a| levels(pair[1]).map(move |b| (a, b)));
    // Of equally large ones the first, whatever the last digit says.
    let further = |best: (usize, usize), next: (usize, usize)| {
        let size = |(a, b): (usize, usize)| residuals[a][b].abs();
        if size(next) > size(best) * (1.0 + 1e-9) { next } else { best }
    };
    let (a, b) = places.fold((0, 0), further);
    let mean = grid.mean_where(values, &[(pair[0], a), (pair[1], b)]);
    let value = residuals[a][b];
    TwoWay {
        factors: pair.map(|at| factors[at].name.clone()),
        largest: Residual {
            levels: [factors[pair[0]].levels[a].clone(), factors[pair[1]].levels[b].clone()],
            mean,
            additive: mean - value,
            value,
        },
        residuals,
    }
}

/// The cells in their order, the levels of the last factor next to one another.
struct Grid<'a> {
    shape: &'a [usize],
}

impl Grid<'_> {
    /// The distance of two cells that differ by one level of this factor.
    fn stride(&self, factor: usize) -> usize {
        self.shape[factor + 1..].iter().product()
    }

    /// The mean of the cells that have these levels of these factors.
    fn mean_where(&self, values: &[f64], wanted: &[(usize, usize)]) -> f64 {
        let level = |cell: usize, factor: usize| cell / self.stride(factor) % self.shape[factor];
        let is_wanted = |cell: &usize| wanted.iter().all(|(factor, wanted)| level(*cell, *factor) == *wanted);
        mean((0..values.len()).filter(is_wanted).map(|cell| values[cell]))
    }

    /// The values as a sum of parts, one for each subset of the factors, by its mask; the first is the mean of all.
    /// Along each factor the part is the mean where the subset does not have it, else what is left without the mean.
    fn parts(&self, values: &[f64]) -> Vec<Vec<f64>> {
        let mut parts = vec![values.to_vec()];
        for factor in 0..self.shape.len() {
            let means: Vec<Vec<f64>> = parts.iter().map(|part| self.averaged(part, factor)).collect();
            let less =
                |(part, mean): (&Vec<f64>, &Vec<f64>)| part.iter().zip(mean).map(|(v, m)| v - m).collect();
            let rests: Vec<Vec<f64>> = parts.iter().zip(&means).map(less).collect();
            parts = means.into_iter().chain(rests).collect();
        }
        parts
    }

    /// Each cell with the mean over all levels of this factor.
    fn averaged(&self, values: &[f64], factor: usize) -> Vec<f64> {
        let (stride, levels) = (self.stride(factor), self.shape[factor]);
        let mean_of_line = |cell: usize| {
            let first = cell - cell / stride % levels * stride;
            mean((0..levels).map(|level| values[first + level * stride]))
        };
        (0..values.len()).map(mean_of_line).collect()
    }
}
