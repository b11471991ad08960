// SPDX-License-Identifier: GPL-2.0-only
//! Reading TOML tables with an eye on the user: what is wrong is told with its place and the
//! nearest right key, and all of it at once.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One thing that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong and how to mend it.
    pub message: String,
}

/// All that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for Problem { line, column, message } in &self.problems {
            write!(f, "{separator}{}:{line}:{column}: {message}", self.path.display())?;
            separator = "\n";
        }
        Ok(())
    }
}

/// A file being read, and what was found wrong so far.
pub struct Source<'a> {
    path: &'a Path,
    text: &'a str,
    problems: RefCell<Vec<Problem>>,
}

/// A value with its place.
pub type Value<'a> = Spanned<DeValue<'a>>;

impl<'a> Source<'a> {
    /// A file that was read.
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        Self { path, text, problems: RefCell::default() }
    }

    /// Notes a problem at a byte of the file.
    pub fn problem(&self, at: usize, message: impl Into<String>) {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        self.problems.borrow_mut().push(Problem { line, column, message: message.into() });
    }

    /// `Ok` if nothing was wrong.
    pub fn finish(self) -> Result<(), Problems> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems.dedup();
        if problems.is_empty() { Ok(()) } else { Err(Problems { path: self.path.to_owned(), problems }) }
    }

    /// Refuses keys that are not among `known`.
    pub fn only(&self, table: &DeTable<'_>, name: &str, known: &[&str]) {
        for key in table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let hint = match nearest(key.get_ref(), known) {
                Some(right) => format!("did you mean '{right}'?"),
                None => format!("known are {}", known.join(", ")),
            };
            self.problem(key.span().start, format!("unknown key '{}' in {name}; {hint}", key.get_ref()));
        }
    }

    /// The value as a text.
    pub fn text(&self, key: &str, value: &Value<'_>) -> Option<String> {
        self.expect(key, value, "a text in quotes", value.get_ref().as_str().map(str::to_owned))
    }

    /// The value as a whole number from 0 on.
    pub fn number(&self, key: &str, value: &Value<'_>) -> Option<u64> {
        let number =
            value.get_ref().as_integer().and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
        self.expect(key, value, "a whole number", number)
    }

    /// The value as a list.
    pub fn list<'v, 't>(&self, key: &str, value: &'v Value<'t>) -> Option<Vec<&'v Value<'t>>> {
        self.expect(key, value, "a list", value.get_ref().as_array().map(|list| list.iter().collect()))
    }

    /// The value as a list of texts.
    pub fn texts(&self, key: &str, value: &Value<'_>) -> Option<Vec<String>> {
        self.list(key, value)?.into_iter().map(|item| self.text(key, item)).collect()
    }

    /// The value as a table.
    pub fn table<'v, 't>(&self, key: &str, value: &'v Value<'t>) -> Option<&'v DeTable<'t>> {
        self.expect(key, value, "a table", value.get_ref().as_table())
    }

    /// The tables of a list of tables (`[[key]]`).
    pub fn tables<'v, 't>(&self, key: &str, value: &'v Value<'t>) -> Vec<&'v DeTable<'t>> {
        let list = self.list(key, value).unwrap_or_default();
        list.into_iter().filter_map(|item| self.table(key, item)).collect()
    }

    /// A text that is parsed further.
    pub fn parse<T: std::str::FromStr<Err: fmt::Display>>(&self, key: &str, value: &Value<'_>) -> Option<T> {
        let text = self.text(key, value)?;
        self.try_value(key, value, text.parse())
    }

    /// Notes the error, if it is one.
    pub fn try_value<T, E: fmt::Display>(
        &self,
        key: &str,
        value: &Value<'_>,
        result: Result<T, E>,
    ) -> Option<T> {
        result.map_err(|error| self.problem(value.span().start, format!("{key}: {error}"))).ok()
    }

    fn expect<T>(&self, key: &str, value: &Value<'_>, wanted: &str, found: Option<T>) -> Option<T> {
        if found.is_none() {
            let message = format!("'{key}' must be {wanted}, not {}", kind(value.get_ref()));
            self.problem(value.span().start, message);
        }
        found
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The known word that is most like this one, if any is like it at all.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    const LIKE_ENOUGH: f64 = 0.7;
    let likeness = |right: &&'a str| strsim::jaro_winkler(word, right);
    let best = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) >= LIKE_ENOUGH).then_some(best)
}
