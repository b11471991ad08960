// SPDX-License-Identifier: GPL-2.0-only
//! Plots as pictures: lines in one field, histograms below each other on the same axes.

use crate::draw::{MARGIN, Picture, Place, WIDTH, legal, rule, soft_text, width_of};
use crate::numbers::{grouped, plain};
use crate::palette::Colour;
use crate::plot::{Plot, Scale, Shape, scales};
use maud::{Markup, html};
use std::fmt::Write;

const TOP: usize = 44;
const HEIGHT: usize = 260;
/// The height of a histogram among several, and of the space above it with its name, px.
const SMALL: usize = 90;
const NAME: usize = 24;
/// The largest number of histograms in a picture.
const MOST: usize = 16;

/// Draws a stand-alone picture: it has its own background and loads nothing.
pub fn plot_svg(plot: &Plot) -> String {
    picture(plot, Place::File).into_string()
}

pub(crate) fn picture(plot: &Plot, place: Place) -> Markup {
    let series = plot.drawable();
    let (x, y) = scales(plot, &series);
    let several = plot.shape == Shape::Steps && series.len() > 1;
    let heights = y.labels(if several { 2 } else { 6 });
    let widest = heights.iter().map(|value| width_of(&label(*value))).max().unwrap_or(0);
    let field = |top, height| Field { left: MARGIN + widest + 10, top, height, x, y };
    let mut picture = Picture::new(&plot.caption);
    picture.text(MARGIN, 26, "start", &plot.y.title());
    let legend = plot.legend();
    let shapes: Vec<Shown<'_>> = series
        .iter()
        .zip(&legend.colours)
        .zip(&plot.series)
        .map(|((corners, colour), series)| Shown { corners, colour: *colour, name: &series.name })
        .collect();
    if !several {
        let field = field(TOP, HEIGHT);
        field.axes(&mut picture, &heights);
        if plot.shape != Shape::Dots {
            shapes.iter().for_each(|shape| field.line(&mut picture, shape));
        }
        if matches!(plot.shape, Shape::Points | Shape::Dots) {
            shapes.iter().for_each(|shape| field.points(&mut picture, shape));
        }
        let bottom = field.label_across(&mut picture, &plot.x.title());
        let end = picture.legend((field.left, bottom + 20), &legend.entries);
        return picture.finish(end + MARGIN - 4, place);
    }
    let mut top = TOP - NAME + 10;
    for shape in shapes.iter().take(MOST) {
        let field = field(top + NAME, SMALL);
        picture.text(field.left, top + NAME - 7, "start", shape.name);
        field.axes(&mut picture, &heights);
        field.area(&mut picture, shape);
        top += NAME + SMALL;
    }
    let mut bottom = field(top - SMALL, SMALL).label_across(&mut picture, &plot.x.title());
    if shapes.len() > MOST {
        bottom += 24;
        picture.text(
            MARGIN,
            bottom,
            "start",
            &format!("and {} more, which are not drawn", shapes.len() - MOST),
        );
    }
    picture.finish(bottom + MARGIN, place)
}

fn label(value: f64) -> String {
    grouped(&plain(value))
}

/// A series with its colour.
struct Shown<'a> {
    corners: &'a [(f64, f64)],
    colour: Colour,
    name: &'a str,
}

/// The position of a field.
struct Field {
    left: usize,
    top: usize,
    height: usize,
    x: Scale,
    y: Scale,
}

impl Field {
    fn width(&self) -> usize {
        WIDTH - MARGIN - self.left
    }

    /// Draws the background, and round values to the left of it.
    fn axes(&self, picture: &mut Picture, heights: &[f64]) {
        picture.field(self.left, self.top, self.width(), self.height);
        for value in heights {
            let at = self.at((self.x.ends().0, *value)).1.round() as usize;
            picture.add(rule(&format!("M{} {at}h-5", self.left)));
            picture.add(soft_text(self.left - 9, at + 4, "end", &label(*value)));
        }
    }

    /// Draws round values below it, and their quantity; returns the y below that.
    fn label_across(&self, picture: &mut Picture, title: &str) -> usize {
        let bottom = self.top + self.height;
        for value in self.x.labels(10) {
            let at = self.at((value, 0.0)).0.round() as usize;
            picture.add(rule(&format!("M{at} {bottom}v5")));
            picture.add(soft_text(at, bottom + 20, "middle", &label(value)));
        }
        picture.text(self.left + self.width() / 2, bottom + 42, "middle", title);
        bottom + 42
    }

    fn line(&self, picture: &mut Picture, shown: &Shown<'_>) {
        let colour = shown.colour;
        picture.add(html! {
            path class=(colour.line_class()) fill="none" stroke=(colour.light()) stroke-width="1.8"
                stroke-linejoin="round" d=(self.path(shown.corners)) { title { (legal(shown.name)) } }
        });
    }

    fn points(&self, picture: &mut Picture, shown: &Shown<'_>) {
        for point in shown.corners {
            let (x, y) = self.at(*point);
            picture.add(html! {
                circle class=(shown.colour.fill_class()) fill=(shown.colour.light()) cx=(format!("{x:.1}"))
                    cy=(format!("{y:.1}")) r="4" { title { (legal(shown.name)) } }
            });
        }
    }

    fn area(&self, picture: &mut Picture, shown: &Shown<'_>) {
        let colour = shown.colour;
        picture.add(html! {
            path class=(colour.fill_class()) fill=(colour.light()) fill-opacity=".35" d=(self.path(shown.corners)) {}
        });
        self.line(picture, shown);
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = self.left as f64 + self.x.place(x) * self.width() as f64;
        let down = self.top as f64 + (1.0 - self.y.place(y)) * self.height as f64;
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

    fn histograms(count: usize) -> Plot {
        let series = |number: usize| Series {
            name: format!("<idle {number}>"),
            points: vec![(0.0, 10.0), (1.0, 1000.0)],
        };
        Plot {
            caption: "latency".into(),
            x: Axis::linear("latency", "us"),
            y: Axis::logarithmic("wake-ups", ""),
            series: (0..count).map(series).collect(),
            ..Plot::default()
        }
    }

    #[test]
    fn series_is_a_line_with_its_name() {
        let plot = histograms(1);
        let picture = plot_svg(&plot);
        assert!(picture.contains("<title>&lt;idle 0&gt;</title>") && picture.contains("latency, us"));
        assert_eq!(picture, plot_svg(&plot));
    }

    #[test]
    fn histograms_are_below_each_other() {
        let fields = |picture: &str| picture.matches("class=\"field\"").count();
        assert_eq!((fields(&plot_svg(&histograms(1))), fields(&plot_svg(&histograms(4)))), (1, 4));
        let many = plot_svg(&histograms(MOST + 5));
        assert_eq!(fields(&many), MOST);
        assert!(many.contains("and 5 more, which are not drawn"));
        let points = plot_svg(&Plot { shape: Shape::Points, ..histograms(2) });
        assert_eq!(points.matches("<circle").count(), 2 * histograms(1).series[0].points.len(), "{points}");
        let lines = Plot { shape: Shape::Lines, ..histograms(4) };
        assert_eq!(fields(&plot_svg(&lines)), 1);
    }
}
