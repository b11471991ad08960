// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab profile`: instructions by way into the kernel and by function.

use super::which_runs;
use crate::json::Printed;
use crate::output::Target;
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_lab::seal::Sealer;
use dyntick_lab::{profiles, store};
use dyntick_model::CpuList;
use dyntick_profile::{Difference, Kind, Summary, compare};
use dyntick_report::{Block, Cell, Column, Document, Table, row};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What may be said to `lab profile`.
#[derive(Args)]
pub struct Arguments {
    /// Folder of a run with `profile = true`, or a study with one or two such runs; two are compared
    #[arg(value_name = "RUN", required = true, num_args = 1..=2)]
    runs: Vec<PathBuf>,
    /// Show only spans on these CPUs; give it twice for two runs [default: each run's measured CPUs]
    #[arg(short = 'C', long, visible_alias = "cpus", value_name = "LIST")]
    cpu: Vec<CpuList>,
    /// Show only kinds of spans whose name contains TEXT
    #[arg(long, value_name = "TEXT", default_value = "")]
    kind: String,
    /// Show the N largest functions of each kind
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// The spans of one run, in the order window, script.
struct Spans {
    name: String,
    made_here: bool,
    cpus: CpuList,
    phases: Vec<(&'static str, BTreeMap<String, Kind>)>,
    instructions: Vec<u64>,
}

/// Prints one profile, or two side by side.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    let spans = |(number, folder): (usize, &PathBuf)| {
        let cpus = arguments.cpu.get(number).or(arguments.cpu.first());
        load(folder, cpus, &arguments.kind)
    };
    let runs = runs(&arguments.runs)?;
    let spans: Vec<Spans> = runs.iter().enumerate().map(spans).collect::<Result<_>>()?;
    let blocks = match &spans[..] {
        [one] if arguments.json => return print(&arguments.target, &Profile::of(one)),
        [one] => one_run(one, arguments.top),
        [a, b, ..] => {
            let compared = compared(a, b)?;
            if arguments.json {
                let differences = &compared;
                let profiles = Profiles { a: Profile::of(a), b: Profile::of(b), differences };
                return print(&arguments.target, &profiles);
            }
            two_runs(a, b, &compared, arguments.top)
        }
        [] => Vec::new(),
    };
    let title = "Instructions by kernel entry point".into();
    let lead = spans.iter().filter_map(of_others).collect();
    let document = Document { title, lead, blocks, ..Document::default() };
    arguments.target.page(&document)?;
    Ok(ExitCode::SUCCESS)
}

/// One run, or two.
fn runs(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut runs = Vec::new();
    for named in named {
        runs.extend(which_runs::folders(named, |run| run.profile.is_some())?);
    }
    if runs.len() > 2 {
        let all: Vec<String> = runs.iter().map(|run| format!("\n  {}", run.display())).collect();
        bail!("a profile is of one run, or of two that are compared; name them:{}", all.concat());
    }
    Ok(runs)
}

/// Says so where the figures came from elsewhere.
fn of_others(spans: &Spans) -> Option<String> {
    (!spans.made_here).then(|| {
        format!(
            "The run of {} was not made by this user's laboratory: its figures are unverified.",
            spans.name
        )
    })
}

fn print(target: &Target, value: &impl Printed) -> Result<ExitCode> {
    target.json(value)?;
    Ok(ExitCode::SUCCESS)
}

fn load(folder: &Path, cpus: Option<&CpuList>, wanted: &str) -> Result<Spans> {
    let sealer = Cache::of_user_as_it_is().ok().and_then(|cache| Sealer::known(&cache));
    let (profile, made_here) = store::profile_judged(folder, sealer.as_ref())
        .with_context(|| format!("{} is not a complete run", folder.display()))?;
    let profile = profile.ok_or_else(|| profiles::ProfileError::NotRecorded(folder.to_owned()))?;
    let cpus = cpus.cloned().unwrap_or(profile.measured_cpus);
    let of_phase = |phase: &dyntick_profile::Phase| {
        let mut kinds = profiles::kinds_on(phase, &cpus);
        kinds.retain(|kind, _| kind.contains(wanted));
        kinds
    };
    Ok(Spans {
        name: profile.case,
        made_here,
        phases: profile.phases.iter().map(|(name, phase)| (*name, of_phase(phase))).collect(),
        instructions: profile.phases.iter().map(|(_, phase)| phase.profile.instructions()).collect(),
        cpus,
    })
}

/// The profile of one run.
#[derive(Serialize, JsonSchema)]
pub struct Profile<'a> {
    /// The id of its case.
    case: &'a str,
    /// Whether this user's laboratory made the run.
    made_here: bool,
    /// The CPUs whose spans are counted.
    cpus: &'a CpuList,
    /// The window and the script, as far as they were recorded.
    phases: Vec<PrintedPhase<'a>>,
}

/// The profiles of two runs and how they differ.
#[derive(Serialize, JsonSchema)]
pub struct Profiles<'a> {
    /// The first run.
    a: Profile<'a>,
    /// The second run.
    b: Profile<'a>,
    /// The kinds of spans that both have, those with the most instructions in `a` first.
    differences: &'a [Compared],
}

/// One phase of a run.
#[derive(Serialize, JsonSchema)]
struct PrintedPhase<'a> {
    /// `window` or `script`.
    phase: &'static str,
    /// All instructions that were executed in it, on all CPUs and in user mode too.
    instructions_of_all_cpus: u64,
    /// The kinds of spans, by name.
    kinds: Vec<PrintedKind<'a>>,
}

/// The spans of one kind.
#[derive(Serialize, JsonSchema)]
struct PrintedKind<'a> {
    /// Its name: the kernel's entry point, or what the span is.
    kind: &'a str,
    /// The instructions of a span; none where there is no span.
    summary: Option<Summary>,
    /// The instructions of all spans together.
    instructions: u64,
    /// The instructions of each span, in the order in which they ended.
    spans: &'a [u64],
    /// Mean instructions a span in each kernel function itself.
    functions_per_span: BTreeMap<&'a str, f64>,
}

impl<'a> Profile<'a> {
    fn of(spans: &'a Spans) -> Self {
        let phase = |((name, kinds), instructions): (&'a (&'static str, BTreeMap<String, Kind>), &u64)| {
            let kinds = kinds.iter().map(PrintedKind::of).collect();
            PrintedPhase { phase: name, instructions_of_all_cpus: *instructions, kinds }
        };
        Self {
            case: &spans.name,
            made_here: spans.made_here,
            cpus: &spans.cpus,
            phases: spans.phases.iter().zip(&spans.instructions).map(phase).collect(),
        }
    }
}

impl<'a> PrintedKind<'a> {
    fn of((name, kind): (&'a String, &'a Kind)) -> Self {
        Self {
            kind: name,
            summary: kind.summary(),
            instructions: kind.instructions(),
            spans: &kind.spans,
            functions_per_span: kind.largest_functions().into_iter().collect(),
        }
    }
}

/// The kinds, those with the most instructions first.
fn sorted(kinds: &BTreeMap<String, Kind>) -> Vec<(&String, &Kind)> {
    let mut sorted: Vec<_> = kinds.iter().collect();
    sorted.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.instructions()));
    sorted
}

fn number(value: f64) -> Cell {
    Cell::Fixed(value, 1)
}

fn one_run(spans: &Spans, top: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (phase, kinds) in &spans.phases {
        blocks.push(Block::Heading(format!("{}, {phase}, CPUs {}", spans.name, spans.cpus)));
        blocks.push(Block::Table(overview(kinds)));
        for (name, kind) in sorted(kinds) {
            let rows = kind.largest_functions().into_iter().take(top);
            blocks.push(Block::Table(Table {
                caption: name.clone(),
                columns: vec![Column::text("function"), Column::figure("mean", "instr.")],
                rows: rows.map(|(function, mean)| row![function, number(mean)]).collect(),
                ..Table::default()
            }));
        }
    }
    blocks
}

fn overview(kinds: &BTreeMap<String, Kind>) -> Table {
    let row = |(name, kind): (&String, &Kind)| {
        let summary = kind.summary()?;
        let [count, min, median, max] =
            [summary.count, summary.min, summary.median, summary.max].map(Cell::Count);
        Some(row![name.as_str(), count, min, median, number(summary.mean), max])
    };
    let figure = |header| Column::figure(header, "instr.");
    Table {
        columns: vec![
            Column::text("span"),
            Column::figure("count", ""),
            figure("min"),
            figure("median"),
            figure("mean"),
            figure("max"),
        ],
        rows: sorted(kinds).into_iter().filter_map(row).collect(),
        notes: vec![
            "A wake-up spans the entries that it consists of and is counted in addition to them.".into(),
        ],
        ..Table::default()
    }
}

/// One kind of spans in both runs.
#[derive(Serialize, JsonSchema)]
struct Compared {
    /// `window` or `script`.
    phase: &'static str,
    /// Its name.
    kind: String,
    #[serde(flatten)]
    difference: Difference,
}

fn compared(a: &Spans, b: &Spans) -> Result<Vec<Compared>> {
    let mut compared = Vec::new();
    for ((phase, in_a), (_, in_b)) in a.phases.iter().zip(&b.phases) {
        for (name, kind) in sorted(in_a) {
            if let Some(other) = in_b.get(name) {
                compared.push(Compared { phase, kind: name.clone(), difference: compare(kind, other) });
            }
        }
    }
    if compared.is_empty() {
        bail!("{} and {} have no kind of span in common on CPUs {} and {}", a.name, b.name, a.cpus, b.cpus);
    }
    Ok(compared)
}

fn two_runs(a: &Spans, b: &Spans, compared: &[Compared], top: usize) -> Vec<Block> {
    let names = format!("a: {}, CPUs {}; b: {}, CPUs {}", a.name, a.cpus, b.name, b.cpus);
    let mut blocks = vec![Block::Paragraph(names)];
    for Compared { phase, kind, difference } in compared {
        let (told, rest) = difference.largest(top);
        let cells = |name: &str, a, b, more| row![name, number(a), number(b), number(more)];
        let mut rows: Vec<_> = told.iter().map(|row| cells(&row.function, row.a, row.b, row.more)).collect();
        if let Some(rest) = rest {
            let name = format!("({} others that differ)", rest.functions);
            rows.push(cells(&name, rest.a, rest.b, rest.more));
        }
        rows.push(cells("all", difference.a, difference.b, difference.b - difference.a));
        let figure = |header| Column::figure(header, "instr.");
        blocks.push(Block::Table(Table {
            caption: format!("{phase}: {kind}, mean of a span"),
            columns: vec![Column::text("function"), figure("a"), figure("b"), figure("b - a")],
            rows,
            ..Table::default()
        }));
    }
    blocks
}
