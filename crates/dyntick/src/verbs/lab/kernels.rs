// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab kernels`: what can be booted here.

pub mod diff;

use crate::output;
use anyhow::Result;
use clap::{Args, Subcommand};
use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::{Entry, catalog};
use dyntick_report::{Block, Cell, Column, Document, Table, row};
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;

/// What may be said to `lab kernels`.
#[derive(Args)]
pub struct Arguments {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Show how two kernels differ: -OPTION is removed, +OPTION is new; exit with status 1 if they differ
    Diff(diff::Arguments),
}

/// The kernels that can be booted here.
#[derive(Serialize, JsonSchema)]
pub struct Kernels<'a> {
    /// Each of them.
    kernels: &'a [Entry],
}

/// Lists the kernels.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    if let Some(Action::Diff(arguments)) = &arguments.action {
        return diff::run(arguments);
    }
    let (entries, apt_problem) = catalog(&Cache::of_user()?, &|text| output::step(text));
    if arguments.json {
        output::json(&Kernels { kernels: &entries })?;
    } else {
        output::page(&document(&entries))?;
    }
    if let Some(problem) = apt_problem {
        output::note(format_args!("kernels by apt are not listed: {problem}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn document(entries: &[Entry]) -> Document {
    let yes_no = |value: Option<bool>| match value {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    };
    let row = |entry: &Entry| {
        row![
            entry.spec.clone(),
            entry.release.clone(),
            entry.state.to_string(),
            entry.hz.map_or("?".into(), |hz| Cell::Count(hz.into())),
            yes_no(entry.no_hz_full),
            yes_no(entry.preempt_rt),
            entry.config.iter().chain(&entry.patches).cloned().collect::<Vec<_>>().join(" "),
        ]
    };
    let table = Table {
        columns: vec![
            Column::text("name in a study"),
            Column::text("release"),
            Column::text("where"),
            Column::figure("HZ", ""),
            Column::text("NO_HZ_FULL"),
            Column::text("RT"),
            Column::text("built with"),
        ],
        rows: entries.iter().map(row).collect(),
        notes: vec![
            "Any bzImage or vmlinux can be given by its path. '?' is known once it is downloaded.".into(),
        ],
        ..Table::default()
    };
    Document {
        title: "Kernels that can be booted here".into(),
        blocks: vec![Block::Table(table)],
        ..Document::default()
    }
}
