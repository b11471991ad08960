// SPDX-License-Identifier: GPL-2.0-only
//! The files that were read of a machine, by their path.

use glob::{MatchOptions, Pattern};
use std::collections::BTreeMap;

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Its text.
    Text(String),
    /// Permission was denied. For a pattern of paths: for at least one of its files.
    Denied,
    /// It could not be read for another reason.
    Failed(String),
}

/// The files of one machine at one moment. A file that does not exist is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<String, Content>);

impl Snapshot {
    /// Adds a file, or a pattern that could not be read.
    pub fn insert(&mut self, path: impl Into<String>, content: Content) {
        self.0.insert(path.into(), content);
    }

    /// The text of a file that was read.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.0.get(path) {
            Some(Content::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The complete content, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Content)> {
        self.0.iter().map(|(path, content)| (path.as_str(), content))
    }

    /// The files whose path matches a pattern, in which `*` matches any part of one name.
    pub fn matching<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let fixed = pattern.split_once('*').map_or(pattern, |(before, _)| before);
        let matches = matcher(pattern);
        self.0
            .range(fixed.to_owned()..)
            .take_while(move |(path, _)| path.starts_with(fixed))
            .filter(move |(path, _)| matches(path))
            .filter_map(|(path, content)| match content {
                Content::Text(text) => Some((path.as_str(), text.as_str())),
                _ => None,
            })
    }

    /// The paths and patterns that existed and could not be read.
    pub fn unread(&self) -> impl Iterator<Item = (&str, &Content)> {
        self.iter().filter(|(_, content)| !matches!(content, Content::Text(_)))
    }
}

/// Matches the paths, and the patterns noted as unreadable, that belong to a pattern.
pub(crate) fn matcher(pattern: &str) -> impl Fn(&str) -> bool + '_ {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let compiled = Pattern::new(pattern).ok();
    move |path| {
        path == pattern || compiled.as_ref().is_some_and(|compiled| compiled.matches_with(path, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_part_of_one_name() {
        let mut files = Snapshot::default();
        for path in ["/proc/irq/1/x", "/proc/irq/12/x", "/proc/irq/1/2/x", "/proc/irqs"] {
            files.insert(path, Content::Text(path.to_owned()));
        }
        files.insert("/proc/irq/3/x", Content::Denied);
        let paths: Vec<&str> = files.matching("/proc/irq/*/x").map(|(path, _)| path).collect();
        assert_eq!(paths, ["/proc/irq/1/x", "/proc/irq/12/x"]);
        assert_eq!(files.unread().count(), 1);
    }
}
