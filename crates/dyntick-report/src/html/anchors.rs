// SPDX-License-Identifier: GPL-2.0-only
//! The references between the parts of a page: the ids of sections and claims, and the colours of causes.

use crate::palette::Colour;
use crate::{Block, Document};
use std::collections::{BTreeMap, BTreeSet};

/// The number of sections from which on a page has a list of contents.
const FEW: usize = 3;

/// The ids of a document's parts.
pub(super) struct Anchors<'a> {
    /// The id and the text of each heading, by the number of its block.
    headings: BTreeMap<usize, (String, &'a str)>,
    /// True if claims have their own sections.
    pub(super) has_verdicts: bool,
    /// The colours of the classes of all timelines.
    colours: BTreeMap<&'a str, Colour>,
}

impl<'a> Anchors<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        let mut taken = BTreeSet::new();
        let mut headings = BTreeMap::new();
        let mut colours = BTreeMap::new();
        for (number, block) in document.blocks.iter().enumerate() {
            match block {
                Block::Heading(text) => {
                    let id = unused(&mut taken, &slug(text));
                    headings.insert(number, (id, text.as_str()));
                }
                Block::Timeline(timeline) => {
                    let names = timeline.classes.iter().map(|(name, _)| name.as_str());
                    colours.extend(names.zip(timeline.legend().colours));
                }
                _ => {}
            }
        }
        let has_verdicts = document.blocks.iter().any(|block| matches!(block, Block::Verdicts(_)));
        Self { headings, has_verdicts, colours }
    }

    /// The id of the heading in this block.
    pub(super) fn heading(&self, block: usize) -> Option<&str> {
        self.headings.get(&block).map(|(id, _)| id.as_str())
    }

    /// All headings: ids and texts.
    pub(super) fn headings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headings.values().map(|(id, text)| (id.as_str(), *text))
    }

    /// Returns true if the list of contents is before this block: the first heading, below the result.
    pub(super) fn contents_before(&self, block: usize) -> bool {
        self.headings.len() >= FEW && self.headings.keys().next() == Some(&block)
    }

    /// The colour of a class in timelines.
    pub(super) fn colour(&self, class: &str) -> Option<Colour> {
        self.colours.get(class).copied()
    }
}

/// A text as an id: its letters and digits, with hyphens for other characters.
fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = text.chars().take(60).map(plain).collect();
    let words: Vec<&str> = text.split('-').filter(|word| !word.is_empty()).collect();
    // Ids of claims have another prefix, so they cannot clash.
    format!("s-{}", words.join("-"))
}

fn unused(taken: &mut BTreeSet<String>, wanted: &str) -> String {
    let numbered = (2..).map(|number| format!("{wanted}-{number}"));
    let id =
        std::iter::once(wanted.to_owned()).chain(numbered).find(|id| !taken.contains(id)).unwrap_or_default();
    taken.insert(id.clone());
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_and_unique() {
        let heading = |text: &str| Block::Heading(text.into());
        let blocks = vec![heading("What \"each\" option does"), heading("µs"), heading("ns"), heading("<>")];
        let document = Document { blocks, ..Document::default() };
        let anchors = Anchors::of(&document);
        let ids: Vec<&str> = anchors.headings().map(|(id, _)| id).collect();
        assert_eq!(ids, ["s-what-each-option-does", "s-s", "s-ns", "s-"]);
        let twice = Document { blocks: vec![heading("a"), heading("a")], ..Document::default() };
        assert_eq!(Anchors::of(&twice).heading(1), Some("s-a-2"));
        assert!(anchors.contents_before(0) && !anchors.contents_before(1));
    }
}
