// SPDX-License-Identifier: GPL-2.0-only
//! What happened when: lanes of marks over a window of time, as a picture and as a line of text.

use serde::Serialize;
use std::fmt::Write;

/// Lanes over one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// What it shows.
    pub caption: String,
    /// Length of the window, ns.
    pub window_ns: u64,
    /// Length of the end of the window that is shown again, enlarged, ns.
    pub zoom_ns: u64,
    /// The classes of marks with what they mean, in the order of the legend. At most eight get a
    /// colour of their own.
    pub classes: Vec<(String, String)>,
    /// The lanes, from top to bottom.
    pub lanes: Vec<Lane>,
}

/// One lane.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lane {
    /// What it is about.
    pub name: String,
    /// A figure that stands behind it, as `250 ticks/s`.
    pub figure: String,
    /// Its marks, in order of time.
    pub marks: Vec<Mark>,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// When, ns from the begin of the window.
    pub at_ns: u64,
    /// Its class, as a position in [`Timeline::classes`].
    pub class: usize,
}

/// Colours that the colour-blind can tell apart (Okabe and Ito, 2008), the last one for all others.
const COLOURS: [&str; 9] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d00", "#000000", "#808080"];

const WIDTH: usize = 1080;
const NAMES: usize = 290;
const WHOLE: usize = 430;
const GAP: usize = 24;
const ZOOM: usize = 200;
const FIGURES: usize = WIDTH - NAMES - WHOLE - GAP - ZOOM;
const LANE: usize = 26;
const TOP: usize = 40;

/// A picture that stands alone: it has its own background and loads nothing.
pub fn svg(timeline: &Timeline) -> String {
    let lanes_end = TOP + LANE * timeline.lanes.len();
    let height = lanes_end + 40 + 22 * timeline.classes.len() + 8;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<title>{}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"6\" fill=\"#ffffff\" stroke=\"#d0d0d0\"/>\n",
        escaped(&timeline.caption)
    );
    let whole = Panel { left: NAMES, width: WHOLE, begin: 0, length: timeline.window_ns };
    let zoom_ns = timeline.zoom_ns.min(timeline.window_ns);
    let zoom = Panel {
        left: NAMES + WHOLE + GAP,
        width: ZOOM,
        begin: timeline.window_ns - zoom_ns,
        length: zoom_ns,
    };
    text(&mut svg, NAMES, 24, "start", &format!("the whole window, {}", span(timeline.window_ns)));
    text(&mut svg, zoom.left, 24, "start", &format!("its last {}", span(zoom_ns)));
    for (number, lane) in timeline.lanes.iter().enumerate() {
        let top = TOP + LANE * number;
        text(&mut svg, 14, top + 17, "start", &lane.name);
        text(&mut svg, WIDTH - FIGURES + 14, top + 17, "start", &lane.figure);
        for panel in [&whole, &zoom] {
            panel.lane(&mut svg, lane, top);
        }
    }
    for panel in [&whole, &zoom] {
        panel.axis(&mut svg, lanes_end);
    }
    for (number, (_, meaning)) in timeline.classes.iter().enumerate() {
        let top = lanes_end + 36 + 22 * number;
        let _ = writeln!(
            svg,
            "<rect x=\"{NAMES}\" y=\"{top}\" width=\"14\" height=\"14\" fill=\"{}\"/>",
            colour(number)
        );
        text(&mut svg, NAMES + 22, top + 12, "start", meaning);
    }
    svg.push_str("</svg>\n");
    svg
}

/// A stretch of the window drawn over some columns of pixels.
struct Panel {
    left: usize,
    width: usize,
    begin: u64,
    length: u64,
}

impl Panel {
    /// One rectangle for each run of neighbouring columns with marks of the same class.
    fn lane(&self, svg: &mut String, lane: &Lane, top: usize) {
        let (left, width, height) = (self.left, self.width, LANE - 6);
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{}\" width=\"{width}\" height=\"{height}\" fill=\"#f3f3f3\"/>",
            top + 3
        );
        let columns = self.columns(lane);
        let mut at = 0;
        while at < columns.len() {
            let run = columns[at..].iter().take_while(|class| **class == columns[at]).count();
            if let Some(class) = columns[at] {
                let _ = writeln!(
                    svg,
                    "<rect x=\"{}\" y=\"{}\" width=\"{run}\" height=\"{height}\" fill=\"{}\"/>",
                    left + at,
                    top + 3,
                    colour(class)
                );
            }
            at += run;
        }
    }

    /// The class that each column of pixels shows: its last mark's.
    fn columns(&self, lane: &Lane) -> Vec<Option<usize>> {
        let mut columns = vec![None; self.width];
        let within = |mark: &&Mark| mark.at_ns >= self.begin && mark.at_ns < self.begin + self.length;
        for mark in lane.marks.iter().filter(within) {
            let column = (mark.at_ns - self.begin) as f64 / self.length as f64 * self.width as f64;
            columns[(column as usize).min(self.width - 1)] = Some(mark.class);
        }
        columns
    }

    fn axis(&self, svg: &mut String, top: usize) {
        let end = self.left + self.width;
        let _ = writeln!(svg, "<path d=\"M{} {top}H{end}\" stroke=\"#808080\"/>", self.left);
        text(svg, self.left, top + 17, "start", &span(self.begin));
        text(svg, end, top + 17, "end", &span(self.begin + self.length));
    }
}

/// One character for each stretch of the window: how many marks fell into it, against the fullest
/// stretch of all lanes.
pub fn density(timeline: &Timeline, lane: &Lane, cells: usize) -> String {
    const LEVELS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let fullest = timeline.lanes.iter().flat_map(|lane| counts(timeline, lane, cells)).max().unwrap_or(0);
    let level = |count: usize| match count {
        0 => LEVELS[0],
        count => LEVELS[(count * 8).div_ceil(fullest).clamp(1, 8)],
    };
    counts(timeline, lane, cells).into_iter().map(level).collect()
}

fn counts(timeline: &Timeline, lane: &Lane, cells: usize) -> Vec<usize> {
    let mut counts = vec![0; cells];
    for mark in &lane.marks {
        let cell = mark.at_ns as f64 / timeline.window_ns.max(1) as f64 * cells as f64;
        counts[(cell as usize).min(cells - 1)] += 1;
    }
    counts
}

fn colour(class: usize) -> &'static str {
    COLOURS[class.min(COLOURS.len() - 1)]
}

fn span(ns: u64) -> String {
    let rounded = |value: f64| {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let ms = ns as f64 / 1e6;
    if ms >= 1000.0 || ns == 0 {
        format!("{} s", rounded(ms / 1000.0))
    } else {
        format!("{} ms", rounded(ms))
    }
}

fn text(svg: &mut String, x: usize, y: usize, anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"#202020\">{}</text>",
        escaped(text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> Timeline {
        let marks = |every: u64| {
            (0..2500).filter(move |n| n % every == 0).map(|n| Mark { at_ns: n * 4_000_000, class: 0 })
        };
        Timeline {
            caption: "ticks <of> \"a\" & b".into(),
            window_ns: 10_000_000_000,
            zoom_ns: 100_000_000,
            classes: vec![("tick".into(), "the tick".into())],
            lanes: vec![
                Lane { name: "busy".into(), figure: "250/s".into(), marks: marks(1).collect() },
                Lane { name: "quiet".into(), figure: "1/s".into(), marks: marks(250).collect() },
                Lane { name: "silent".into(), ..Lane::default() },
            ],
        }
    }

    #[test]
    fn a_full_lane_is_one_bar_and_single_ticks_show_in_the_zoom() {
        let picture = svg(&timeline());
        assert_eq!(picture, svg(&timeline()));
        assert_eq!(picture.matches(COLOURS[0]).count(), 1 + 25 + 10 + 1, "bar, zoom, single ticks, legend");
        assert!(picture.contains("ticks &lt;of&gt; &quot;a&quot; &amp; b") && !picture.contains("<of>"));
    }

    #[test]
    fn density_in_text() {
        let timeline = timeline();
        let line = |number: usize| density(&timeline, &timeline.lanes[number], 10);
        assert_eq!([line(0), line(1), line(2)], ["██████████", "▁▁▁▁▁▁▁▁▁▁", "··········"]);
    }
}
