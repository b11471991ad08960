// SPDX-License-Identifier: GPL-2.0-only
//! The outcome of a study: its report in each format in which it can be printed, and the files of the report.

use super::{attached, report};
use crate::output::{self, Target};
use anyhow::{Context, Result, bail};
use dyntick_contract::Printed;
use dyntick_contract::lab::Judged;
use dyntick_lab::judgement::Judgement;
use dyntick_report::{Block, Document, Ruling};
use std::fmt;
use std::path::{Path, PathBuf};

/// The format of a report.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal, as wide as it is
    Terminal,
    /// Plain text of 72 columns, for a reply on a mailing list
    Mail,
    /// One file that opens without network
    Html,
    /// Everything, for programs
    Json,
}

/// The format of a result, and its file.
#[derive(clap::Args)]
pub struct Printing {
    /// Print the result in this format
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Print all of it, and not only the answer and what is most important
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub target: Target,
}

impl Printing {
    /// The format.
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// The number of lines of a document as it is printed.
    pub fn height(&self, document: &Document) -> usize {
        let text = match self.format() {
            Format::Mail => dyntick_report::mail(document),
            _ => self.target.sheet().text(document),
        };
        text.lines().count()
    }

    /// Prints a document; `json` is the value that it was made of.
    pub fn print(&self, document: &Document, json: &impl Printed) -> Result<()> {
        match self.format() {
            Format::Terminal => self.target.page(document),
            Format::Mail => self.target.text(&dyntick_report::mail(document)),
            Format::Html => self.target.text(&dyntick_report::html(document)),
            Format::Json => self.target.json(json),
        }
    }
}

/// The format of a report, and its file.
#[derive(clap::Args)]
pub struct Wanted {
    #[command(flatten)]
    printing: Printing,
    /// Append the study to a mail, or if it is long how to get it, and the subjects of its patches
    #[arg(long)]
    with_study: bool,
    /// The default
    #[arg(long, hide = true, conflicts_with = "full")]
    brief: bool,
}

impl Wanted {
    fn format(&self) -> Format {
        self.printing.format()
    }

    /// Prints the path of a stored report, if the report is printed for a terminal and not into a file.
    pub fn print_place(&self, stored: &Stored) -> Result<()> {
        if self.format() != Format::Terminal || self.printing.target.is_named() {
            return Ok(());
        }
        let rest = if self.printing.full { "" } else { "; --full prints all of it here" };
        output::line(format_args!("\nReport: {stored}{rest}"))
    }

    /// Refuses a file that cannot be written, before anything is run.
    pub fn ensure_possible(&self) -> Result<()> {
        if self.with_study && self.format() != Format::Mail {
            bail!("cannot append the study to this report: --with-study is for mails, add --format mail");
        }
        self.printing.target.ensure_writable()
    }
}

/// A mail of this many lines is read.
const OF_A_MAIL: usize = 40;

/// The smallest terminal has 24 lines. Two of them are for the path of the complete report.
const OF_A_TERMINAL: usize = 24 - 2;

/// A study's runs, judged, with their reports.
pub struct Outcome<'a> {
    /// The runs, judged.
    pub judgement: Judgement<'a>,
    /// The report.
    document: Document,
    /// The short report.
    brief: Document,
}

impl<'a> Outcome<'a> {
    /// Puts the report together, as it is wanted.
    pub fn of(judgement: Judgement<'a>, wanted: &Wanted) -> Self {
        let is_mail = wanted.format() == Format::Mail;
        let lines = if is_mail { OF_A_MAIL } else { OF_A_TERMINAL };
        let width = if is_mail { dyntick_report::MAIL_COLUMNS } else { wanted.printing.target.sheet().width };
        let page =
            report::Page { lines, width, height: &|document| wanted.printing.height(document), is_mail };
        let (document, brief) = report::documents(&judgement, &page);
        Self { judgement, document, brief }
    }

    /// The rulings other than *reproduced*, of all claims that this laboratory can judge.
    pub fn open(&self) -> Vec<Ruling> {
        report::Ran::of(self.judgement.study, &self.judgement.results).open(&self.judgement.verdicts)
    }

    /// Stores the report in a folder; `whole` is true if all cases have a run.
    pub fn keep(&self, out: &Path, whole: bool) -> Result<Stored> {
        keep(&self.document, out, whole)
    }

    /// Prints it; the study was given by this name or path.
    pub fn print(&self, wanted: &Wanted, study: &Path) -> Result<()> {
        let (printing, is_page) = (&wanted.printing, wanted.format() == Format::Html);
        let document = if printing.full || is_page { &self.document } else { &self.brief };
        if wanted.with_study {
            let below = attached::below_mail(study, &self.judgement.results)?;
            return printing.target.text(&(dyntick_report::mail(document) + &below));
        }
        printing.print(document, &Judged::of(&self.judgement))
    }
}

/// The report of cases that all have a run.
const WHOLE: &str = "report.html";
/// The report if a case has no run. It never replaces a complete report.
const INCOMPLETE: &str = "report-incomplete.html";
/// The timeline of a complete report.
const PICTURE: &str = "timeline.svg";

/// The path of a stored report.
pub struct Stored {
    path: PathBuf,
    /// An earlier report, of when all cases had a run.
    earlier: Option<PathBuf>,
}

impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match &self.earlier {
            Some(earlier) => write!(f, " (of an earlier, complete run: {})", earlier.display()),
            None => Ok(()),
        }
    }
}

/// The report that an earlier run has stored, if any.
pub fn stored(out: &Path) -> Option<Stored> {
    let [report, incomplete] =
        [WHOLE, INCOMPLETE].map(|name| out.join(name)).map(|path| path.is_file().then_some(path));
    match (report, incomplete) {
        // It is newer than the complete one, which would have removed it.
        (earlier, Some(path)) => Some(Stored { path, earlier }),
        (Some(path), None) => Some(Stored { path, earlier: None }),
        (None, None) => None,
    }
}

/// Stores the report as a page, and its timeline as a picture. Existing files are replaced and never written into: the
/// user did not type these names.
fn keep(document: &Document, out: &Path, whole: bool) -> Result<Stored> {
    dyntick_system::make_folders(out).with_context(|| format!("cannot make {}", out.display()))?;
    let [report, incomplete] = [WHOLE, INCOMPLETE].map(|name| out.join(name));
    let html = dyntick_report::html(document);
    if !whole {
        write(&incomplete, &html)?;
        let earlier = Some(report).filter(|report| report.is_file());
        return Ok(Stored { path: incomplete, earlier });
    }
    write(&report, &html)?;
    let picture = document.blocks.iter().find_map(|block| match block {
        Block::Timeline(timeline) => Some(dyntick_report::svg(timeline)),
        _ => None,
    });
    if let Some(picture) = picture {
        write(&out.join(PICTURE), &picture)?;
    }
    // It is of this study before what failed was put right.
    match std::fs::remove_file(&incomplete) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", incomplete.display()))
        }
        _ => Ok(Stored { path: report, earlier: None }),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let written = dyntick_system::write_unasked(path, |to| to.write_all(text.as_bytes()));
    written.map(|_| ()).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_report_does_not_replace_a_complete_one() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        let document = |title: &str| Document { title: title.into(), ..Document::default() };
        let text = |name: &str| std::fs::read_to_string(out.join(name)).unwrap_or_default();
        let stored = keep(&document("first"), out, false).unwrap();
        assert_eq!((stored.earlier, text(WHOLE)), (None, String::new()));
        keep(&document("second"), out, true).unwrap();
        assert!(text(WHOLE).contains("second") && !out.join(INCOMPLETE).exists());
        let stored = keep(&document("third"), out, false).unwrap();
        assert!(text(WHOLE).contains("second") && text(INCOMPLETE).contains("third"));
        assert!(stored.to_string().contains("report-incomplete.html (of an earlier, complete run: "));
    }
}
