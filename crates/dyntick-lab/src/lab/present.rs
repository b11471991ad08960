// SPDX-License-Identifier: GPL-2.0-only
//! The check that the kernels of a study exist, before any of its cases is run.

use super::Lab;
use dyntick_kernels::find::{KernelError, instead};
use dyntick_model::text::clean_line;
use dyntick_study::Case;
use std::collections::BTreeMap;

/// Kernels that cases name and that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words())]
pub struct Absent {
    kernels: Vec<Missing>,
    /// The number of cases that have another kernel.
    others: usize,
}

/// One of them.
#[derive(Debug)]
struct Missing {
    name: String,
    cases: Vec<String>,
    error: KernelError,
    /// Similar names.
    instead: Vec<String>,
}

impl Absent {
    fn words(&self) -> String {
        let lines: Vec<String> = self.kernels.iter().map(Missing::words).collect();
        let rest = nothing_was_run(self.others, "has another kernel", "have other kernels");
        format!("{}\n{rest}", lines.join("\n"))
    }
}

impl Missing {
    fn words(&self) -> String {
        let there = match &self.instead[..] {
            [] => String::new(),
            there => format!("; here there are {}", there.join(", ")),
        };
        let error = self.error.to_string();
        let error = error.strip_prefix("the kernel: ").unwrap_or(&error);
        let name = clean_line(self.name.rsplit([':', '/']).next().unwrap_or_default());
        // Most errors say the name themselves.
        let name =
            if error.contains(&name) { String::new() } else { format!(" '{}'", clean_line(&self.name)) };
        format!("the kernel{name} of {}: {error}{there}", first_of(&self.cases))
    }
}

pub(super) fn first_of(cases: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = cases.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match cases.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The last line of a refusal before any case is run. It names the number of other cases, which could be run; `has` and
/// `have` say why, of one and of several.
pub(super) fn nothing_was_run(others: usize, has: &str, have: &str) -> String {
    let rest = match others {
        0 => String::new(),
        1 => format!(" (1 case {has}: name it with --case)"),
        n => format!(" ({n} cases {have}: name them with --case)"),
    };
    format!("nothing was run, and no report was written{rest}")
}

impl Lab<'_> {
    /// Finds, and where needed fetches, the kernel of each case that is not to be built.
    ///
    /// # Errors
    /// All kernels that do not exist or cannot be fetched, with what could be meant.
    pub fn ensure_kernels(&self, cases: &[Case]) -> Result<(), Absent> {
        let mut named: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for case in cases.iter().filter(|case| case.recipe.is_none()) {
            named.entry(&case.kernel).or_default().push(case.id.clone());
        }
        let missing = |(name, cases): (&str, Vec<String>)| {
            let error = self.kernel(name, None, &|_| Vec::new()).err()?;
            let instead = instead(name, &error, &self.cache);
            Some(Missing { name: name.to_owned(), cases, error, instead })
        };
        let kernels: Vec<Missing> = named.into_iter().filter_map(missing).collect();
        let without: usize = kernels.iter().map(|kernel| kernel.cases.len()).sum();
        if kernels.is_empty() { Ok(()) } else { Err(Absent { kernels, others: cases.len() - without }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_is_named_with_its_cases_and_what_there_is() {
        let missing = |name: &str, nearest: Option<&str>, instead: &[&str]| Missing {
            name: format!("debian:{name}"),
            cases: ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(),
            error: KernelError::NotOffered { name: name.into(), nearest: nearest.map(str::to_owned) },
            instead: instead.iter().map(|name| (*name).to_owned()).collect(),
        };
        let kernels = vec![
            missing("6.13", Some("6.12"), &[]),
            missing("7.9", None, &["debian:6.12.117+deb12-amd64", "debian:6.1.0-56-amd64"]),
        ];
        let words = Absent { kernels, others: 2 }.to_string();
        let lines: Vec<&str> = words.lines().collect();
        assert_eq!(lines.len(), 3, "{words}");
        assert!(lines[0].starts_with("the kernel of a, b, c and 2 more: Debian does not offer"), "{words}");
        assert!(lines[0].contains("did you mean debian:6.12?") && !lines[0].contains("there are"), "{words}");
        assert!(
            lines[1].ends_with("; here there are debian:6.12.117+deb12-amd64, debian:6.1.0-56-amd64"),
            "{words}"
        );
        assert_eq!(
            lines[2],
            "nothing was run, and no report was written (2 cases have other kernels: name them with --case)"
        );
    }
}
