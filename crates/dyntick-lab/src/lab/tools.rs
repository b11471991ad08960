// SPDX-License-Identifier: GPL-2.0-only
//! The check that the tools of a study are on this machine, before any of its cases is run.

use super::present::{first_of, nothing_was_run};
use crate::image::{find_tool, packages};
use dyntick_model::text::clean_line;
use dyntick_study::Case;
use std::collections::{BTreeMap, BTreeSet};

/// Makes the file system of a guest's disk, on this machine.
const OF_DISKS: &str = "mke2fs";

/// Tools that cases need and that are not here.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words())]
pub struct Lacking {
    /// The tools by name, each with the cases that need it.
    tools: BTreeMap<String, Vec<String>>,
    /// The number of cases that need none of them.
    others: usize,
}

impl Lacking {
    fn words(&self) -> String {
        let line = |(name, cases): (&String, &Vec<String>)| {
            let (name, advice) = (clean_line(name), packages::advice(name));
            format!("the tool '{name}' of {} is not on this machine: {advice}", first_of(cases))
        };
        let lines: Vec<String> = self.tools.iter().map(line).collect();
        let all = self.all_at_once().map_or(String::new(), |command| format!("\nall of them: {command}"));
        let rest =
            nothing_was_run(self.others, "needs no tool that is missing", "need no tool that is missing");
        format!("{}{all}\n{rest}", lines.join("\n"))
    }

    /// One command for all, where it is another than that of one.
    fn all_at_once(&self) -> Option<String> {
        let packages: BTreeSet<&str> =
            self.tools.keys().filter_map(|name| packages::package_of(name)).collect();
        let packages: Vec<&str> = packages.into_iter().collect();
        (packages.len() > 1).then(|| format!("apt-get install {}", packages.join(" ")))
    }
}

/// The tools that these cases need, by name, with the ids of the cases.
pub fn needed(cases: &[Case]) -> BTreeMap<&str, Vec<&str>> {
    let mut needed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in cases {
        let of_disk = case.disk.map(|_| OF_DISKS);
        let tools: BTreeSet<&str> = case.tools.iter().map(String::as_str).chain(of_disk).collect();
        for tool in tools {
            needed.entry(tool).or_default().push(&case.id);
        }
    }
    needed
}

/// Refuses cases whose tools are not on this machine.
///
/// # Errors
/// All tools that are not here, with the cases that need them.
pub fn ensure(cases: &[Case]) -> Result<(), Lacking> {
    lacking(cases, |tool| find_tool(tool).is_ok())
}

fn lacking(cases: &[Case], is_here: impl Fn(&str) -> bool) -> Result<(), Lacking> {
    let without = needed(cases).into_iter().filter(|(tool, _)| !is_here(tool));
    let owned =
        |(tool, ids): (&str, Vec<&str>)| (tool.to_owned(), ids.into_iter().map(str::to_owned).collect());
    let tools: BTreeMap<String, Vec<String>> = without.map(owned).collect();
    if tools.is_empty() {
        return Ok(());
    }
    let stopped: BTreeSet<&String> = tools.values().flatten().collect();
    let others = cases.iter().filter(|case| !stopped.contains(&case.id)).count();
    Err(Lacking { tools, others })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, tools: &[&str], disk: bool) -> Case {
        let tools = tools.iter().map(|name| (*name).to_owned()).collect();
        Case { tools, disk: disk.then_some(1 << 30), ..Case::new(id, "debian:6.12") }
    }

    #[test]
    fn each_tool_is_named_once_with_its_cases_and_its_package() {
        let mut cases: Vec<Case> = ["a", "b", "c", "d"].map(|id| case(id, &["stress-ng"], false)).to_vec();
        cases.push(case("e", &["cyclictest", "./mine"], true));
        cases.push(case("f", &[], false));
        assert!(lacking(&cases, |_| true).is_ok());
        let message = lacking(&cases, |_| false).unwrap_err().to_string();
        let expected = "\
the tool './mine' of e is not on this machine: give the path of a program of this machine
the tool 'cyclictest' of e is not on this machine: apt-get install rt-tests
the tool 'mke2fs' of e is not on this machine: apt-get install e2fsprogs
the tool 'stress-ng' of a, b, c and 1 more is not on this machine: apt-get install stress-ng
all of them: apt-get install e2fsprogs rt-tests stress-ng
nothing was run, and no report was written (1 case needs no tool that is missing: name it with --case)";
        assert_eq!(message, expected);
        let one = lacking(&cases, |tool| tool != "stress-ng").unwrap_err().to_string();
        assert!(
            !one.contains("all of them") && one.contains("(2 cases need no tool that is missing"),
            "{one}"
        );
    }
}
