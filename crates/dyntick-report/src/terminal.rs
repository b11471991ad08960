// SPDX-License-Identifier: GPL-2.0-only
//! Documents for a terminal or a log.

mod table;

use crate::draw::Colour;
use crate::plot::sparklines;
use crate::timeline::{Stretch, density};
use crate::words::{console_line, message};
use crate::{Block, Document, Failure, Finding, Plot, Ruling, Table, Timeline, Verdict, numbers};
use dyntick_model::text::{clean, clean_line as line_of};
use unicode_width::UnicodeWidthStr;

/// Renders a document in at most `width` columns (20 at least); with colours only where asked.
pub fn terminal(document: &Document, width: usize, colour: bool) -> String {
    let mut page = Page { text: String::new(), width: width.max(20), colour };
    page.strong(&document.title);
    page.paragraph(&document.question);
    for paragraph in &document.lead {
        page.gap();
        page.paragraph(paragraph);
    }
    for block in &document.blocks {
        page.block(block);
    }
    page.text
}

pub(crate) use table::fits;

/// Lines of at most `width` columns. Words stay whole, also at their hyphens, for many are settings
/// that somebody will copy; only what is wider than a line is broken.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = textwrap::Options::new(width.max(1)).word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

/// A name and what it stands for, below each other where there is no room beside.
fn pair(name: &str, names: usize, value: &str, width: usize) -> Vec<String> {
    let indent = if names + 2 > width / 2 { 4 } else { names + 2 };
    let mut lines = Vec::new();
    let mut first = format!("{name}{}", " ".repeat(indent.saturating_sub(name.width())));
    if first.width() > indent {
        lines.extend(wrap(&first, width));
        first = " ".repeat(indent);
    }
    for (number, line) in wrap(value, width - indent).into_iter().enumerate() {
        let before = if number == 0 { first.clone() } else { " ".repeat(indent) };
        lines.push(format!("{before}{line}"));
    }
    lines
}

struct Page {
    text: String,
    width: usize,
    colour: bool,
}

impl Page {
    fn block(&mut self, block: &Block) {
        self.gap();
        match block {
            Block::Heading(text) => self.heading(text),
            Block::Paragraph(text) => self.paragraph(text),
            Block::Table(table) => self.table(table),
            Block::Verdicts(verdicts) => self.each(verdicts, Self::verdict),
            Block::Findings(findings) => self.each(findings, Self::finding),
            Block::Timeline(timeline) => self.timeline(timeline),
            Block::Plot(plot) => self.plot(plot),
            Block::Failures(failures) => self.each(failures, Self::failure),
            Block::Pairs(pairs) => self.pairs(pairs),
        }
    }

    fn each<T>(&mut self, items: &[T], print: fn(&mut Self, &T)) {
        for item in items {
            self.gap();
            print(self, item);
        }
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn heading(&mut self, text: &str) {
        self.strong(text);
        let width = text.width().min(self.width);
        let rule = self.painted("2", &"─".repeat(width));
        self.line(&rule);
    }

    fn strong(&mut self, text: &str) {
        for line in wrap(&clean(text), self.width) {
            let line = self.painted("1", &line);
            self.line(&line);
        }
    }

    fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.indented("", text);
        }
    }

    /// A text whose lines but the first stand below the first's text.
    fn indented(&mut self, before: &str, text: &str) {
        let indent = before.width();
        for (number, line) in wrap(&clean(text), self.width.saturating_sub(indent)).iter().enumerate() {
            let before = if number == 0 { before.to_owned() } else { " ".repeat(indent) };
            self.line(&format!("{before}{line}"));
        }
    }

    fn table(&mut self, table: &Table) {
        self.paragraph(&table.caption);
        let (lines, header) = table::lines(table, self.width);
        for (number, line) in lines.iter().enumerate() {
            let line = match number {
                n if n + 1 < header => self.painted("1", line.trim_end()),
                n if n < header => self.painted("2", line),
                _ => line.clone(),
            };
            self.line(&line);
        }
        for note in &table.notes {
            self.indented("  ", note);
        }
    }

    fn verdict(&mut self, verdict: &Verdict) {
        self.indented("• ", &verdict.claim);
        for (variant, ruling) in &verdict.rulings {
            let variant = if variant.is_empty() { String::new() } else { format!("{}: ", line_of(variant)) };
            let words = line_of(&verdict.words(*ruling));
            for line in wrap(&format!("{variant}{} {words}", ruling.sign()), self.width - 4) {
                let line = self.ruled(*ruling, &line);
                self.line(&format!("    {line}"));
            }
        }
        for line in &verdict.evidence {
            self.indented("      ", line);
        }
        if !verdict.comment.is_empty() {
            self.indented("    → ", &verdict.comment);
        }
    }

    fn finding(&mut self, finding: &Finding) {
        self.indented("• ", &finding.title);
        self.indented("  ", &finding.occurrence);
        self.indented("  ", &finding.explanation);
        for (number, link) in finding.chain.iter().enumerate() {
            self.indented(if number == 0 { "    because  " } else { "          →  " }, link);
        }
        if !finding.functions.is_empty() {
            self.indented("    ran      ", &finding.functions.join(", "));
        }
        for (setting, effect) in &finding.fixes {
            self.indented("    fix      ", setting);
            self.indented("               ", effect);
        }
        if !finding.source.is_empty() {
            self.indented("    source   ", &finding.source);
        }
    }

    fn timeline(&mut self, timeline: &Timeline) {
        self.paragraph(&timeline.caption);
        let names: Vec<String> = timeline.lanes.iter().map(|lane| line_of(&lane.name)).collect();
        let figures: Vec<String> = timeline.lanes.iter().map(|lane| line_of(&lane.figure)).collect();
        let figure_width = figures.iter().map(|figure| figure.width()).max().unwrap_or(0);
        let rows = Rows::of(&names, self.width, figure_width + 2);
        let colours = timeline.colours();
        let (lanes, fullest) = density(timeline, rows.cells);
        for ((lane, name), figure) in lanes.iter().zip(&names).zip(&figures) {
            let row: String = lane.iter().map(|stretch| self.stretch(*stretch, &colours)).collect();
            let padding = " ".repeat(figure_width - figure.width());
            self.row(&rows, name, &format!("{row}  {padding}{figure}"));
        }
        let cell = numbers::duration(timeline.window_ns as f64 / rows.cells as f64);
        self.indented(
            "  ",
            &format!("One character is {cell}; █ stands for {fullest} events in it, · for none."),
        );
        if self.colour {
            for ((_, meaning), colour) in timeline.classes.iter().zip(&colours) {
                let sign = self.in_colour(*colour, "█");
                for (number, line) in wrap(&clean(meaning), self.width - 4).iter().enumerate() {
                    self.line(&format!("  {} {line}", if number == 0 { &sign } else { " " }));
                }
            }
        }
    }

    fn plot(&mut self, plot: &Plot) {
        self.paragraph(&plot.caption);
        let names: Vec<String> = plot.series.iter().map(|series| line_of(&series.name)).collect();
        let rows = Rows::of(&names, self.width, 0);
        let (lines, x, y) = sparklines(plot, rows.cells);
        for ((line, name), colour) in lines.iter().zip(&names).zip(plot.colours()) {
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

    /// A name with a row of signs, beside or below it.
    fn row(&mut self, rows: &Rows, name: &str, signs: &str) {
        match rows.names {
            Some(width) => self.line(&format!("{name}{}  {signs}", " ".repeat(width - name.width()))),
            None => {
                self.indented("", name);
                self.line(&format!("  {signs}"));
            }
        }
    }

    fn failure(&mut self, failure: &Failure) {
        self.indented("✗ ", &format!("{}: {}", failure.name, message(&failure.reason)));
        for line in &failure.console {
            self.indented("    | ", &console_line(line));
        }
    }

    fn pairs(&mut self, pairs: &[(String, String)]) {
        let widest = pairs.iter().map(|(name, _)| line_of(name).width()).max().unwrap_or(0);
        for (name, value) in pairs {
            for line in pair(&line_of(name), widest, &clean(value), self.width) {
                self.line(&line);
            }
        }
    }

    fn stretch(&self, stretch: Stretch, colours: &[Colour]) -> String {
        let sign = stretch.sign.to_string();
        let Some(class) = stretch.class else { return sign };
        self.in_colour(colours.get(class).copied().unwrap_or(Colour::OTHER), &sign)
    }

    fn in_colour(&self, colour: Colour, text: &str) -> String {
        self.painted(&format!("38;5;{}", colour.terminal()), text)
    }

    fn ruled(&self, ruling: Ruling, text: &str) -> String {
        let code = match ruling {
            Ruling::Reproduced => "32",
            Ruling::NotReproduced => "31",
            Ruling::Inconclusive | Ruling::CannotTell => "33",
        };
        self.painted(code, text)
    }

    fn painted(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Where names and rows of signs stand.
struct Rows {
    /// How wide the names are; None where they stand above their rows.
    names: Option<usize>,
    /// How many signs a row has.
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

#[cfg(test)]
mod tests;
