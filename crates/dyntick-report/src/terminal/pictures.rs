// SPDX-License-Identifier: GPL-2.0-only
//! Timelines and plots as rows of characters.

use super::text::wrap;
use super::{Page, line_of};
use crate::palette::{Colour, Legend};
use crate::plot::sparklines;
use crate::timeline::{Stretch, density};
use crate::{Plot, Timeline, numbers};
use anstyle::{Ansi256Color, Style};
use dyntick_model::text::clean;
use unicode_width::UnicodeWidthStr;

impl Page {
    pub(super) fn timeline(&mut self, timeline: &Timeline) {
        self.paragraph(&timeline.caption);
        let names: Vec<String> = timeline.lanes.iter().map(|lane| line_of(&lane.name)).collect();
        let figures: Vec<String> = timeline.lanes.iter().map(|lane| line_of(&lane.figure)).collect();
        let figure_width = figures.iter().map(|figure| figure.width()).max().unwrap_or(0);
        let rows = Rows::of(&names, self.width, figure_width + 2);
        let legend = timeline.legend();
        let (lanes, fullest) = density(timeline, rows.cells);
        for ((lane, name), figure) in lanes.iter().zip(&names).zip(&figures) {
            let row: String = lane.iter().map(|stretch| self.stretch(*stretch, &legend)).collect();
            let padding = " ".repeat(figure_width - figure.width());
            self.row(&rows, name, &format!("{row}  {padding}{figure}"));
        }
        let cell = numbers::duration(timeline.window_ns as f64 / rows.cells as f64);
        let events = numbers::counted(fullest as u64, "event");
        self.indented("  ", &format!("One character is {cell}; █ stands for {events} in it, · for none."));
        if self.colour {
            for (meaning, colour) in &legend.entries {
                let sign = self.in_colour(*colour, "█");
                for (number, line) in wrap(&clean(meaning), self.width - 4).iter().enumerate() {
                    self.line(&format!("  {} {line}", if number == 0 { &sign } else { " " }));
                }
            }
        }
    }

    pub(super) fn plot(&mut self, plot: &Plot) {
        self.paragraph(&plot.caption);
        let names: Vec<String> = plot.series.iter().map(|series| line_of(&series.name)).collect();
        let rows = Rows::of(&names, self.width, 0);
        let (lines, x, y) = sparklines(plot, rows.cells);
        for ((line, name), colour) in lines.iter().zip(&names).zip(plot.legend().colours) {
            let line = self.in_colour(colour, line);
            self.row(&rows, name, &line);
        }
        let axis = |title: String, (begin, end): (f64, f64), steps: &str| {
            format!("{title}: {} to {}{steps}", numbers::plain(begin), numbers::plain(end))
        };
        let steps = |logarithmic: bool| if logarithmic { ", logarithmic" } else { "" };
        self.indented(
            "  ",
            &axis(format!("x axis, {}", plot.x.title()), x.ends(), steps(plot.x.logarithmic)),
        );
        self.indented(
            "  ",
            &axis(format!("y axis, {}", plot.y.title()), y.ends(), steps(plot.y.logarithmic)),
        );
    }

    /// Prints a name and its row of characters, on one line or two.
    fn row(&mut self, rows: &Rows, name: &str, signs: &str) {
        match rows.names {
            Some(width) => self.line(&format!("{name}{}  {signs}", " ".repeat(width - name.width()))),
            None => {
                self.indented("", name);
                self.line(&format!("  {signs}"));
            }
        }
    }

    fn stretch(&self, stretch: Stretch, legend: &Legend<'_>) -> String {
        let sign = stretch.sign.to_string();
        let Some(class) = stretch.class else { return sign };
        self.in_colour(legend.colours.get(class).copied().unwrap_or(Colour::OTHER), &sign)
    }

    fn in_colour(&self, colour: Colour, text: &str) -> String {
        let style = Style::new().fg_color(Some(Ansi256Color(colour.terminal()).into()));
        self.painted(style, text)
    }
}

/// The layout of names and rows of characters.
struct Rows {
    /// The width of the names; `None` if they are above their rows.
    names: Option<usize>,
    /// The number of characters in a row.
    cells: usize,
}

impl Rows {
    fn of(names: &[String], width: usize, after: usize) -> Self {
        let names = names.iter().map(|name| name.width()).max().unwrap_or(0);
        match width.checked_sub(names + 2 + after).filter(|cells| *cells >= width / 3) {
            Some(cells) => Self { names: Some(names), cells },
            None => Self { names: None, cells: width.saturating_sub(2 + after).max(1) },
        }
    }
}
