// SPDX-License-Identifier: GPL-2.0-only
//! Timelines as pictures.

use crate::draw::{Colour, MARGIN, Picture, WIDTH, escaped, lines, round_steps, width_of};
use crate::{Lane, Timeline, numbers};
use std::fmt::Write;

const BAR: usize = 20;
const TOP: usize = 42;
const GAP: usize = 28;
const ZOOM: usize = 240;
/// What even the rarest class of a column of pixels gets of the bar's height, px.
const LEAST: usize = 7;

/// A picture that stands alone: it has its own background and loads nothing.
///
/// Marks closer than a column of pixels become a bar, in which each class has the height that its
/// share of the marks has, and at least enough to be seen.
pub fn svg(timeline: &Timeline) -> String {
    let layout = Layout::of(timeline);
    let colours = timeline.colours();
    let mut picture = Picture::new(&timeline.caption);
    for panel in &layout.panels {
        picture.text(panel.left, 26, "start", &panel.title);
    }
    let mut top = TOP;
    for lane in &timeline.lanes {
        top += lane_at(&mut picture, timeline, &layout, lane, top, &colours);
    }
    for panel in &layout.panels {
        panel.axis(&mut picture, top + 4);
    }
    let meanings = timeline.classes.iter().map(|(_, meaning)| meaning.as_str());
    let entries = meanings.zip(colours.iter().copied());
    let end = picture.legend((layout.panels[0].left, top + 40), entries);
    picture.finish(end + MARGIN - 4)
}

/// Where everything stands from left to right: names, panels, figures.
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

/// Draws a lane and gives its height.
fn lane_at(
    picture: &mut Picture,
    timeline: &Timeline,
    layout: &Layout,
    lane: &Lane,
    top: usize,
    colours: &[Colour],
) -> usize {
    let names = lines(&lane.name, layout.names);
    let figures = lines(&lane.figure, WIDTH - MARGIN - layout.figures);
    let _ = writeln!(picture.body, "<g><title>{}</title>", escaped(&in_words(timeline, lane)));
    for (x, texts) in [(MARGIN, &names), (layout.figures, &figures)] {
        for (number, text) in texts.iter().enumerate() {
            picture.text(x, top + 15 + 16 * number, "start", text);
        }
    }
    for panel in &layout.panels {
        panel.lane(picture, timeline, lane, top, colours);
    }
    picture.body.push_str("</g>\n");
    names.len().max(figures.len()).saturating_sub(1) * 16 + BAR + 6
}

/// A lane for those who point at it or have it read out.
fn in_words(timeline: &Timeline, lane: &Lane) -> String {
    let count = |class: usize| lane.marks.iter().filter(|mark| mark.class == class).count() as u64;
    let counted: Vec<String> = timeline
        .classes
        .iter()
        .enumerate()
        .filter(|(class, _)| count(*class) > 0)
        .map(|(class, (_, meaning))| format!("{} × {meaning}", numbers::count(count(class))))
        .collect();
    format!("{}: {}", lane.name, if counted.is_empty() { "none".into() } else { counted.join("; ") })
}

/// A stretch of the window drawn over some columns of pixels.
struct Panel {
    title: String,
    left: usize,
    width: usize,
    /// How wide a column is, px.
    column: usize,
    begin: u64,
    length: u64,
}

impl Panel {
    /// One path for each class, with one rectangle for each run of equal columns: a lane of thousands
    /// of marks stays small.
    fn lane(&self, picture: &mut Picture, timeline: &Timeline, lane: &Lane, top: usize, colours: &[Colour]) {
        picture.field(self.left, top, self.width, BAR);
        let counts = timeline.counts(lane, self.begin, self.length, self.width / self.column);
        let columns: Vec<Vec<(usize, usize)>> = counts.iter().map(|counts| bands(counts)).collect();
        for class in 0..=timeline.classes.len() {
            let path = self.path(columns.iter().map(|column| column[class]), top);
            if !path.is_empty() {
                let colour = colours.get(class).copied().unwrap_or(Colour::OTHER);
                let _ = writeln!(picture.body, "<path {} d=\"{path}\"/>", colour.fill());
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

    fn axis(&self, picture: &mut Picture, top: usize) {
        let (begin, end) = (self.begin as f64, (self.begin + self.length) as f64);
        picture.rule(&format!("M{} {top}h{}", self.left, self.width));
        for step in round_steps(begin, end, self.width / 60) {
            let share = if self.length == 0 { 0.0 } else { (step - begin) / (end - begin) };
            let x = self.left + (share * self.width as f64).round() as usize;
            picture.rule(&format!("M{x} {top}v5"));
            picture.soft_text(x, top + 19, "middle", &seconds(step.round() as u64));
        }
    }
}

/// The offset from the top and the height of each class in a column with these counts, px. The first
/// class stands at the bottom.
fn bands(counts: &[usize]) -> Vec<(usize, usize)> {
    let total: usize = counts.iter().sum();
    let mut heights: Vec<usize> =
        counts.iter().map(|count| if *count == 0 { 0 } else { (BAR * count / total).max(LEAST) }).collect();
    // What rounding and the least height put in or leave out is the most frequent one's.
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

/// A time in seconds, or in ms where there is no whole second, to at most four decimals.
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
            classes: (0..8).map(|n| (format!("c{n}"), format!("cause {n}"))).collect(),
            lanes: (0..lanes).map(lane).collect(),
        }
    }

    #[test]
    fn a_full_lane_is_one_bar_and_single_ticks_show_enlarged() {
        let timeline = timeline(1, |_| 0);
        let paths: Vec<usize> = svg(&timeline)
            .lines()
            .filter(|line| line.starts_with("<path class=\"c"))
            .map(|line| line.matches('z').count())
            .collect();
        assert_eq!(paths, [1, 25]);
    }

    #[test]
    fn a_rare_class_is_seen_among_many_marks() {
        let column = bands(&[250, 1, 0]);
        assert_eq!(column, [(LEAST, BAR - LEAST), (0, LEAST), (0, 0)]);
    }

    #[test]
    fn the_worst_case_is_small() {
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
    fn an_empty_timeline_is_a_picture_too() {
        let picture = svg(&Timeline::default());
        assert!(picture.starts_with("<svg") && !picture.contains("NaN"));
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
