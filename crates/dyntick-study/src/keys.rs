// SPDX-License-Identifier: GPL-2.0-only
//! The keys of study and machine files: what each is called, what its value is, and what it means.

pub mod claims;
pub mod machine;
pub mod study;

/// The type of a key's value.
#[derive(Clone, Copy)]
pub enum Value {
    /// A text.
    Text,
    /// A text, or a number as it is written.
    TextOrNumber,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// One text, or a list of them.
    TextOrTexts,
    /// An integer from the first to the second.
    Number(u32, u32),
    /// A number, with or without a fraction.
    Decimal,
    /// `true` or `false`.
    Switch,
    /// A duration, as `"10ms"`.
    Duration,
    /// A size, as `"512M"`.
    Size,
    /// CPUs: a list in quotes, or one number.
    Cpus,
    /// Names with what is written into their files.
    Settings,
    /// Names with a text each.
    Sources,
    /// The work of a task: built-in, or a program with its arguments.
    Work,
    /// Axes with their values.
    Matrix,
    /// Points of a distribution.
    Quantiles,
    /// Whatever another key says.
    Any,
    /// A table.
    Inner(&'static Table),
    /// A list of tables.
    Tables(&'static Table),
    /// Tables by a name of the file's own.
    Named(&'static Table),
}

/// A key.
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// The type of its value.
    pub value: Value,
    /// True if the key is required.
    pub is_required: bool,
    /// The default, as in the book: a value in backquotes, or words.
    pub default: Option<&'static str>,
    /// The description.
    pub text: &'static str,
}

/// The keys that a table may have.
pub struct Table {
    /// The name of its schema.
    pub name: &'static str,
    parts: &'static [&'static [Key]],
}

impl Key {
    const fn optional(name: &'static str, value: Value, text: &'static str) -> Self {
        Self { name, value, is_required: false, default: None, text }
    }

    const fn required(name: &'static str, value: Value, text: &'static str) -> Self {
        Self { name, value, is_required: true, default: None, text }
    }

    const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }
}

impl Table {
    const fn new(name: &'static str, parts: &'static [&'static [Key]]) -> Self {
        Self { name, parts }
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.parts.iter().copied().flatten()
    }

    /// Their names.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys().map(|key| key.name).collect()
    }
}
