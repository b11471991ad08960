// SPDX-License-Identifier: GPL-2.0-only
//! `-o FILE`: the destination of a verb's result, for every verb with this option.

use super::{Sheet, as_json, file, put};
use super::{ensure_writable, indented, page, rendered_aside, size};
use anyhow::Result;
use clap::Args;
use dyntick_contract::Printed;
use dyntick_model::text::clean;
use dyntick_report::Document;
use serde_json::Value;
use std::path::PathBuf;

/// The destination of a result: a file if one is named, else standard output.
#[derive(Args, Clone, Debug, Default)]
pub struct Target {
    /// Write the result to FILE instead of printing it; '-' is standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Target {
    /// Refuses a file that cannot be written, before the work is done.
    pub fn ensure_writable(&self) -> Result<()> {
        self.output.as_deref().map_or(Ok(()), ensure_writable)
    }

    /// Returns true if a file is named.
    pub fn is_named(&self) -> bool {
        self.output.is_some()
    }

    /// The layout of a text: without colours for a file.
    pub fn sheet(&self) -> Sheet {
        if self.is_named() { Sheet::file() } else { Sheet::output() }
    }

    /// The largest number of lines of a text: that of a terminal; `None` elsewhere.
    pub fn height(&self) -> Option<usize> {
        size().map(|(_, rows)| rows).filter(|rows| *rows > 0 && !self.is_named())
    }

    /// Writes a document.
    pub fn page(&self, document: &Document) -> Result<()> {
        if self.is_named() { self.rendered(&self.sheet().text(document)) } else { page(document) }
    }

    /// Writes a document after the output of a command, whose last line may have no end.
    pub fn page_behind(&self, document: &Document) -> Result<()> {
        let begin = if self.is_named() { "" } else { "\n" };
        self.rendered(&format!("{begin}{}", self.sheet().text(document)))
    }

    /// Writes a text, cleaned.
    pub fn text(&self, text: &str) -> Result<()> {
        self.rendered(&clean(text))
    }

    /// Writes a text that was cleaned when it was laid out.
    pub fn rendered(&self, text: &str) -> Result<()> {
        match &self.output {
            Some(path) => file(path, text.as_bytes()),
            None => put(text),
        }
    }

    /// Writes a value as JSON.
    pub fn json(&self, value: &impl Printed) -> Result<()> {
        self.rendered(&as_json(value)?)
    }

    /// Writes a value as JSON. If a command ran, it owned standard output: without a file the value then goes to
    /// standard error, like the figures of `stat` and of perf.
    ///
    /// # Errors
    /// If it cannot be written. A command that failed has its own status: see [`super::status_of`].
    pub fn json_beside(&self, command: bool, value: &impl Printed) -> Result<()> {
        if command && !self.is_named() { rendered_aside(as_json(value)?) } else { self.json(value) }
    }

    /// Writes JSON of another tool's format.
    pub fn unnamed_json(&self, value: &Value) -> Result<()> {
        self.rendered(&indented(value)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_report::Block;

    fn named(path: &std::path::Path) -> Target {
        Target { output: Some(path.to_owned()) }
    }

    #[test]
    fn file_gets_the_result_without_colours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "before").unwrap();
        let target = named(&path);
        target.ensure_writable().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before", "looking changes nothing");
        let blocks = vec![Block::Heading("One".to_owned()), Block::Paragraph("two\u{1b}[31m".to_owned())];
        target.page(&Document { title: "T".to_owned(), blocks, ..Document::default() }).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("T\n") && text.contains("two") && !text.contains('\u{1b}'), "{text}");
        target.unnamed_json(&serde_json::json!({ "a": "\u{9b}" })).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\n  \"a\": \"\\u009b\"\n}\n");
        assert_eq!(target.height(), None);
    }

    #[test]
    fn unwritable_file_is_refused_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let error = named(&folder.path().join("no/file")).ensure_writable().unwrap_err().to_string();
        assert!(error.contains("there is no folder"), "{error}");
        assert!(Target::default().ensure_writable().is_ok());
    }
}
