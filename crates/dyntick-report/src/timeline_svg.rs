// SPDX-License-Identifier: GPL-2.0-only
//! Timelines as pictures.

use crate::draw::{MARGIN, Picture, Place, WIDTH, legal, lines, round_steps, rule, soft_text, width_of};
use crate::palette::{Colour, Legend};
use crate::timeline_data::{columns_of, encoded};
use crate::{Lane, Timeline};
use maud::{Markup, html};
use std::fmt::Write;

const BAR: usize = 20;
const TOP: usize = 42;
const GAP: usize = 28;
const ZOOM: usize = 240;
/// The smallest height of a class in a column of pixels, px.
const LEAST: usize = 7;

/// Draws a stand-alone picture: it has its own background and loads nothing.
///
/// Marks closer than a column of pixels become a bar, in which the height of each class is its share of the marks, and
/// at least visible.
pub fn svg(timeline: &Timeline) -> String {
    picture(timeline, Place::File).into_string()
}

/// Draws the picture; in a page, with the data that `page.js` needs to draw a part of the window.
pub(crate) fn picture(timeline: &Timeline, place: Place) -> Markup {
    let layout = Layout::of(timeline);
    let legend = timeline.legend();
    let mut picture = Picture::new(&timeline.caption);
    for panel in &layout.panels {
        picture.text(panel.left, 26, "start", &panel.title);
    }
    let mut top = TOP;
    let data = (place == Place::Page).then(|| columns_of(timeline));
    for lane in &timeline.lanes {
        let (shapes, height) = lane_at(timeline, &layout, lane, top, &legend, data);
        picture.add(shapes);
        top += height;
    }
    for panel in &layout.panels {
        picture.add(html! { g class="axis" { (panel.axis(top + 4)) } });
    }
    let end = picture.legend((MARGIN, top + 40), &legend.entries);
    let svg = picture.finish(end + MARGIN - 4, place);
    let Some(columns) = data else { return svg };
    let whole = &layout.panels[0];
    let meanings: Vec<String> = timeline.classes.iter().map(|(_, meaning)| legal(meaning)).collect();
    let colours: Vec<String> = legend.colours.iter().map(|colour| colour.number().to_string()).collect();
    html! {
        div.timeline data-window=(timeline.window_ns) data-columns=(columns) data-left=(whole.left)
            data-width=(whole.width) data-bar=(BAR) data-least=(LEAST) data-axis=(top + 4)
            data-colours=(colours.join(" ")) data-meanings=(meanings.join("\n")) { (svg) }
    }
}

/// The horizontal layout: names, panels, figures.
struct Layout {
    names: usize,
    panels: Vec<Panel>,
    figures: usize,
}

impl Layout {
    fn of(timeline: &Timeline) -> Self {
        let widest =
            |text: fn(&Lane) -> &str| timeline.lanes.iter().map(|l| width_of(text(l))).max().unwrap_or(0);
        let names = widest(|lane| &lane.name).clamp(60, 280);
        let figures = widest(|lane| &lane.figure).clamp(30, 200);
        let left = MARGIN + names + 14;
        let right = WIDTH - MARGIN - figures - 14;
        let window = timeline.window_ns;
        let zoomed = (1..window).contains(&timeline.zoom_ns);
        let whole_width = (right - left - if zoomed { ZOOM + GAP } else { 0 }) / 2 * 2;
        let whole = Panel {
            title: format!("the complete window, {}", seconds(window)),
            left,
            width: whole_width,
            column: 2,
            begin: 0,
            length: window,
        };
        let zoom = zoomed.then(|| Panel {
            title: format!("its last {}", seconds(timeline.zoom_ns)),
            left: left + whole_width + GAP,
            width: ZOOM,
            column: 1,
            begin: window - timeline.zoom_ns,
            length: timeline.zoom_ns,
        });
        Self { names, panels: std::iter::once(whole).chain(zoom).collect(), figures: right + 14 }
    }
}

/// Draws a lane; returns its height.
fn lane_at(
    timeline: &Timeline,
    layout: &Layout,
    lane: &Lane,
    top: usize,
    legend: &Legend<'_>,
    data: Option<usize>,
) -> (Markup, usize) {
    let names = lines(&lane.name, layout.names);
    let figures = lines(&lane.figure, WIDTH - MARGIN - layout.figures);
    let mut texts = Picture::new("");
    for (x, lines) in [(MARGIN, &names), (layout.figures, &figures)] {
        for (number, text) in lines.iter().enumerate() {
            texts.text(x, top + 15 + 16 * number, "start", text);
        }
    }
    let shapes = html! {
        g data-top=[data.map(|_| top)] data-marks=[data.map(|columns| encoded(timeline, lane, columns))] {
            title { (legal(&in_words(timeline, lane))) } "\n"
            (texts.shapes())
            @for panel in &layout.panels {
                (field(panel, top))
                g class="marks" { "\n" (panel.lane(timeline, lane, top, legend)) }
            }
        }
    };
    (shapes, names.len().max(figures.len()).saturating_sub(1) * 16 + BAR + 6)
}

fn field(panel: &Panel, top: usize) -> Markup {
    html! { rect class="field" fill="#f1f1ef" x=(panel.left) y=(top) width=(panel.width) height=(BAR) {} "\n" }
}

/// A lane in words, as a tooltip and for screen readers.
fn in_words(timeline: &Timeline, lane: &Lane) -> String {
    let count = |class: usize| lane.marks.iter().filter(|mark| mark.class == class).count() as u64;
    let counted: Vec<String> = timeline
        .classes
        .iter()
        .enumerate()
        .filter(|(class, _)| count(*class) > 0)
        .map(|(class, (_, meaning))| format!("{} × {meaning}", count(class)))
        .collect();
    format!("{}: {}", lane.name, if counted.is_empty() { "none".into() } else { counted.join("; ") })
}

/// A stretch of the window, drawn over some columns of pixels.
struct Panel {
    title: String,
    left: usize,
    width: usize,
    /// The width of a column, px.
    column: usize,
    begin: u64,
    length: u64,
}

impl Panel {
    /// One path for each class, with one rectangle for each run of equal columns, to keep a lane of thousands of marks
    /// small.
    fn lane(&self, timeline: &Timeline, lane: &Lane, top: usize, legend: &Legend<'_>) -> Markup {
        let counts = timeline.counts(lane, self.begin, self.length, self.width / self.column);
        let columns: Vec<Vec<(usize, usize)>> = counts.iter().map(|counts| bands(counts)).collect();
        let paths = (0..=timeline.classes.len()).map(|class| {
            let colour = legend.colours.get(class).copied().unwrap_or(Colour::OTHER);
            (colour, self.path(columns.iter().map(|column| column[class]), top))
        });
        html! {
            @for (colour, path) in paths.filter(|(_, path)| !path.is_empty()) {
                path class=(colour.fill_class()) fill=(colour.light()) d=(path) {} "\n"
            }
        }
    }

    fn path(&self, bands: impl Iterator<Item = (usize, usize)>, top: usize) -> String {
        let mut path = String::new();
        let mut bands = bands.enumerate().peekable();
        while let Some((first, band)) = bands.next() {
            let mut run = 1;
            while bands.next_if(|(_, next)| *next == band).is_some() {
                run += 1;
            }
            let (offset, height) = band;
            if height > 0 {
                let (x, y, width) = (self.left + first * self.column, top + offset, run * self.column);
                let _ = write!(path, "M{x} {y}h{width}v{height}h-{width}z");
            }
        }
        path
    }

    fn axis(&self, top: usize) -> Markup {
        let (begin, end) = (self.begin as f64, (self.begin + self.length) as f64);
        let steps = round_steps(begin, end, self.width / 60).into_iter().map(|step| {
            let share = if self.length == 0 { 0.0 } else { (step - begin) / (end - begin) };
            (self.left + (share * self.width as f64).round() as usize, seconds(step.round() as u64))
        });
        html! {
            (rule(&format!("M{} {top}h{}", self.left, self.width)))
            @for (x, label) in steps {
                (rule(&format!("M{x} {top}v5")))
                (soft_text(x, top + 19, "middle", &label))
            }
        }
    }
}

/// The offset from the top and the height of each class in a column with these counts, px. The first class is at the
/// bottom.
fn bands(counts: &[usize]) -> Vec<(usize, usize)> {
    let total: usize = counts.iter().sum();
    let mut heights: Vec<usize> =
        counts.iter().map(|count| if *count == 0 { 0 } else { (BAR * count / total).max(LEAST) }).collect();
    // The most frequent class absorbs the differences of rounding and of the smallest height.
    while heights.iter().sum::<usize>() > BAR {
        let Some(highest) = (0..heights.len()).rev().max_by_key(|class| heights[*class]) else { break };
        heights[highest] -= 1;
    }
    if let Some(most) = (0..counts.len()).rev().max_by_key(|class| counts[*class]).filter(|_| total > 0) {
        heights[most] += BAR - heights.iter().sum::<usize>();
    }
    let mut bottom = BAR;
    let place = |height: usize| {
        bottom -= height;
        (bottom, height)
    };
    heights.into_iter().map(place).collect()
}

/// A time in seconds, or in ms below one second, with at most four decimals.
fn seconds(ns: u64) -> String {
    let rounded = |value: f64| {
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match ns {
        1..1_000_000_000 => format!("{} ms", rounded(ns as f64 / 1e6)),
        _ => format!("{} s", rounded(ns as f64 / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mark;
    use proptest::prelude::*;

    fn timeline(lanes: usize, class: impl Fn(u64) -> usize) -> Timeline {
        let marks: Vec<Mark> = (0..2500).map(|n| Mark { at_ns: n * 4_000_000, class: class(n) }).collect();
        let lane =
            |number| Lane { name: format!("case <{number}>"), figure: "250 /s".into(), marks: marks.clone() };
        Timeline {
            caption: "ticks <of> \"a\" & b\u{1b}".into(),
            window_ns: 10_000_000_000,
            zoom_ns: 100_000_000,
            merged: 0,
            classes: (0..8).map(|n| (format!("c{n}"), format!("cause {n}"))).collect(),
            lanes: (0..lanes).map(lane).collect(),
        }
    }

    #[test]
    fn full_lane_is_one_bar_and_single_ticks_show_enlarged() {
        let timeline = timeline(1, |_| 0);
        let paths: Vec<usize> = svg(&timeline)
            .lines()
            .filter(|line| line.starts_with("<path class=\"c"))
            .map(|line| line.matches('z').count())
            .collect();
        assert_eq!(paths, [1, 25]);
    }

    #[test]
    fn rare_class_is_visible_among_many_marks() {
        let column = bands(&[250, 1, 0]);
        assert_eq!(column, [(LEAST, BAR - LEAST), (0, LEAST), (0, 0)]);
    }

    #[test]
    fn worst_case_is_small() {
        let picture = svg(&timeline(12, |n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61) as usize));
        assert!(picture.len() < 400_000, "{} bytes", picture.len());
    }

    #[test]
    fn texts_are_escaped_and_nothing_is_loaded() {
        let picture = svg(&timeline(1, |_| 0));
        assert!(
            picture.contains("ticks &lt;of&gt; &quot;a&quot; &amp; b\u{fffd}") && !picture.contains("<of>")
        );
        assert!(!picture.contains('\u{1b}') && !picture.contains("href") && !picture.contains("url("));
    }

    #[test]
    fn empty_timeline_is_drawn() {
        let picture = svg(&Timeline::default());
        assert!(picture.starts_with("<svg") && !picture.contains("NaN"));
        assert!(super::picture(&Timeline::default(), Place::Page).into_string().contains("<svg"));
    }

    proptest! {
        #[test]
        fn bands_fill_the_bar_and_hide_no_class(counts in prop::collection::vec(0usize..300, 1..=2)) {
            let bands = bands(&counts);
            let total: usize = bands.iter().map(|(_, height)| height).sum();
            prop_assert_eq!(total, if counts.iter().any(|c| *c > 0) { BAR } else { 0 });
            prop_assert!(bands.iter().zip(&counts).all(|((_, height), count)| (*count > 0) == (*height > 0)));
        }

        #[test]
        fn never_panics(counts in prop::collection::vec(0usize..1_000_000, 0..40)) {
            prop_assert!(bands(&counts).iter().all(|(offset, height)| offset + height <= BAR));
        }
    }
}
