// SPDX-License-Identifier: GPL-2.0-only
//! Documents for a terminal or a log.

mod pictures;
mod table;
mod text;

use crate::words::{console_line, message};
use crate::{Block, Document, Failure, Finding, Level, Origin, Ruling, Table, Verdict, score};
use anstyle::{AnsiColor, Style};
use dyntick_model::Fix;
use dyntick_model::text::{clean, clean_line as line_of};
use text::{pair, wrap};
use unicode_width::UnicodeWidthStr;

pub(crate) use table::fits;
pub use table::is_beside;

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// The width of the longest level and the space after it, columns.
const LEVEL: usize = 9;

/// Renders a document in at most `width` columns (20 at least), with colours only on request. A command that is to be
/// copied is one line, whatever its length.
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
    if let Some(origin) = &document.origin {
        page.origin(origin);
    }
    page.text
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
            Block::Scores(verdicts) => self.scores(verdicts),
            Block::Command(what, command) => self.unbroken(&format!("{what}: "), command),
            Block::Details(..) | Block::Flame(_) => {}
            Block::Verdicts(verdicts) => self.each(verdicts, Self::verdict),
            Block::Findings(findings) => self.findings(findings),
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
        let rule = self.painted(FAINT, &"─".repeat(width));
        self.line(&rule);
    }

    fn strong(&mut self, text: &str) {
        for line in wrap(&clean(text), self.width) {
            let line = self.painted(STRONG, &line);
            self.line(&line);
        }
    }

    fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.indented("", text);
        }
    }

    /// Prints a text; its further lines are indented to the first one's text.
    fn indented(&mut self, before: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let indent = before.width();
        for (number, line) in wrap(&clean(text), self.width.saturating_sub(indent)).iter().enumerate() {
            let before = if number == 0 { before.to_owned() } else { " ".repeat(indent) };
            self.line(&format!("{before}{line}"));
        }
    }

    /// Prints a text to be copied: never broken, and on its own line if there is no room after `before`.
    fn unbroken(&mut self, before: &str, text: &str) {
        let text = line_of(text);
        if before.width() + text.width() <= self.width {
            return self.line(&format!("{before}{text}"));
        }
        self.line(before);
        self.line(&format!("  {text}"));
    }

    fn table(&mut self, table: &Table) {
        self.paragraph(&table.caption);
        let (lines, header) = table::lines(table, self.width);
        for (number, line) in lines.iter().enumerate() {
            let line = match number {
                n if n + 1 < header => self.painted(STRONG, line.trim_end()),
                n if n < header => self.painted(FAINT, line),
                _ => line.clone(),
            };
            self.line(&line);
        }
        for note in &table.notes {
            self.indented("  ", note);
        }
    }

    fn scores(&mut self, verdicts: &[Verdict]) {
        self.strong(&score(verdicts));
        for verdict in verdicts {
            let ruling = verdict.only_ruling();
            let sign = ruling.map_or("/", Ruling::sign);
            let sign = ruling.map_or(sign.to_owned(), |ruling| self.ruled(ruling, sign));
            for (number, line) in wrap(&clean(&verdict.in_short()), self.width - 4).iter().enumerate() {
                self.line(&format!("  {} {line}", if number == 0 { &sign } else { " " }));
            }
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

    fn findings(&mut self, findings: &[Finding]) {
        for (number, finding) in findings.iter().enumerate() {
            if number > 0 && !finding.is_short() {
                self.gap();
            }
            self.finding(finding);
        }
    }

    /// Prints the title after its level, or after a mark.
    fn title(&mut self, finding: &Finding) {
        let Some(level) = finding.level else { return self.indented("• ", &finding.title) };
        let style = match level {
            Level::Error => AnsiColor::Red.on_default().bold(),
            Level::Warning => AnsiColor::Yellow.on_default(),
            Level::Note => FAINT,
        };
        let word = format!("{:<LEVEL$}", level.word());
        for (number, line) in
            wrap(&clean(&finding.title), self.width.saturating_sub(LEVEL)).iter().enumerate()
        {
            let before = if number == 0 { self.painted(style, &word) } else { " ".repeat(LEVEL) };
            self.line(&format!("{before}{line}"));
        }
    }

    fn finding(&mut self, finding: &Finding) {
        self.title(finding);
        self.indented("  ", &finding.occurrence);
        self.indented("  ", &finding.explanation);
        for (number, link) in finding.chain.iter().enumerate() {
            self.indented(if number == 0 { "    because  " } else { "          →  " }, link);
        }
        if !finding.functions.is_empty() {
            self.indented("    ran      ", &finding.functions.join(", "));
        }
        for (fix, effect) in &finding.fixes {
            self.fix("    fix      ", fix);
            self.indented("               ", effect);
        }
        if !finding.source.is_empty() {
            self.indented("    source   ", &finding.source);
        }
    }

    fn fix(&mut self, before: &str, fix: &Fix) {
        match fix {
            Fix::Advice(words) => self.indented(before, words),
            _ => self.unbroken(before, &fix.to_string()),
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

    fn origin(&mut self, origin: &Origin) {
        self.gap();
        self.unbroken("Repeat with: ", &origin.command);
        self.paragraph(&format!("Made by {}.", origin.program));
    }

    fn ruled(&self, ruling: Ruling, text: &str) -> String {
        let colour = match ruling {
            Ruling::Reproduced => AnsiColor::Green,
            Ruling::NotReproduced => AnsiColor::Red,
            Ruling::Inconclusive | Ruling::CannotTell => AnsiColor::Yellow,
            Ruling::NotRun => return self.painted(FAINT, text),
        };
        self.painted(colour.on_default(), text)
    }

    fn painted(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests;
