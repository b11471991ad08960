// SPDX-License-Identifier: GPL-2.0-only
//! The problems in a file, each with its position and line.

mod excerpt;

use dyntick_model::text::{beginning, shortened};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// One thing that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The problem and its remedy.
    pub message: String,
    /// The line with a marker under the wrong part; empty if the problem is not in one line.
    pub excerpt: String,
    /// The flag, if the problem is on the command line and not in a file.
    pub flag: Option<String>,
}

/// All problems in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    /// The file.
    pub path: PathBuf,
    /// The problems, in the order of the file.
    pub problems: Vec<Problem>,
    /// The number of further problems.
    pub more: usize,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(|_| "").trim_end_matches('\n'))
    }
}

impl Problems {
    /// Each problem with the line that it is in, and a marker under the wrong part. Every problem begins with
    /// `FILE:LINE:COLUMN: `, as compilers print it, so that editors find them.
    pub fn annotated(&self) -> String {
        self.text(|problem| &problem.excerpt)
    }

    fn text<'a>(&'a self, after: impl Fn(&'a Problem) -> &'a str) -> String {
        let (mut text, path) = (String::new(), self.path.display());
        for problem in &self.problems {
            let Problem { line, column, message, flag, .. } = problem;
            let _ = match flag {
                Some(flag) => writeln!(text, "{flag}: {message}"),
                None => writeln!(text, "{path}:{line}:{column}: {message}"),
            };
            text += after(problem);
        }
        if self.more > 0 {
            let _ = writeln!(text, "{path}: and {} more problems", self.more);
        }
        text
    }
}

/// The largest number of problems: a file with more is of another kind, or made to annoy.
const MOST_PROBLEMS: usize = 100;

/// A message quotes keys and values, which may have any length.
const LONGEST_MESSAGE: usize = 1000;

/// The problems noted so far: begin, end if known, and message. Each is kept once, since a value that several cases
/// share is read for each of them.
#[derive(Default)]
pub struct Noted {
    problems: BTreeSet<(usize, Option<usize>, String)>,
    /// The number of problems beyond those that are kept.
    more: usize,
}

impl Noted {
    /// Notes a problem.
    pub fn add(&mut self, at: usize, end: Option<usize>, message: &str) {
        let is_new = self.problems.insert((at, end, shortened(message, LONGEST_MESSAGE)));
        // Of too many, the first in the file are kept: what comes later often follows from them.
        if is_new && self.problems.len() > MOST_PROBLEMS {
            self.problems.pop_last();
            self.more += 1;
        }
    }

    /// Returns true if there are no problems.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// The problems of this file, whose text was read as this table; its last lines came by `flags`.
    pub fn problems(
        &self,
        path: &Path,
        text: &str,
        flags: &[Option<String>],
        root: &DeTable<'_>,
    ) -> Problems {
        let lines: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut ends = BTreeMap::new();
        if self.problems.iter().any(|(_, end, _)| end.is_none()) {
            ends_of(root, &mut ends);
        }
        let problem = |(at, end, message): &(usize, Option<usize>, String)| {
            // The parser's places are between characters; of one that is not, the character is marked.
            let at = beginning(text, *at).len();
            let line = lines.partition_point(|begin| *begin <= at);
            let begin = lines[line - 1];
            let of_line = text[begin..].lines().next().unwrap_or_default();
            let end = end.or_else(|| ends.get(&at).copied());
            let of_file = lines.len() - flags.len().min(lines.len());
            let flag = (line - 1).checked_sub(of_file).and_then(|number| flags.get(number)?.clone());
            let excerpt = match end {
                Some(end) if flag.is_none() => {
                    excerpt::excerpt(of_line, line, within(of_line, at - begin, end.max(at) - begin))
                }
                _ => String::new(),
            };
            let column = 1 + text[begin..at].chars().count();
            Problem { line, column, message: message.clone(), excerpt, flag }
        };
        Problems {
            path: path.to_owned(),
            problems: self.problems.iter().map(problem).collect(),
            more: self.more,
        }
    }
}

/// The marked part of a line; of a value with several lines only the first is marked.
fn within(line: &str, begin: usize, end: usize) -> Range<usize> {
    let begin = begin.min(line.len());
    begin..beginning(line, end).trim_end().len().max(begin)
}

/// Collects the ends of keys and values, by their begins. A value that begins with its key, e.g. a table opened by a
/// header, is marked as the key.
fn ends_of(table: &DeTable<'_>, ends: &mut BTreeMap<usize, usize>) {
    for (key, value) in table {
        value_ends(value, ends);
        ends.insert(key.span().start, key.span().end);
    }
}

fn value_ends(value: &super::Value<'_>, ends: &mut BTreeMap<usize, usize>) {
    ends.insert(value.span().start, value.span().end);
    match value.get_ref() {
        DeValue::Array(all) => all.iter().for_each(|one| value_ends(one, ends)),
        DeValue::Table(table) => ends_of(table, ends),
        _ => {}
    }
}
