// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab kernels`: what can be booted here.

pub mod diff;

use crate::output;
use anyhow::Result;
use clap::{Args, Subcommand};
use dyntick_contract::lab::Kernels;
use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::{Entry, State, catalog};
use dyntick_report::{Block, Cell, Column, Document, Table, row};
use std::process::ExitCode;

/// The arguments of `dyntick lab kernels`.
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
    /// Show how two kernels differ: -OPTION is set in the first only, +OPTION in the second; exit with status 1 if they
    /// differ
    Diff(diff::Arguments),
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

/// One row a kernel, by the shortest of its names, and those that were built here apart.
fn document(entries: &[Entry]) -> Document {
    let (built, others): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| entry.state == State::Built);
    let others = Table {
        columns: [vec![Column::text("kernel"), Column::text("where")], features()].concat(),
        rows: by_shortest_name(&others).iter().map(|entry| row_of(entry, entry.state.to_string())).collect(),
        notes: vec![
            "The name before = is what to write in a study. Any bzImage or vmlinux can be given by its path, and any of \
             Debian's by debian:RELEASE; debian:sid is the newest of Debian's suite unstable. '?': unknown until the \
             package is downloaded."
                .into(),
        ],
        ..Table::default()
    };
    let parts =
        |entry: &Entry| entry.config.iter().chain(&entry.patches).cloned().collect::<Vec<_>>().join(" ");
    let built = Table {
        caption: "Built here".into(),
        columns: [vec![Column::text("kernel"), Column::text("with")], features()].concat(),
        rows: built.iter().map(|entry| row_of(entry, parts(entry))).collect(),
        ..Table::default()
    };
    let tables = [others, built].into_iter().filter(|table| !table.rows.is_empty());
    Document {
        title: "Kernels that can be booted here".into(),
        blocks: tables.map(Block::Table).collect(),
        ..Document::default()
    }
}

fn features() -> Vec<Column> {
    vec![Column::figure("HZ", ""), Column::text("NO_HZ_FULL"), Column::text("RT")]
}

fn row_of(entry: &Entry, second: String) -> Vec<Cell> {
    let yes_no = |value: Option<bool>| match value {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    };
    let name = if entry.spec.ends_with(&entry.release) {
        entry.spec.clone()
    } else {
        format!("{} = {}", entry.spec, entry.release)
    };
    let hz = entry.hz.map_or("?".into(), |hz| Cell::Count(hz.into()));
    row![name, second, hz, yes_no(entry.no_hz_full), yes_no(entry.preempt_rt)]
}

/// The entry with the shortest name, for each release in one place; it is at the position of the first.
fn by_shortest_name<'e>(entries: &[&'e Entry]) -> Vec<&'e Entry> {
    let mut shortest: Vec<&Entry> = Vec::new();
    for entry in entries {
        match shortest.iter_mut().find(|other| other.release == entry.release && other.state == entry.state) {
            Some(other) if entry.spec.len() < other.spec.len() => *other = entry,
            Some(_) => {}
            None => shortest.push(entry),
        }
    }
    shortest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(spec: &str, release: &str, state: State) -> Entry {
        Entry {
            spec: spec.into(),
            release: release.into(),
            state,
            hz: Some(250),
            no_hz_full: Some(true),
            preempt_rt: Some(false),
            config: Vec::new(),
            patches: Vec::new(),
        }
    }

    #[test]
    fn each_kernel_has_a_row_with_its_complete_name_on_80_columns() {
        let entries = [
            entry("/boot/vmlinuz-6.12.117+deb12-amd64", "6.12.117+deb12-amd64", State::Installed),
            entry("debian:6.1.0-55-amd64", "6.1.0-55-amd64", State::Downloaded),
            entry("debian:6.12.117+deb12-rt-amd64", "6.12.117+deb12-rt-amd64", State::Downloaded),
            Entry { config: vec!["lab".into()], ..entry("built:0123456789ab", "6.12.117", State::Built) },
            entry("debian:6.12-rt", "6.12.117+deb12-rt-amd64", State::Downloaded),
            entry("debian:6.12-cloud", "6.12.117+deb12-cloud-amd64", State::Offered),
        ];
        insta::assert_snapshot!(dyntick_report::terminal(&document(&entries), 80, false));
    }
}
