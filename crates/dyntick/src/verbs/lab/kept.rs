// SPDX-License-Identifier: GPL-2.0-only
//! The files of a study's report.

use anyhow::{Context, Result};
use dyntick_report::{Block, Document};
use std::fmt;
use std::path::{Path, PathBuf};

/// The report of cases that all have a run.
const WHOLE: &str = "report.html";
/// The report if a case has no run. It never replaces a complete report.
const INCOMPLETE: &str = "report-incomplete.html";
/// The timeline of a complete report.
const PICTURE: &str = "timeline.svg";

/// The path of a stored report.
pub struct Place {
    path: PathBuf,
    /// An earlier report, of when all cases had a run.
    earlier: Option<PathBuf>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match &self.earlier {
            Some(earlier) => write!(f, " (of an earlier, complete run: {})", earlier.display()),
            None => Ok(()),
        }
    }
}

/// Stores the report as a page, and its timeline as a picture. Existing files are replaced and never written into: the
/// user did not type these names.
pub fn keep(document: &Document, out: &Path, whole: bool) -> Result<Place> {
    dyntick_system::make_folders(out).with_context(|| format!("cannot make {}", out.display()))?;
    let [report, incomplete] = [WHOLE, INCOMPLETE].map(|name| out.join(name));
    let html = dyntick_report::html(document);
    if !whole {
        write(&incomplete, &html)?;
        let earlier = Some(report).filter(|report| report.is_file());
        return Ok(Place { path: incomplete, earlier });
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
        _ => Ok(Place { path: report, earlier: None }),
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
        let place = keep(&document("first"), out, false).unwrap();
        assert_eq!((place.earlier, text(WHOLE)), (None, String::new()));
        keep(&document("second"), out, true).unwrap();
        assert!(text(WHOLE).contains("second") && !out.join(INCOMPLETE).exists());
        let place = keep(&document("third"), out, false).unwrap();
        assert!(text(WHOLE).contains("second") && text(INCOMPLETE).contains("third"));
        assert!(place.to_string().contains("report-incomplete.html (of an earlier, complete run: "));
    }
}
