// SPDX-License-Identifier: GPL-2.0-only
//! Plots as pictures.

use crate::draw::{MARGIN, Picture, WIDTH, escaped, width_of};
use crate::numbers;
use crate::plot::{Plot, Scale, scales};
use std::fmt::Write;

const TOP: usize = 44;
const HEIGHT: usize = 260;

/// A picture that stands alone: it has its own background and loads nothing.
pub fn plot_svg(plot: &Plot) -> String {
    let series = plot.drawable();
    let (x, y) = scales(plot, &series);
    let heights = y.labels(6);
    let widest = heights.iter().map(|value| width_of(&numbers::plain(*value))).max().unwrap_or(0);
    let field = Field { left: MARGIN + widest + 10, x, y };
    let mut picture = Picture::new(&plot.caption);
    picture.text(MARGIN, 26, "start", &plot.y.title());
    picture.field(field.left, TOP, field.width(), HEIGHT);
    for value in &heights {
        let at = field.at((x.ends().0, *value)).1.round() as usize;
        picture.rule(&format!("M{} {at}h-5", field.left));
        picture.soft_text(field.left - 9, at + 4, "end", &numbers::plain(*value));
    }
    for value in x.labels(10) {
        let at = field.at((value, 0.0)).0.round() as usize;
        picture.rule(&format!("M{at} {}v5", TOP + HEIGHT));
        picture.soft_text(at, TOP + HEIGHT + 20, "middle", &numbers::plain(value));
    }
    picture.text(field.left + field.width() / 2, TOP + HEIGHT + 42, "middle", &plot.x.title());
    let colours = plot.colours();
    for ((corners, colour), series) in series.iter().zip(&colours).zip(&plot.series) {
        let _ = writeln!(
            picture.body,
            "<path {} stroke-width=\"1.8\" stroke-linejoin=\"round\" d=\"{}\"><title>{}</title></path>",
            colour.stroke(),
            field.path(corners),
            escaped(&series.name)
        );
    }
    let names = plot.series.iter().map(|series| series.name.as_str());
    let end = picture.legend((field.left, TOP + HEIGHT + 62), names.zip(colours.iter().copied()));
    picture.finish(end + MARGIN - 4)
}

/// Where points stand.
struct Field {
    left: usize,
    x: Scale,
    y: Scale,
}

impl Field {
    fn width(&self) -> usize {
        WIDTH - MARGIN - self.left
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = self.left as f64 + self.x.place(x) * self.width() as f64;
        let down = TOP as f64 + (1.0 - self.y.place(y)) * HEIGHT as f64;
        (across, down)
    }

    fn path(&self, corners: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (number, corner) in corners.iter().enumerate() {
            let (x, y) = self.at(*corner);
            let _ = write!(path, "{}{x:.1} {y:.1}", if number == 0 { 'M' } else { 'L' });
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Series};

    #[test]
    fn a_series_is_a_line_with_its_name() {
        let plot = Plot {
            caption: "latency".into(),
            x: Axis::linear("latency", "us"),
            y: Axis::logarithmic("wake-ups", ""),
            series: vec![Series { name: "<idle>".into(), points: vec![(0.0, 10.0), (1.0, 1000.0)] }],
            ..Plot::default()
        };
        let picture = plot_svg(&plot);
        assert!(picture.contains("<title>&lt;idle&gt;</title>") && picture.contains("latency, us"));
        assert_eq!(picture, plot_svg(&plot));
    }
}
