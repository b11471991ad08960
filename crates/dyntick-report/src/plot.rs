// SPDX-License-Identifier: GPL-2.0-only
//! Histograms and lines over an axis of numbers.

use crate::palette::Legend;

/// Several series over the same axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// The title.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The connection of the points.
    pub shape: Shape,
    /// The series, the most important first. At most eight get their own colour, by their names.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// The quantity.
    pub label: String,
    /// The unit; empty for counts.
    pub unit: String,
    /// True if equal steps are equal factors. Values that are not positive are at its lower end.
    pub logarithmic: bool,
}

impl Axis {
    /// An axis of equal steps.
    pub fn linear(label: &str, unit: &str) -> Self {
        Self { label: label.to_owned(), unit: unit.to_owned(), logarithmic: false }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: &str, unit: &str) -> Self {
        Self { logarithmic: true, ..Self::linear(label, unit) }
    }

    /// The quantity with its unit.
    pub(crate) fn title(&self) -> String {
        if self.unit.is_empty() { self.label.clone() } else { format!("{}, {}", self.label, self.unit) }
    }
}

/// The connection of the points of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A histogram: a point is the lower edge of a bin and its count. The bin reaches to the next point; the last bin
    /// is as wide as the one before.
    #[default]
    Steps,
    /// Straight lines from point to point.
    Lines,
    /// The same with the points, which may be in any order.
    Points,
    /// Points alone, in any order.
    Dots,
}

/// One set of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The name of the series.
    pub name: String,
    /// The points (x, y) with ascending x, but for [`Shape::Points`] and [`Shape::Dots`]; points that are not finite
    /// are left out.
    pub points: Vec<(f64, f64)>,
}

impl Plot {
    /// The drawable points of each series.
    pub(crate) fn drawable(&self) -> Vec<Vec<(f64, f64)>> {
        let finite = |(x, y): &&(f64, f64)| x.is_finite() && y.is_finite();
        self.series.iter().map(|series| self.corners(series.points.iter().filter(finite).copied())).collect()
    }

    /// The corners of the line through these points.
    fn corners(&self, points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
        let points: Vec<(f64, f64)> = points.collect();
        let Some((&(last, count), before)) = points.split_last().filter(|_| self.shape == Shape::Steps)
        else {
            return points;
        };
        let edge = match (before.last(), self.x.logarithmic) {
            // An empty last bin only closes the one before.
            _ if count == 0.0 => last,
            (Some((edge, _)), true) if *edge > 0.0 => last * last / edge,
            (Some((edge, _)), _) => last + (last - edge),
            (None, true) => last * 2.0,
            (None, false) => last + 1.0,
        };
        let edge = if edge.is_finite() { edge } else { last };
        let mut corners = vec![(points[0].0, 0.0)];
        for pair in points.windows(2) {
            corners.extend([pair[0], (pair[1].0, pair[0].1)]);
        }
        corners.extend([(last, count), (edge, count), (edge, 0.0)]);
        corners
    }

    /// The colour of each series, and the legend.
    pub(crate) fn legend(&self) -> Legend<'_> {
        Legend::of(self.series.iter().map(|series| (series.name.as_str(), series.name.as_str())), "series", 0)
    }
}

/// The range of an axis, and the position of values on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    begin: f64,
    end: f64,
    logarithmic: bool,
}

impl Scale {
    /// Makes a scale just wide enough for these values. A linear axis of counts begins at 0.
    pub(crate) fn around(values: impl Iterator<Item = f64> + Clone, axis: &Axis, from_zero: bool) -> Self {
        let usable = values.filter(|value| !axis.logarithmic || *value > 0.0);
        let lowest = usable.clone().fold(f64::INFINITY, f64::min);
        let highest = usable.fold(f64::NEG_INFINITY, f64::max);
        let (lowest, highest) = if lowest <= highest { (lowest, highest) } else { (1.0, 1.0) };
        let (begin, end) = match (axis.logarithmic, from_zero) {
            // Half of the smallest, so that a count of one is visible.
            (true, true) => (lowest / 2.0, highest),
            (false, true) => (lowest.min(0.0), highest),
            (_, false) => (lowest, highest),
        };
        let end = match (end > begin, axis.logarithmic) {
            (true, _) => end,
            (false, true) => begin * 10.0,
            (false, false) => begin + 1.0,
        };
        Self { begin, end, logarithmic: axis.logarithmic }
    }

    /// The position of a value: 0 at the beginning, 1 at the end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(self.begin).ln() - self.begin.ln()) / (self.end.ln() - self.begin.ln())
        } else {
            // Half values, since the length of a very wide axis exceeds the largest number.
            (value / 2.0 - self.begin / 2.0) / (self.end / 2.0 - self.begin / 2.0)
        };
        // If adding one does not change a very large number, the axis has no length.
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// The round values to label, at most about `most`.
    pub(crate) fn labels(&self, most: usize) -> Vec<f64> {
        if !self.logarithmic {
            return crate::draw::round_steps(self.begin, self.end, most);
        }
        let (first, last) =
            ((self.begin.log10() - 1e-9).ceil() as i32, (self.end.log10() + 1e-9).floor() as i32);
        if last - first < 1 {
            return crate::draw::round_steps(self.begin, self.end, most);
        }
        let every = ((last - first) as usize / most.max(1) + 1).max(1);
        (first..=last).step_by(every).map(|power| 10f64.powi(power)).collect()
    }

    /// The ends of the axis.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.begin, self.end)
    }
}

/// The height of each series over `cells` equal stretches of the x axis, from 0 to 8, for a terminal; with both scales.
pub(crate) fn sparklines(plot: &Plot, cells: usize) -> (Vec<String>, Scale, Scale) {
    const LEVELS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let series = plot.drawable();
    let (x, y) = scales(plot, &series);
    let line = |corners: &Vec<(f64, f64)>| {
        let mut highest = vec![None::<f64>; cells];
        for pair in corners.windows(2) {
            let [from, to] = [pair[0].0, pair[1].0].map(|at| x.place(at) * cells as f64);
            let value = pair[0].1.max(if plot.shape == Shape::Steps { pair[0].1 } else { pair[1].1 });
            let last = (to.ceil() as usize).clamp(1, cells);
            let first = (from as usize).min(last - 1);
            if to > from {
                highest[first..last].iter_mut().for_each(|h| *h = Some(h.map_or(value, |h| h.max(value))));
            }
        }
        let sign = |value: Option<f64>| match value {
            Some(value) if plot.shape != Shape::Steps || value != 0.0 => {
                LEVELS[((y.place(value) * 8.0).ceil() as usize).clamp(1, 8)]
            }
            _ => LEVELS[0],
        };
        highest.into_iter().map(sign).collect()
    };
    (series.iter().map(line).collect(), x, y)
}

/// The scales of both axes for all these points.
pub(crate) fn scales(plot: &Plot, series: &[Vec<(f64, f64)>]) -> (Scale, Scale) {
    let points = series.iter().flatten();
    (
        Scale::around(points.clone().map(|point| point.0), &plot.x, false),
        Scale::around(points.map(|point| point.1), &plot.y, true),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(bins: &[(f64, f64)]) -> Plot {
        Plot { series: vec![Series { name: "a".into(), points: bins.to_vec() }], ..Plot::default() }
    }

    #[test]
    fn histogram_is_drawn_as_text() {
        let plot = histogram(&[(0.0, 1.0), (1.0, 8.0), (2.0, 0.0), (3.0, 4.0)]);
        assert_eq!(sparklines(&plot, 8).0, ["▁▁██··▄▄"]);
    }

    #[test]
    fn logarithmic_axis_has_equal_factors() {
        let axis = Axis::logarithmic("count", "");
        let scale = Scale::around([0.0, 1.0, 100.0].into_iter(), &axis, false);
        assert_eq!((scale.place(10.0), scale.place(0.0)), (0.5, 0.0));
        assert_eq!(scale.labels(6), [1.0, 10.0, 100.0]);
    }

    proptest! {
        #[test]
        fn any_numbers_can_be_drawn(
            points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..20),
            cells in 1usize..60,
            logarithmic: bool,
        ) {
            let mut plot = histogram(&points);
            (plot.x.logarithmic, plot.y.logarithmic) = (logarithmic, !logarithmic);
            for shape in [Shape::Steps, Shape::Lines] {
                plot.shape = shape;
                prop_assert_eq!(sparklines(&plot, cells).0[0].chars().count(), cells);
                prop_assert!(!crate::plot_svg(&plot).contains("NaN"));
            }
        }
    }
}
