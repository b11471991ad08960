// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_report::{Ruling, html, mail};
use dyntick_study::Study;
use std::path::Path;
use std::sync::Arc;

/// The report of a study of which nothing was run.
fn nothing_run() -> (Document, Document) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/adaptive-ticks.toml");
    let study = Study::load(&path).unwrap();
    let result = |case: &dyntick_study::Case| CaseResult {
        case: Arc::new(case.clone()),
        repetition: 0,
        run: Err(LabError::NotRun),
    };
    let results: Vec<CaseResult> = study.cases.iter().map(result).collect();
    documents(&Judgement::of(&study, results))
}

#[test]
fn not_run_is_not_inconclusive() {
    let (document, brief) = nothing_run();
    let Some(Block::Scores(verdicts)) = document.blocks.first() else { panic!("{:?}", document.blocks) };
    assert!(verdicts.len() > 5);
    for verdict in verdicts {
        assert!(verdict.rulings.iter().all(|(_, ruling)| *ruling == Ruling::NotRun), "{verdict:?}");
    }
    for text in [html(&document), mail(&document), mail(&brief)] {
        assert!(text.contains("To run what is missing") && text.contains("not run"), "{text}");
        assert!(!text.contains("inconclusive") && !text.contains("Failed runs"), "{text}");
    }
}

#[test]
fn the_brief_mail_is_short() {
    let (_, brief) = nothing_run();
    let lines = mail(&brief).lines().count();
    assert!((15..=40).contains(&lines), "{lines} lines:\n{}", mail(&brief));
}
