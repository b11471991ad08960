// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::{Block, Column, Failure, Finding, Origin, Ruling, Table, Verdict, row};
use dyntick_model::Fix;
use sha2::{Digest, Sha256};

/// A page without its own script, as text.
fn texts(document: &Document) -> String {
    html(document).replace(SCRIPT, "")
}

#[test]
fn hostile_texts_stay_texts() {
    let evil = "<script>alert(1)</script>\"&";
    let mut document = Document { title: evil.into(), question: evil.into(), ..Document::default() };
    let verdict = Verdict {
        published: true,
        agreement: String::new(),
        claim: evil.into(),
        rulings: vec![(evil.into(), Ruling::Reproduced), ("b".into(), Ruling::NotRun)],
        rests_on: evil.into(),
        evidence: vec![evil.into()],
        unknown: Vec::new(),
        failed: Vec::new(),
        lacking: Vec::new(),
        comment: evil.into(),
    };
    let finding = Finding {
        title: evil.into(),
        fixes: vec![(Fix::Command(evil.into()), evil.into()), (Fix::Boot(evil.into()), evil.into())],
        ..Finding::default()
    };
    document.blocks = vec![
        Block::Scores(vec![verdict.clone()]),
        Block::Heading(evil.into()),
        Block::Table(Table {
            columns: vec![Column::text(evil)],
            rows: vec![row![evil]],
            caption: evil.into(),
            notes: vec![evil.into()],
        }),
        Block::Verdicts(vec![verdict]),
        Block::Findings(vec![finding]),
        Block::Failures(vec![Failure { name: evil.into(), reason: evil.into(), console: vec![evil.into()] }]),
        Block::Details(evil.into(), vec![Block::Pairs(vec![(evil.into(), evil.into())])]),
    ];
    document.origin = Some(Origin { command: evil.into(), program: evil.into() });
    let page = texts(&document);
    assert_eq!(page.matches("<script").count(), 1, "its own: {page}");
    assert!(page.contains("&lt;script&gt;"), "{page}");
    assert_eq!(page, texts(&document), "the same document gives the same bytes");
}

#[test]
fn control_characters_are_removed() {
    let evil = "a\u{1b}]0;x\u{7}\u{9b}\u{7f}\u{202e}b";
    let failure = Failure { name: evil.into(), reason: evil.into(), console: vec![evil.into()] };
    let blocks = vec![Block::Failures(vec![failure]), Block::Paragraph(evil.into())];
    let page = html(&Document { title: evil.into(), blocks, ..Document::default() });
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "{page:?}");
    assert!(!page.contains('\u{202e}') && page.contains("a\u{fffd}]0;x"), "{page}");
}

#[test]
fn page_loads_nothing() {
    let page = html(&Document::default()).replace("http://www.w3.org/2000/svg", "");
    for word in ["http://", "https://", "src=", "@import", "url(", "import(", "fetch("] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn policy_allows_only_this_script() {
    // The content between the tags, as the browser gets it.
    assert_eq!(clean(SCRIPT), SCRIPT, "a script with a tab would come out as another one");
    let hash = base64(&Sha256::digest(SCRIPT));
    assert!(POLICY.contains(&format!("'sha256-{hash}'")), "after a change of page.js: sha256-{hash}");
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let bits =
            three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        let sign = |at: usize| {
            if at <= three.len() { char::from(SIGNS[(bits >> (18 - 6 * at) & 63) as usize]) } else { '=' }
        };
        (0..4).map(sign).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

#[test]
fn claim_is_marked_and_linked() {
    let verdict = |ruling| Verdict {
        published: true,
        agreement: String::new(),
        claim: "It ticks.".into(),
        rulings: vec![(String::new(), ruling)],
        rests_on: String::new(),
        evidence: Vec::new(),
        unknown: Vec::new(),
        failed: Vec::new(),
        lacking: Vec::new(),
        comment: String::new(),
    };
    let verdicts = vec![verdict(Ruling::Reproduced), verdict(Ruling::NotRun)];
    let blocks = vec![Block::Scores(verdicts.clone()), Block::Verdicts(verdicts)];
    let page = html(&Document { blocks, ..Document::default() });
    assert!(page.contains("1 of 1 claim reproduced, 1 more not run"), "{page}");
    assert!(page.contains("<a href=\"#claim-2\">It ticks.</a>") && page.contains("id=\"claim-2\""), "{page}");
}
