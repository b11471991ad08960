// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab studies`: the studies that come with dyntick.

use crate::output;
use anyhow::Result;
use clap::Args;
use dyntick_kernels::build::{self, Built, Recipe};
use dyntick_kernels::cache::Cache;
use dyntick_lab::expected::estimated;
use dyntick_report::numbers;
use dyntick_study::{Case, Size, Study, shipped};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// What may be said to `lab studies`.
#[derive(Args)]
pub struct Arguments {
    /// Print the study of this name as it is written [default: list all]
    name: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

/// The studies that come with dyntick.
#[derive(Serialize, JsonSchema)]
pub struct Studies {
    /// Each of them.
    studies: Vec<Listed>,
}

/// A study as it is listed.
#[derive(Serialize, JsonSchema)]
struct Listed {
    /// What to run it by.
    name: String,
    /// What it is called.
    title: String,
    /// What it asks.
    question: String,
    /// How many cases it has.
    cases: usize,
    /// How many runs they have together.
    runs: u32,
    /// The kernels that are built for it.
    kernels: Vec<OwnKernel>,
    /// How long it takes, estimated, s.
    estimated_s: u64,
}

/// A kernel that a study has built.
#[derive(Serialize, JsonSchema)]
struct OwnKernel {
    /// Its name in the study.
    name: String,
    /// Whether it is built already.
    built: bool,
}

/// Lists the studies, or prints one.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(name) = &arguments.name {
        output::text(shipped::text(name)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Whoever only looks needs no cache.
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
        estimated_s: study.cases.iter().map(|case| u64::from(case.runs()) * estimated(case).as_secs()).sum(),
    }
}

/// Whether it was built from these parts. Where Debian has a newer source, or this machine another compiler,
/// it is built again.
fn is_of(built: &Built, recipe: &Recipe) -> bool {
    let series = recipe.source.rsplit(':').next().unwrap_or_default();
    let of_series = built.release.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'));
    of_series && built.config == recipe.config && built.patches == recipe.patches
}

fn print(study: &Listed) -> Result<()> {
    told(study, output::Sheet::output().width).iter().try_for_each(output::line)
}

/// A study as lines of at most this width.
fn told(study: &Listed, width: usize) -> Vec<String> {
    let minutes = study.estimated_s.div_ceil(60);
    let cases = numbers::counted(study.cases as u64, "case");
    let facts = format!("{cases}, {}, about {minutes} min", kernels(&study.kernels));
    let indented = |first: &str, text: &str| {
        let options = textwrap::Options::new(width).initial_indent(first).subsequent_indent("    ");
        textwrap::fill(text, options)
    };
    vec![
        indented("", &format!("{}: {}", study.name, study.title)),
        indented("    ", &study.question),
        indented("    ", &facts),
        String::new(),
    ]
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
            told(&listed(&shipped::find(Path::new(name), Size::Scaled).unwrap(), &[]), 80).join("\n")
        });
        let all: Vec<String> = all.collect();
        let wide = all.iter().flat_map(|text| text.lines()).find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        assert!(all.iter().any(|text| text.contains("    1 case, kernels of Debian")), "{all:?}");
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
            ..Recipe::default()
        };
        assert!(is_of(&built, &recipe("debian:6.12", &["p"])));
        assert!(!is_of(&built, &recipe("debian:6.1", &["p"])), "another series");
        assert!(!is_of(&built, &recipe("debian:6.12", &[])), "without the patch");
    }
}
