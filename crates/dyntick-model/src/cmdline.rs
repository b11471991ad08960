// SPDX-License-Identifier: GPL-2.0-only
//! Kernel command lines.

use crate::{CpuList, CpuListError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A kernel command line as a list of parameters, in order. Quotes group words as in
/// `lib/cmdline.c: next_arg`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", from = "String")]
pub struct CommandLine {
    parameters: Vec<String>,
    /// The words behind `--`, which are for the first program (`init/main.c: start_kernel`), with the dashes.
    for_init: Vec<String>,
}

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
        let end = parameters.iter().position(|word| word == "--").unwrap_or(parameters.len());
        let for_init = parameters.split_off(end);
        Self { parameters, for_init }
    }

    /// The line with these parameters; what is for the first program stays.
    pub fn with<'a>(&self, parameters: impl Iterator<Item = &'a str>) -> Self {
        Self { parameters: parameters.map(str::to_owned).collect(), for_init: self.for_init.clone() }
    }

    /// The value of the last parameter of this name: `Some("")` for a flag without value.
    /// The kernel takes `-` and `_` in names as the same.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().rev().find_map(|parameter| {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (key.replace('-', "_") == name.replace('-', "_")).then(|| value.trim_matches('"'))
        })
    }

    /// The CPUs that a parameter such as `nohz_full=` names on a machine of `machine` CPUs; `None`
    /// if it is absent or has no value. In these lists `all` is every CPU and `N` the last one
    /// (`lib/bitmap.c: bitmap_parselist`).
    ///
    /// # Errors
    /// A list that the kernel would refuse.
    pub fn cpus(&self, name: &str, machine: u32) -> Option<Result<CpuList, CpuListError>> {
        self.get(name).filter(|value| !value.is_empty()).map(|value| cpus_of(value, machine))
    }

    /// Adds the parameters of `other` behind those of `self`.
    pub fn extend(&mut self, other: &CommandLine) {
        self.parameters.extend(other.parameters.iter().cloned());
    }

    /// The parameters as written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(String::as_str)
    }
}

/// The CPUs of a list on a machine with this number of CPUs, as [`CommandLine::cpus`] reads it.
///
/// # Errors
/// A list that the kernel would refuse.
pub fn cpus_of(list: &str, machine: u32) -> Result<CpuList, CpuListError> {
    let last = machine.saturating_sub(1);
    list.replace("all", "0-N").replace('N', &last.to_string()).parse()
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&[&*self.parameters, &*self.for_init].concat().join(" "))
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

    #[test]
    fn cpus_as_the_kernel_reads_them() {
        let line = CommandLine::parse("nohz_full=1-N rcu_nocbs=all isolcpus=nohz,domain,2 irqaffinity=");
        let cpus = |name: &str| line.cpus(name, 4).map(|cpus| cpus.unwrap().to_string());
        assert_eq!(cpus("nohz_full").as_deref(), Some("1-3"));
        assert_eq!(cpus("rcu_nocbs").as_deref(), Some("0-3"));
        assert_eq!(cpus("irqaffinity"), None);
    }

    #[test]
    fn what_is_for_the_first_program_stays_behind_the_dashes() {
        let mut line = CommandLine::parse("quiet init=/sbin/init -- single nohz_full=1");
        assert_eq!(line.get("nohz_full"), None);
        line.extend(&CommandLine::parse("nohz_full=2"));
        assert_eq!(line.to_string(), "quiet init=/sbin/init nohz_full=2 -- single nohz_full=1");
        assert_eq!(line.with(["debug"].into_iter()).to_string(), "debug -- single nohz_full=1");
    }
}
