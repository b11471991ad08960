// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab studies`: the studies that come with dyntick.

use crate::output;
use anyhow::{Context, Result};
use clap::Args;
use dyntick_contract::lab::{Listed, OwnKernel, Studies, Tool};
use dyntick_kernels::build::{self, Built};
use dyntick_kernels::cache::Cache;
use dyntick_lab::expected::estimated;
use dyntick_lab::image::{find_tool, packages};
use dyntick_lab::lab::needed_tools;
use dyntick_model::Recipe;
use dyntick_model::text::clean_line;
use dyntick_report::numbers;
use dyntick_study::{Case, Size, Study, shipped};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `dyntick lab studies`.
#[derive(Args)]
pub struct Arguments {
    /// Print the study of this name, or the file of this path, as it is written [default: list all]
    name: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

/// Lists the studies, or prints one.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(name) = &arguments.name {
        if shipped::is_path(name) {
            output::text(
                &std::fs::read_to_string(name).with_context(|| format!("cannot read {}", name.display()))?,
            )?;
        } else {
            output::text(shipped::text(&name.to_string_lossy())?)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    // Listing studies needs no cache.
    let built = Cache::of_user_as_it_is().map(|cache| build::all(&cache)).unwrap_or_default();
    let study = |name: &str| Ok(listed(&shipped::find(Path::new(name), Size::Scaled)?, &built));
    let studies: Vec<Listed> = shipped::names().into_iter().map(study).collect::<Result<_>>()?;
    if arguments.json {
        output::json(&Studies { studies })?;
        return Ok(ExitCode::SUCCESS);
    }
    studies.iter().try_for_each(print)?;
    paragraph(
        "Times are estimated, for one guest at a time (--jobs 1), without KVM and without the building of kernels. \
         To run a study: dyntick lab run NAME; its question, cases and claims: dyntick lab studies NAME",
    )?;
    Ok(ExitCode::SUCCESS)
}

/// A case as a line: its id, and its title if that says more.
pub(super) fn case_line(case: &Case) -> String {
    let title = clean_line(&case.title);
    if title == case.name { case.id.clone() } else { format!("{}  {title}", case.id) }
}

fn listed(study: &Study, built: &[Built]) -> Listed {
    let kernel = |(name, recipe): (&String, &Recipe)| OwnKernel {
        name: name.clone(),
        built: built.iter().any(|built| is_of(built, recipe)),
    };
    Listed {
        name: study.name.clone(),
        title: study.title.clone(),
        question: study.question.clone(),
        cases: study.cases.len(),
        runs: study.cases.iter().map(Case::runs).sum(),
        kernels: study.kernels.iter().map(kernel).collect(),
        tools: needed_tools(&study.cases).into_keys().map(tool).collect(),
        estimated_s: study.cases.iter().map(|case| u64::from(case.runs()) * estimated(case).as_secs()).sum(),
    }
}

pub(super) fn tool(name: &str) -> Tool {
    Tool { name: name.to_owned(), package: packages::package_of(name), installed: find_tool(name).is_ok() }
}

/// Returns true if the kernel was built from these parts. It is built again if Debian has a newer source, or this
/// machine another compiler.
fn is_of(built: &Built, recipe: &Recipe) -> bool {
    let series = recipe.source.rsplit(':').next().unwrap_or_default();
    let of_series = built.release.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'));
    of_series && built.config == recipe.config && built.patches == recipe.patches
}

fn print(study: &Listed) -> Result<()> {
    described(study, output::Sheet::output().width).iter().try_for_each(output::line)
}

/// A study as lines of at most this width: its size and title, and what a run has to get first.
fn described(study: &Listed, width: usize) -> Vec<String> {
    let minutes = study.estimated_s.div_ceil(60);
    let cases = numbers::counted(study.cases as u64, "case");
    let head = format!("{:<22} {cases:>9} {minutes:>4} min  ", study.name);
    let indent = " ".repeat(head.len());
    let options = textwrap::Options::new(width).initial_indent(&head).subsequent_indent(&indent);
    let mut lines = vec![textwrap::fill(&study.title, options)];
    let missing: Vec<String> =
        [to_install(&study.tools), to_build(&study.kernels)].into_iter().flatten().collect();
    if !missing.is_empty() {
        let options = textwrap::Options::new(width).initial_indent(&indent).subsequent_indent(&indent);
        lines.push(textwrap::fill(&missing.join("; "), options));
    }
    lines
}

/// The tools of a study that are not here, and how to get them.
fn to_install(tools: &[Tool]) -> Option<String> {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !tool.installed).collect();
    let names: Vec<&str> = missing.iter().map(|tool| tool.name.as_str()).collect();
    let packages: BTreeSet<&str> = missing.iter().map(|tool| tool.package.unwrap_or(&tool.name)).collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    (!names.is_empty())
        .then(|| format!("not installed: {} (apt-get install {})", names.join(", "), packages.join(" ")))
}

/// The kernels of a study that its first run builds.
fn to_build(own: &[OwnKernel]) -> Option<String> {
    let left = own.iter().filter(|kernel| !kernel.built).count() as u64;
    (left > 0).then(|| format!("{} to build", numbers::counted(left, "kernel")))
}

fn paragraph(text: &str) -> Result<()> {
    output::line(textwrap::fill(text, output::Sheet::output().width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_page_and_one_case_is_singular() {
        let all = shipped::names().into_iter().map(|name| {
            described(&listed(&shipped::find(Path::new(name), Size::Scaled).unwrap(), &[]), 80).join("\n")
        });
        let all: Vec<String> = all.collect();
        let wide = all.iter().flat_map(|text| text.lines()).find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        assert!(all.iter().any(|text| text.contains("    1 case ")), "{all:?}");
    }

    #[test]
    fn each_case_is_a_line() {
        let study = shipped::find(Path::new("menu-stopped-tick"), Size::Scaled).unwrap();
        let lines: Vec<String> = study.cases.iter().map(case_line).collect();
        assert!(
            lines.len() > 100
                && lines.iter().zip(&study.cases).all(|(line, case)| line.starts_with(&case.id))
        );
        assert_eq!(case_line(&Case::new("a", "host")), "a");
    }

    #[test]
    fn missing_tools_are_named_with_their_packages() {
        let tool = |name: &str, package, installed| Tool { name: name.to_owned(), package, installed };
        assert_eq!(to_install(&[]), None);
        let both = [tool("cyclictest", Some("rt-tests"), false), tool("fio", Some("fio"), true)];
        assert_eq!(to_install(&both).unwrap(), "not installed: cyclictest (apt-get install rt-tests)");
        assert_eq!(to_install(&both[1..]), None);
        let power = listed(&shipped::find(Path::new("hz-nohz-lazy-rcu"), Size::Scaled).unwrap(), &[]);
        let names: Vec<&str> = power.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["fio", "stress-ng"]);
    }

    /// The pages about studies, each of which says what has to be installed.
    #[test]
    fn the_book_names_the_tools_of_its_studies() {
        let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
        let mut seen = 0;
        for entry in std::fs::read_dir(book).unwrap().map(|entry| entry.unwrap().path()) {
            let Some(name) = entry.file_stem().and_then(|name| name.to_str()) else { continue };
            if !(name == "which-hz" || shipped::names().contains(&name))
                || entry.extension() != Some("md".as_ref())
            {
                continue;
            }
            let text = std::fs::read_to_string(&entry).unwrap();
            for study in shipped::names() {
                if !text.contains(&format!("dyntick lab run {study} ")) {
                    continue;
                }
                seen += 1;
                let study = shipped::find(Path::new(study), Size::Scaled).unwrap();
                for tool in needed_tools(&study.cases).into_keys() {
                    let package =
                        packages::package_of(tool).unwrap_or_else(|| panic!("no package of {tool}"));
                    let installed =
                        text.split("`apt-get install ").skip(1).filter_map(|rest| rest.split('`').next());
                    let mut installed = installed.flat_map(str::split_whitespace);
                    assert!(installed.any(|name| name == package), "{}: {package}", entry.display());
                }
            }
        }
        assert!(seen >= 7, "{seen}");
    }

    #[test]
    fn a_kernel_is_built_where_series_fragments_and_patches_are_the_same() {
        let built: Built = serde_json::from_value(serde_json::json!({
            "key": "k", "source": "", "compiler": "", "config": ["lab"], "patches": ["p"], "release": "6.12.1",
            "objects": 1, "seconds": 1,
        }))
        .unwrap();
        let recipe = |source: &str, patches: &[&str]| Recipe {
            source: source.into(),
            config: vec!["lab".into()],
            patches: patches.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert!(is_of(&built, &recipe("debian:6.12", &["p"])));
        assert!(!is_of(&built, &recipe("debian:6.1", &["p"])), "another series");
        assert!(!is_of(&built, &recipe("debian:6.12", &[])), "without the patch");
    }
}
