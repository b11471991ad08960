// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab profile`: instructions by way into the kernel and by function.

use crate::json;
use crate::output;
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_lab::seal::Sealer;
use dyntick_lab::{profiles, store};
use dyntick_model::CpuList;
use dyntick_profile::{Difference, Kind, compare};
use dyntick_report::{Block, Cell, Column, Document, Table};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What may be said to `lab profile`.
#[derive(Args)]
pub struct Arguments {
    /// Folder of a run with `profile = true`; two are compared
    #[arg(value_name = "RUN", required = true, num_args = 1..=2)]
    runs: Vec<PathBuf>,
    /// Show only spans on these CPUs; give it twice for two runs [default: each run's measured CPUs]
    #[arg(long, value_name = "LIST")]
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
    let spans = |(number, folder): (usize, &PathBuf)| {
        let cpus = arguments.cpu.get(number).or(arguments.cpu.first());
        load(folder, cpus, &arguments.kind)
    };
    let spans: Vec<Spans> = arguments.runs.iter().enumerate().map(spans).collect::<Result<_>>()?;
    let blocks = match &spans[..] {
        [one] if arguments.json => return print(json::LAB_PROFILE, &profile(one)),
        [one] => one_run(one, arguments.top),
        [a, b, ..] => {
            let compared = compared(a, b)?;
            if arguments.json {
                let both = serde_json::json!({ "a": profile(a), "b": profile(b), "differences": compared });
                return print(json::LAB_PROFILES, &both);
            }
            two_runs(a, b, &compared, arguments.top)
        }
        [] => Vec::new(),
    };
    let title = "Instructions by kernel entry point".into();
    let lead = spans.iter().filter_map(of_others).collect();
    let document = Document { title, lead, blocks, ..Document::default() };
    output::text(dyntick_report::terminal(&document, 100, false))?;
    Ok(ExitCode::SUCCESS)
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

fn print(format: json::Format, value: &serde_json::Value) -> Result<ExitCode> {
    output::json(&format.of(value))?;
    Ok(ExitCode::SUCCESS)
}

fn load(folder: &Path, cpus: Option<&CpuList>, wanted: &str) -> Result<Spans> {
    let sealer = Cache::of_user().ok().and_then(|cache| Sealer::known(&cache));
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

fn profile(spans: &Spans) -> serde_json::Value {
    let kind = |(name, kind): (&String, &Kind)| {
        let functions: BTreeMap<_, _> = kind.largest_functions().into_iter().collect();
        serde_json::json!({
            "kind": name, "summary": kind.summary(), "instructions": kind.instructions(),
            "spans": kind.spans, "functions_per_span": functions,
        })
    };
    let phase = |((name, kinds), instructions): (&(&str, BTreeMap<String, Kind>), &u64)| {
        let kinds: Vec<_> = kinds.iter().map(kind).collect();
        serde_json::json!({ "phase": name, "instructions_of_all_cpus": instructions, "kinds": kinds })
    };
    let phases: Vec<_> = spans.phases.iter().zip(&spans.instructions).map(phase).collect();
    serde_json::json!({ "case": spans.name, "made_here": spans.made_here, "cpus": spans.cpus, "phases": phases })
}

/// The kinds, those with the most instructions first.
fn sorted(kinds: &BTreeMap<String, Kind>) -> Vec<(&String, &Kind)> {
    let mut sorted: Vec<_> = kinds.iter().collect();
    sorted.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.instructions()));
    sorted
}

fn number(value: f64) -> Cell {
    format!("{value:.1}")
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
                rows: rows.map(|(function, mean)| vec![function.to_owned(), number(mean)]).collect(),
                ..Table::default()
            }));
        }
    }
    blocks
}

fn overview(kinds: &BTreeMap<String, Kind>) -> Table {
    let row = |(name, kind): (&String, &Kind)| {
        let summary = kind.summary()?;
        let whole = |value: u64| value.to_string();
        let (min, median, max) = (whole(summary.min), whole(summary.median), whole(summary.max));
        Some(vec![name.clone(), whole(summary.count), min, median, number(summary.mean), max])
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
#[derive(serde::Serialize)]
struct Compared {
    phase: &'static str,
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
        let cells = |name: &str, a, b, more| vec![name.to_owned(), number(a), number(b), number(more)];
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
