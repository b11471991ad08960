// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab studies`: the studies that come with dyntick.

use crate::output;
use anyhow::Result;
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
    /// Print the study of this name as it is written [default: list all]
    name: Option<PathBuf>,
    /// List the ids and titles of its cases, for --case; the study may also be a file
    #[arg(long, requires = "name")]
    cases: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

/// Lists the studies, or prints one.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(name) = &arguments.name {
        if arguments.cases {
            let study = shipped::find(name, Size::Scaled)?;
            return study
                .cases
                .iter()
                .try_for_each(|case| output::line(case_line(case)))
                .map(|()| ExitCode::SUCCESS);
        }
        output::text(shipped::text(&name.to_string_lossy())?)?;
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
        "",
        "Times are estimated, for one guest at a time (--jobs 1), without KVM and without the building of kernels. \
         To run a study: dyntick lab run NAME; to see its file: dyntick lab studies NAME",
    )?;
    Ok(ExitCode::SUCCESS)
}

/// A case as a line: its id, and its title if that says more.
fn case_line(case: &Case) -> String {
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

fn tool(name: &str) -> Tool {
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

/// A study as lines of at most this width.
fn described(study: &Listed, width: usize) -> Vec<String> {
    let minutes = study.estimated_s.div_ceil(60);
    let cases = numbers::counted(study.cases as u64, "case");
    let facts = format!("{cases}, {}, about {minutes} min", kernels(&study.kernels));
    let indented = |first: &str, text: &str| {
        let options = textwrap::Options::new(width).initial_indent(first).subsequent_indent("    ");
        textwrap::fill(text, options)
    };
    let mut lines = vec![
        indented("", &format!("{}: {}", study.name, study.title)),
        indented("    ", &study.question),
        indented("    ", &facts),
    ];
    lines.extend(tools_in_words(&study.tools).map(|words| indented("    ", &words)));
    lines.push(String::new());
    lines
}

/// The tools that a study needs, and how to get those that are not here.
fn tools_in_words(tools: &[Tool]) -> Option<String> {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !tool.installed).collect();
    let packages: BTreeSet<&str> = missing.iter().map(|tool| tool.package.unwrap_or(&tool.name)).collect();
    let install = if packages.is_empty() {
        String::new()
    } else {
        let missing: Vec<&str> = missing.iter().map(|tool| tool.name.as_str()).collect();
        let packages: Vec<&str> = packages.into_iter().collect();
        format!("; not installed: {} (apt-get install {})", missing.join(", "), packages.join(" "))
    };
    (!names.is_empty()).then(|| format!("tools: {}{install}", names.join(", ")))
}

fn kernels(own: &[OwnKernel]) -> String {
    match (own.len(), own.iter().filter(|kernel| kernel.built).count()) {
        (0, _) => "kernels of Debian".to_owned(),
        (all, built) => format!("{} to build, {built} of them built", numbers::counted(all as u64, "kernel")),
    }
}

fn paragraph(indent: &str, text: &str) -> Result<()> {
    let options = textwrap::Options::new(output::Sheet::output().width)
        .initial_indent(indent)
        .subsequent_indent(indent);
    output::line(textwrap::fill(text, options))
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
        assert!(all.iter().any(|text| text.contains("    1 case, kernels of Debian")), "{all:?}");
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
    fn tools_are_named_and_what_is_missing_with_its_package() {
        let tool = |name: &str, package, installed| Tool { name: name.to_owned(), package, installed };
        assert_eq!(tools_in_words(&[]), None);
        let both = [tool("cyclictest", Some("rt-tests"), false), tool("fio", Some("fio"), true)];
        let words = tools_in_words(&both).unwrap();
        assert_eq!(words, "tools: cyclictest, fio; not installed: cyclictest (apt-get install rt-tests)");
        assert_eq!(tools_in_words(&both[1..]).unwrap(), "tools: fio");
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
