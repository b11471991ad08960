// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use dyntick_report::{Ruling, html, mail, terminal};
use dyntick_study::{Size, shipped};
use std::path::Path;
use std::sync::Arc;

/// The reports of a study of which nothing was run.
fn nothing_run(name: &str, page: &Page<'_>) -> (Document, Document) {
    let study = shipped::find(Path::new(name), Size::Scaled).unwrap();
    let results: Vec<CaseResult> = study
        .cases
        .iter()
        .map(|case| CaseResult { case: Arc::new(case.clone()), repetition: 0, run: Err(LabError::NotRun) })
        .collect();
    documents(&Judgement::of(&study, results), page)
}

fn mail_lines(document: &Document) -> usize {
    mail(document).lines().count()
}

const MAIL: Page<'static> = Page { lines: 40, width: 72, height: &mail_lines, is_mail: true };

#[test]
fn not_run_is_not_inconclusive() {
    let (document, brief) = nothing_run("adaptive-ticks", &MAIL);
    let Some(Block::Scores(verdicts)) = document.blocks.first() else { panic!("{:?}", document.blocks) };
    assert!(verdicts.len() > 5);
    for verdict in verdicts {
        assert!(verdict.rulings.iter().all(|(_, ruling)| *ruling == Ruling::NotRun), "{verdict:?}");
    }
    for text in [html(&document), mail(&document), mail(&brief)] {
        assert!(text.contains("Repeat with") && text.contains("not run"), "{text}");
        assert!(!text.contains("inconclusive") && !text.contains("Failed runs"), "{text}");
    }
}

#[test]
fn short_reports_fit_on_their_pages() {
    for name in shipped::names() {
        let (long, short) = nothing_run(name, &MAIL);
        assert!(mail_lines(&short) <= 40, "{}", mail(&short));
        assert!(html(&long).contains("Answer: none: no case has a complete run."), "{name}");
        for width in [80, 100] {
            let height = |document: &Document| terminal(document, width, false).lines().count();
            let (_, short) = nothing_run(name, &Page { lines: 22, width, height: &height, is_mail: false });
            let text = terminal(&short, width, false);
            assert!(height(&short) <= 22 && text.contains("asked") && text.contains("Incomplete"), "{text}");
        }
    }
}
