// SPDX-License-Identifier: GPL-2.0-only
//! Kernel command lines.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A kernel command line as a list of parameters, in order. Quotes group words as in
/// `lib/cmdline.c: next_arg`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// Splits a text into its parameters.
    pub fn parse(text: &str) -> Self {
        let mut parameters = Vec::new();
        let mut current = String::new();
        let mut quoted = false;
        for c in text.chars() {
            quoted ^= c == '"';
            if c.is_whitespace() && !quoted {
                parameters.extend((!current.is_empty()).then(|| std::mem::take(&mut current)));
            } else {
                current.push(c);
            }
        }
        parameters.extend((!current.is_empty()).then_some(current));
        Self(parameters)
    }

    /// The value of the last parameter of this name: `Some("")` for a flag without value.
    /// The kernel takes `-` and `_` in names as the same.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find_map(|parameter| {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (key.replace('-', "_") == name.replace('-', "_")).then(|| value.trim_matches('"'))
        })
    }

    /// Adds the parameters of `other` behind those of `self`.
    pub fn extend(&mut self, other: &CommandLine) {
        self.0.extend(other.0.iter().cloned());
    }

    /// The parameters as written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

impl From<CommandLine> for String {
    fn from(line: CommandLine) -> String {
        line.to_string()
    }
}

impl From<String> for CommandLine {
    fn from(text: String) -> Self {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_one_wins_and_dashes_are_underscores() {
        let line = CommandLine::parse("quiet nohz_full=1 dyndbg=\"a b\" nohz-full=2-3");
        assert_eq!(line.get("nohz_full"), Some("2-3"));
        assert_eq!(line.get("quiet"), Some(""));
        assert_eq!(line.get("dyndbg"), Some("a b"));
        assert_eq!(line.get("isolcpus"), None);
    }
}
