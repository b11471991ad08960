// SPDX-License-Identifier: GPL-2.0-only
//! The differences of two kernels' configurations and patches.

use super::groups::Group;
use dyntick_model::KernelVersion;
use schemars::JsonSchema;
use serde::Serialize;

/// The differences of two kernels, or of their configurations.
#[derive(Serialize, JsonSchema)]
pub struct KernelsDiff<'a> {
    /// The releases of both. A file of a configuration has that of its head; null if it names none.
    pub releases: [Option<&'a KernelVersion>; 2],
    /// The groups of options that were compared; all options and the patches where there are none.
    #[serde(skip_serializing_if = "<[Group]>::is_empty")]
    pub only: &'a [Group],
    /// The options that are not the same, by name.
    pub options: Vec<Change<'a>>,
    /// The number of options that only one of both has, which are not set there and not listed: `--full` lists them.
    pub off_in_one: usize,
    /// The patches that only one of both has; absent where only groups of options were compared, or the file of a
    /// configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patches: Option<Patches>,
}

/// One option that is not the same. A value is `n` where the kernel has the option and it is not set, and null where
/// it does not have it, or its dependencies are not met.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change<'a> {
    /// The name, without `CONFIG_`.
    pub option: &'a str,
    /// The value in the first kernel.
    pub old: Option<&'a str>,
    /// The value in the second kernel.
    pub new: Option<&'a str>,
}

/// The value of an option that is not set.
pub const OFF: &str = "n";

/// Patches by name that only one kernel has.
#[derive(Serialize, JsonSchema)]
pub struct Patches {
    /// The options of the first.
    pub old: Vec<String>,
    /// The options of the second.
    pub new: Vec<String>,
}

impl Change<'_> {
    /// Returns true if only one kernel has the option.
    pub fn is_in_one(&self) -> bool {
        self.old.is_none() || self.new.is_none()
    }
}

/// The sign and the name, then both values, or that of the only kernel that has the option.
impl std::fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_set = |value: Option<&str>| value.is_some_and(|value| value != OFF);
        let sign = match (is_set(self.old), is_set(self.new)) {
            (true, false) => '-',
            (false, true) => '+',
            _ => ' ',
        };
        let words = |value| match value {
            OFF => "off",
            "" => "\"\"",
            value => value,
        };
        let values: Vec<&str> = [self.old, self.new].into_iter().flatten().map(words).collect();
        write!(f, "{sign}{} {}", self.option, values.join(" -> "))
    }
}

impl Patches {
    /// Returns true if both have the same patches.
    pub fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }

    /// A line for each patch, with the sign of its kernel.
    pub fn lines(&self) -> Vec<String> {
        let of = |sign: char, patches: &[String]| -> Vec<String> {
            patches.iter().map(|patch| format!("{sign}patch {patch}")).collect()
        };
        [of('-', &self.old), of('+', &self.new)].concat()
    }
}
