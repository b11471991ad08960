// SPDX-License-Identifier: GPL-2.0-only
//! The English of comments and pages: words that docs/src/glossary.md refuses, and openings that CONTRIBUTING.md
//! refuses.

use super::{files, root};
use std::collections::BTreeSet;
use std::path::Path;

/// First words of a doc comment that make a clause of it.
const OPENINGS: [&str; 11] =
    ["What", "Who", "Whose", "How", "Of", "Where", "Whether", "Which", "Those", "So", "Why"];

/// The words of the glossary's third column that are refused everywhere. Others are refused in one sense only, which
/// no test can see.
fn refused() -> BTreeSet<String> {
    let glossary = std::fs::read_to_string(root().join("docs/src/glossary.md")).unwrap();
    let table = glossary.split("\n## ").next().unwrap();
    let mut words = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(2) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let quoted = cells[3].split('`').skip(1).step_by(2);
        words.extend(quoted.map(str::to_owned));
    }
    words
}

/// A text's words in lower case, with one blank before and after each.
fn spaced(text: &str) -> String {
    let letters = |c: char| if c.is_alphanumeric() || c == '\'' { c.to_ascii_lowercase() } else { ' ' };
    let words: String = text.chars().map(letters).collect();
    format!(" {} ", words.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn refused_word<'a>(text: &str, refused: &'a BTreeSet<String>) -> Option<&'a str> {
    // What stands between backticks is code.
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let spaced = spaced(&prose);
    refused.iter().map(String::as_str).find(|word| spaced.contains(&format!(" {word} ")))
}

#[test]
fn comments_use_the_glossary_and_open_with_a_noun_or_a_verb() {
    let refused = refused();
    assert!(refused.len() > 5, "{refused:?}");
    let mut found = Vec::new();
    let crates = std::fs::read_dir(root().join("crates")).unwrap().flatten();
    for file in crates.flat_map(|entry| files(&entry.path().join("src"), "rs")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut within = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let doc = line.strip_prefix("///").or(line.strip_prefix("//!"));
            let opening = doc.filter(|_| !within).and_then(|doc| doc.split_whitespace().next());
            within = doc.is_some();
            let place = || format!("{}:{}", file.strip_prefix(root()).unwrap().display(), number + 1);
            if let Some(word) = opening.filter(|word| OPENINGS.contains(word)) {
                found.push(format!("{}: a comment opens with {word}", place()));
            }
            if let Some(word) = line.strip_prefix("//").and_then(|comment| refused_word(comment, &refused)) {
                found.push(format!("{}: '{word}' is refused by the glossary", place()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn pages_use_the_glossary() {
    let refused = refused();
    let mut found = Vec::new();
    let mut pages = files(&root().join("docs/src"), "md");
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md"].map(|name| root().join(name)),
    );
    for page in pages.iter().filter(|page| !page.ends_with(Path::new("glossary.md"))) {
        let text = std::fs::read_to_string(page).unwrap();
        let mut is_code = false;
        for (number, line) in text.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            if let Some(word) = refused_word(line, &refused).filter(|_| !is_code) {
                let page = page.strip_prefix(root()).unwrap().display();
                found.push(format!("{page}:{}: '{word}' is refused by the glossary", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
