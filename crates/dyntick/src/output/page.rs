// SPDX-License-Identifier: GPL-2.0-only
//! The layout of pages: width and colours, for every verb.

use super::{colours, colours_aside, columns, columns_aside, rendered};
use anyhow::Result;
use dyntick_report::{Document, terminal};

/// The width of a log, if there is no terminal.
const LOG: usize = 100;
/// The smallest width; narrower terminals wrap by themselves.
const NARROWEST: usize = 40;
const WIDEST: usize = 140;

/// The layout of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sheet {
    /// The number of columns.
    pub width: usize,
    /// True for colours.
    pub colour: bool,
}

impl Sheet {
    /// The layout for standard output.
    pub fn output() -> Self {
        Self { width: width(columns()), colour: colours() }
    }

    /// The layout for standard error.
    pub fn aside() -> Self {
        Self { width: width(columns_aside()), colour: colours_aside() }
    }

    /// The layout for a file: without colours.
    pub fn file() -> Self {
        Self { width: width(None), colour: false }
    }

    /// Lays out a document.
    pub fn text(self, document: &Document) -> String {
        terminal(document, self.width, self.colour)
    }
}

/// Prints a document in lines that begin with `#`, which readers of the remaining output skip.
pub fn comments(document: &Document) -> Result<()> {
    rendered(commented(Sheet::output(), document))
}

fn commented(sheet: Sheet, document: &Document) -> String {
    const MARK: &str = "# ";
    let text = Sheet { width: sheet.width - MARK.len(), ..sheet }.text(document);
    let lines = text.lines().map(|line| format!("{MARK}{line}").trim_end().to_owned() + "\n");
    ["#\n".to_owned()].into_iter().chain(lines).collect()
}

/// Prints a document.
pub fn page(document: &Document) -> Result<()> {
    rendered(Sheet::output().text(document))
}

/// The width that the user sets by COLUMNS, as with other tools; else the terminal's within limits, else a log's.
fn width(terminal: Option<usize>) -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    chosen(asked, terminal)
}

fn chosen(asked: Option<usize>, terminal: Option<usize>) -> usize {
    match (asked.filter(|columns| *columns > 0), terminal) {
        (Some(columns), _) => columns.clamp(NARROWEST, 1000),
        (None, Some(columns)) => columns.clamp(NARROWEST, WIDEST),
        (None, None) => LOG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_fit_with_their_mark() {
        let paragraph = dyntick_report::Block::Paragraph("word ".repeat(40));
        let document = Document { title: "Title".to_owned(), blocks: vec![paragraph], ..Document::default() };
        let text = commented(Sheet { width: 40, colour: false }, &document);
        assert!(text.starts_with("#\n# Title\n#\n# word word"), "{text}");
        assert!(text.lines().all(|line| line.starts_with('#') && line.len() <= 40), "{text}");
    }

    #[test]
    fn user_decides_the_width_before_the_terminal() {
        assert_eq!(chosen(Some(72), Some(120)), 72);
        assert_eq!(chosen(Some(200), None), 200);
        assert_eq!(chosen(None, Some(80)), 80);
        assert_eq!([chosen(None, Some(300)), chosen(None, Some(5))], [WIDEST, NARROWEST]);
        assert_eq!([chosen(None, None), chosen(Some(0), None)], [LOG, LOG]);
    }
}
