// SPDX-License-Identifier: GPL-2.0-only
//! Reading TOML tables with an eye on the user: what is wrong is reported with its place and the
//! nearest right key, and all of it at once.
//!
//! The parser is the `toml` crate's own `DeTable`: it keeps the place of every key and value,
//! goes on after a syntax error, and is a dependency already. Serde would end at the first
//! problem and knows no nearest key.

mod plain;
mod problems;

pub use problems::{Problem, Problems};

use crate::keys::Table;
use dyntick_model::CpuList;
use dyntick_model::text::{known_words, nearest};
use problems::Noted;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file being read, and what was found wrong so far.
pub struct Source<'a> {
    path: &'a Path,
    text: &'a str,
    /// The flags of the last lines, one or `None` for each; empty if all lines are from a file.
    flags: Vec<Option<String>>,
    /// The problems so far.
    noted: RefCell<Noted>,
    /// The size of the other files that were read for it, bytes.
    brought: Cell<usize>,
}

/// The limit of the files that the cases of a study bring into their guests together, bytes; each keeps its own copy.
const MOST_BROUGHT: usize = 8 << 20;

/// A list of tables, as of cases, claims and published figures, has no more: each of them is asked of each run.
const MOST_SECTIONS: usize = 1000;

/// Reads a file's text: `read` makes of its root table what the file describes, and notes in the source
/// what is wrong. What a broken text was meant to say is not guessed at.
pub fn read<T>(
    path: &Path,
    text: &str,
    name: &'static str,
    read: impl FnOnce(Section<'_, '_, '_>) -> T,
) -> Result<T, Problems> {
    read_lines(path, text, Vec::new(), name, read)
}

/// The same of a text whose last lines, one for each of `flags`, came by the command line.
pub fn read_lines<T>(
    path: &Path,
    text: &str,
    flags: Vec<Option<String>>,
    name: &'static str,
    read: impl FnOnce(Section<'_, '_, '_>) -> T,
) -> Result<T, Problems> {
    let source = Source { path, text, flags, noted: RefCell::default(), brought: Cell::default() };
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        for error in errors {
            let place = error.span().unwrap_or(0..0);
            source.noted.borrow_mut().add(place.start.min(text.len()), Some(place.end), error.message());
        }
        return Err(source.problems(root.get_ref()));
    }
    plain::check(&source, root.get_ref());
    let described = read(Section { source: &source, name, at: 0, table: root.get_ref() });
    let is_right = source.noted.borrow().is_empty();
    if is_right { Ok(described) } else { Err(source.problems(root.get_ref())) }
}

/// A value with its place.
pub type Value<'a> = Spanned<DeValue<'a>>;

impl<'a> Source<'a> {
    /// The folder that it is in.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// The size of the file's text, bytes.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Counts the bytes of another file; returns false if they exceed the limit.
    pub fn bring(&self, bytes: usize) -> bool {
        self.brought.set(self.brought.get().saturating_add(bytes));
        self.brought.get() <= MOST_BROUGHT
    }

    /// Notes a problem at a byte of the file.
    pub fn problem(&self, at: usize, message: impl Into<String>) {
        self.noted.borrow_mut().add(at.min(self.text.len()), None, &message.into());
    }

    /// All problems.
    fn problems(&self, root: &DeTable<'_>) -> Problems {
        self.noted.borrow().problems(self.path, self.text, &self.flags, root)
    }

    /// The value as a text.
    pub fn text(&self, key: &str, value: &Value<'_>) -> Option<String> {
        self.expect(key, value, "a string in quotes", value.get_ref().as_str().map(str::to_owned))
    }

    /// The value as a text, or a number as it is written.
    pub fn text_or_number(&self, key: &str, value: &Value<'_>) -> Option<String> {
        let text = match value.get_ref() {
            DeValue::Integer(_) => integer(value).map(|number| number.to_string()),
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            other => other.as_str().map(str::to_owned),
        };
        self.expect(key, value, "a string in quotes or a number", text)
    }

    /// The value as an integer in this range.
    pub fn number(&self, key: &str, value: &Value<'_>, range: RangeInclusive<u32>) -> Option<u32> {
        let number = self.expect(key, value, "an integer", integer(value))?;
        let fitting = u32::try_from(number).ok().filter(|number| range.contains(number));
        if fitting.is_none() {
            let message = format!("{key}: {number} is not from {} to {}", range.start(), range.end());
            self.problem(value.span().start, message);
        }
        fitting
    }

    /// The value as a number, with or without a fraction.
    pub fn decimal(&self, key: &str, value: &Value<'_>) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::Integer(_) => integer(value).map(|number| number as f64),
            DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        self.expect(key, value, "a number", number.filter(|number: &f64| number.is_finite()))
    }

    /// The value as `true` or `false`.
    pub fn switch(&self, key: &str, value: &Value<'_>) -> Option<bool> {
        self.expect(key, value, "true or false", value.get_ref().as_bool())
    }

    /// The value as a set of CPUs: a cpulist in quotes, or one number.
    pub fn cpus(&self, key: &str, value: &Value<'_>) -> Option<CpuList> {
        let text = self.text_or_number(key, value)?;
        self.try_value(key, value, text.parse())
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

/// A table with its name and place.
#[derive(Clone, Copy)]
pub struct Section<'s, 'v, 't> {
    /// The file.
    pub source: &'s Source<'s>,
    /// The name in messages, e.g. `[[case]]`.
    pub name: &'static str,
    /// The beginning, as a byte offset.
    pub at: usize,
    /// The keys and values.
    pub table: &'v DeTable<'t>,
}

impl<'s, 'v, 't> Section<'s, 'v, 't> {
    /// The value of this key, if it is a table.
    pub fn of(source: &'s Source<'s>, name: &'static str, key: &str, value: &'v Value<'t>) -> Option<Self> {
        source.table(key, value).map(|table| Self { source, name, at: value.span().start, table })
    }

    /// Refuses keys that are not of this table.
    pub fn only(&self, table: &Table) -> Self {
        let known = &table.names()[..];
        for key in self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let message =
                format!("unknown key '{}' in {}; {}", key.get_ref(), self.name, hint(key.get_ref(), known));
            self.source.problem(key.span().start, message);
        }
        *self
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'v Value<'t>> {
        self.table.get(key)
    }

    /// The value of a key that must be there.
    pub fn required(&self, key: &str) -> Option<&'v Value<'t>> {
        let value = self.get(key);
        if value.is_none() {
            self.source.problem(self.at, format!("{} has no '{key}'", self.name));
        }
        value
    }

    /// A text that may be there.
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(|value| self.source.text(key, value))
    }

    /// A text that must be there.
    pub fn required_text(&self, key: &str) -> Option<String> {
        self.required(key).and_then(|value| self.source.text(key, value))
    }

    /// A table in this one.
    pub fn section(&self, key: &str, name: &'static str) -> Option<Self> {
        Section::of(self.source, name, key, self.get(key)?)
    }

    /// A list of tables (`[[key]]`) in this one; empty where it is not there.
    pub fn sections(&self, key: &str, name: &'static str) -> Vec<Self> {
        self.get(key).map_or(Vec::new(), |value| sections(self.source, name, key, value))
    }
}

/// A list of tables; nothing that a person writes has more than [`MOST_SECTIONS`].
pub fn sections<'s, 'v, 't>(
    source: &'s Source<'s>,
    name: &'static str,
    key: &str,
    value: &'v Value<'t>,
) -> Vec<Section<'s, 'v, 't>> {
    let mut list = source.list(key, value).unwrap_or_default();
    if list.len() > MOST_SECTIONS {
        let message = format!("{key}: {} tables, and a list has at most {MOST_SECTIONS}", list.len());
        source.problem(value.span().start, message);
        list.truncate(MOST_SECTIONS);
    }
    list.into_iter().filter_map(|item| Section::of(source, name, key, item)).collect()
}

/// An integer in any base.
pub fn integer(value: &Value<'_>) -> Option<i64> {
    let number = value.get_ref().as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Words that people write as keys and that belong into the value of another key.
const BELONGS_INTO: [(&str, &str, &str); 10] = [
    ("isolcpus", "append", "kernel parameter"),
    ("nohz", "append", "kernel parameter"),
    ("nohz_full", "append", "kernel parameter"),
    ("rcu_nocbs", "append", "kernel parameter"),
    ("rcutree", "append", "kernel parameter"),
    ("irqaffinity", "append", "kernel parameter"),
    ("mitigations", "append", "kernel parameter"),
    ("vm", "sysctl", "sysctl"),
    ("net", "sysctl", "sysctl"),
    ("fs", "sysctl", "sysctl"),
];

fn hint(word: &str, known: &[&str]) -> String {
    let elsewhere = BELONGS_INTO.iter().filter(|(_, key, _)| known.contains(key));
    let words: Vec<&str> = known.iter().copied().chain(elsewhere.map(|(word, ..)| *word)).collect();
    let Some(right) = nearest(word, &words) else {
        return format!("known are {}", known_words(word, known, "the chapter Study files"));
    };
    match BELONGS_INTO.iter().find(|(word, ..)| *word == right && !known.contains(word)) {
        Some((word, key, what)) => format!("did you mean '{key}'? A {what} such as {word} goes there"),
        None => format!("did you mean '{right}'?"),
    }
}
